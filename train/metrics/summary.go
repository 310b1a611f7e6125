package metrics

// Status says how a run ended.
type Status string

// The ways a run ends. Diverged is a result like Done: the loss or a gradient
// was not finite, and the numbers up to there stand.
const (
	Done        Status = "done"
	Diverged    Status = "diverged"
	Interrupted Status = "interrupted"
	Failed      Status = "failed"
)

// Summary is summary.json, and the object that `train --json` prints last.
type Summary struct {
	ID            string `json:"id"`
	Dir           string `json:"dir"`
	Status        Status `json:"status"`
	Steps         int64  `json:"steps"`   // updates made
	Tokens        int64  `json:"tokens"`  // target tokens trained on
	Skipped       int64  `json:"skipped"` // updates left out, because their numbers were not finite
	Params        int64  `json:"params"`
	TrainLoss     Value  `json:"train_loss"` // nats per token, of the last step
	ValLoss       Value  `json:"val_loss"`   // nats per token, over the whole validation split
	ValPPL        Value  `json:"val_ppl"`    // exp(val_loss)
	ValBPB        Value  `json:"val_bpb"`    // bits per byte of text
	Entropy       Value  `json:"entropy"`    // of the source, in nats per token, where it is known
	Excess        Value  `json:"excess"`     // val_loss − entropy
	GradNorm      Value  `json:"grad_norm"`  // of the last step, before clipping
	TokensPerS    Value  `json:"tokens_per_s"`
	PeakRSSBytes  int64  `json:"peak_rss_bytes"`
	ConfigHash    string `json:"config_hash"`
	DataHash      string `json:"data_hash"`
	WeightsSHA256 string `json:"weights_sha256"`
}
