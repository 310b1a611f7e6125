package metrics

import (
	"encoding/json"
	"strconv"
)

// Step is one row of metrics.jsonl. Step counts the updates already made when
// the row was measured: row 0 is the model as initialised, the row that only
// carries the last evaluation has Step equal to the length of the run. So
// every number of one row belongs to the same weights.
type Step struct {
	Step        int64 `json:"step"`
	Tokens      int64 `json:"tokens"`       // target tokens trained on before this step
	LR          Value `json:"lr"`           // learning rate of the update that follows
	Loss        Value `json:"loss"`         // mean nll over the target tokens of the step, in nats
	GradNorm    Value `json:"grad_norm"`    // L2 norm of the whole gradient, before clipping
	ClipCoef    Value `json:"clip_coef"`    // factor applied by clipping; 1 when it did nothing
	UpdateRatio Value `json:"update_ratio"` // ‖ΔW‖ / ‖W‖ over all parameters
	ValLoss     Value `json:"val_loss"`     // mean nll over the validation tokens looked at, in nats
	ValPPL      Value `json:"val_ppl"`      // exp(val_loss)
}

// AppendJSON appends the row without a newline. It allocates nothing beyond b.
func (s Step) AppendJSON(b []byte) []byte {
	b = strconv.AppendInt(append(b, `{"step":`...), s.Step, 10)
	b = strconv.AppendInt(append(b, `,"tokens":`...), s.Tokens, 10)
	b = s.LR.appendTo(append(b, `,"lr":`...))
	b = s.Loss.appendTo(append(b, `,"loss":`...))
	b = s.GradNorm.appendTo(append(b, `,"grad_norm":`...))
	b = s.ClipCoef.appendTo(append(b, `,"clip_coef":`...))
	b = s.UpdateRatio.appendTo(append(b, `,"update_ratio":`...))
	b = s.ValLoss.appendTo(append(b, `,"val_loss":`...))
	b = s.ValPPL.appendTo(append(b, `,"val_ppl":`...))
	return append(b, '}')
}

// NoLayer is the layer of what lies outside the blocks: embedding, head,
// totals. It is written as null.
const NoLayer = -1

// Modules that are no part of a block's parameter path.
const (
	ModuleBlock  = "block"  // all parameters of one block together
	ModuleStream = "stream" // the residual stream; Layer is a boundary, 0..L
	ModuleTotal  = "total"  // all parameters of the model, a tied one once
)

// Quantities of layers.jsonl.
const (
	GradNorm           = "grad_norm"             // L2 norm of d(mean loss)/dθ, before clipping
	GradRMS            = "grad_rms"              // grad_norm / √numel
	WeightNorm         = "weight_norm"           // L2 norm of the weights
	UpdateRatio        = "update_ratio"          // ‖ΔW‖ / ‖W‖
	StreamGradNorm     = "stream_grad_norm"      // L2 norm of d(mean loss)/dx over (B,T,D)
	StreamGradRMSToken = "stream_grad_rms_token" // RMS over tokens of ‖d(Σ nll)/dx_t‖
	StreamRMS          = "stream_rms"            // RMS of the stream's elements
)

// Layer is one row of layers.jsonl, in long form: the value of one quantity of
// one thing at one step. Layer is the block, counted from 0, or for the stream
// the boundary 0..L (0 is the input of block 0), or NoLayer. Module names the
// part ("attn.q", "ffn.up", ModuleBlock …); Param is a parameter's path where
// the row is about a single one, else empty.
type Layer struct {
	Step     int64  `json:"step"`
	Layer    int    `json:"layer"`
	Module   string `json:"module"`
	Param    string `json:"param"`
	Quantity string `json:"quantity"`
	Value    Value  `json:"value"`
	Numel    int64  `json:"numel"` // elements the value was taken over
}

// AppendJSON appends the row without a newline.
func (l Layer) AppendJSON(b []byte) []byte {
	b = strconv.AppendInt(append(b, rowStart...), l.Step, 10)
	return l.appendBehind(l.Value.appendTo(l.appendBefore(b)))
}

// rowStart is what a row begins with, before its step.
const rowStart = `{"step":`

// appendBefore appends what stands between the step and the value.
func (l *Layer) appendBefore(b []byte) []byte {
	b = append(b, `,"layer":`...)
	if l.Layer == NoLayer {
		b = append(b, "null"...)
	} else {
		b = strconv.AppendInt(b, int64(l.Layer), 10)
	}
	b = appendString(append(b, `,"module":`...), l.Module)
	b = appendString(append(b, `,"param":`...), l.Param)
	b = appendString(append(b, `,"quantity":`...), l.Quantity)
	return append(b, `,"value":`...)
}

// appendBehind appends what stands behind the value.
func (l *Layer) appendBehind(b []byte) []byte {
	return append(strconv.AppendInt(append(b, `,"numel":`...), l.Numel, 10), '}')
}

// UnmarshalJSON reads a row; a null or missing layer is NoLayer.
func (l *Layer) UnmarshalJSON(b []byte) error {
	type plain Layer // without this method
	row := struct {
		Layer *int `json:"layer"` // hides plain's
		*plain
	}{plain: (*plain)(l)}
	*l = Layer{Layer: NoLayer}
	if err := json.Unmarshal(b, &row); err != nil {
		return err
	}
	if row.Layer != nil {
		l.Layer = *row.Layer
	}
	return nil
}

// Timing is one row of timing.jsonl: what depends on the machine and the
// moment, and so is outside every promise of equal bytes.
type Timing struct {
	Step       int64 `json:"step"`
	Seconds    Value `json:"seconds"`      // since this process began to train, on a monotonic clock
	TokensPerS Value `json:"tokens_per_s"` // target tokens a second since the row before
}

// AppendJSON appends the row without a newline.
func (t Timing) AppendJSON(b []byte) []byte {
	b = strconv.AppendInt(append(b, `{"step":`...), t.Step, 10)
	b = t.Seconds.appendTo(append(b, `,"seconds":`...))
	b = t.TokensPerS.appendTo(append(b, `,"tokens_per_s":`...))
	return append(b, '}')
}

// appendString appends s as a JSON string. Parameter paths are plain ASCII and
// take the short way; anything else is left to encoding/json.
func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			q, _ := json.Marshal(s) // a string always marshals
			return append(b, q...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}
