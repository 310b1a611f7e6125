// Package golden reads reference vectors, results of an independent
// implementation in float64, and compares this build with them.
//
// A file is one model with its logits, loss, gradients and three steps of
// training, or one operation with its output and gradients. Reading is strict:
// an unknown field or option is an error that names it, and everything that is
// allocated is bounded by the size of the file.
package golden

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"ablate/graph"
)

// Result is how one file compares. Errors are the largest absolute differences;
// nil where the file has no such part.
type Result struct {
	File              string    `json:"file"`
	OK                bool      `json:"ok"`
	Dtype             string    `json:"dtype"`
	LossErr           *Distance `json:"loss_err"`
	MaxLogitErr       *Distance `json:"max_logit_err"`
	MaxNLLErr         *Distance `json:"max_nll_err"`
	MaxGradErr        *Distance `json:"max_grad_err"`
	LayerGradNormErr  *Distance `json:"layer_grad_norm_err"`
	StreamGradNormErr *Distance `json:"stream_grad_norm_err"`
	StreamRMSErr      *Distance `json:"stream_rms_err"`
	TraceErr          *Distance `json:"trace_err"`
	DecodeErr         *Distance `json:"decode_err"`
	CountsOK          *bool     `json:"counts_ok"`
	OpErr             *Distance `json:"op_err"`
	// Share is the worst difference as a share of what is allowed.
	Share Distance `json:"share_of_limit"`
	// Problems says what is out of its limits.
	Problems []string `json:"problems,omitempty"`
}

// maxFile bounds the size of a file, in bytes.
const maxFile = 64 << 20

// Verify compares this build, running in the given precision, with the
// reference vectors in data. file is only shown. An error is about the file;
// what does not hold is in the result.
func Verify(file string, data []byte, dtype graph.Dtype) (Result, error) {
	r := Result{File: file, Dtype: dtype.String()}
	if dtype != graph.Float32 && dtype != graph.Float64 {
		return r, fmt.Errorf("%s: element type %v: float64 and float32 are allowed", file, dtype)
	}
	if err := r.verify(data, dtype); err != nil {
		return r, fmt.Errorf("%s: %w", filepath.Base(file), err)
	}
	r.OK = len(r.Problems) == 0
	return r, nil
}

func (r *Result) verify(data []byte, dtype graph.Dtype) error {
	if len(data) > maxFile {
		return fmt.Errorf("%d bytes; at most %d are read", len(data), maxFile)
	}
	o, err := readObject("", data)
	if err != nil {
		return err
	}
	if o.has("op") {
		f, err := readOp(o)
		if err != nil {
			return err
		}
		if dtype == graph.Float32 {
			return verifyOp[float32](f, r)
		}
		return verifyOp[float64](f, r)
	}
	f, err := readModel(o)
	if err != nil {
		return err
	}
	if dtype == graph.Float32 {
		return verifyModel[float32](f, r)
	}
	return verifyModel[float64](f, r)
}

// errorsOf joins errors into one line for each, without repetitions.
func errorsOf(errs []error) error {
	seen := map[string]bool{}
	var out []error
	for _, err := range errs {
		if !seen[err.Error()] {
			seen[err.Error()] = true
			out = append(out, err)
		}
	}
	return errors.Join(out...)
}

// within joins the parts of a path.
func within(path, key string) string { return strings.TrimPrefix(path+"."+key, ".") }
