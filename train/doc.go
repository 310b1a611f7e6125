// Package train fits the parameters of a model to data: the loop, optimizers,
// schedules, clipping, evaluation, probes and checkpoints.
//
// A model here is a pair of programs over one set of parameters (Model); what
// they compute is none of this package's business. The way of a step:
//
//	Data ─ micro-batches → Program ─ gradient of the mean loss → norms ─ finite? → clipping → optimizer → records
//
// Everything that decides a weight is a pure function of the configuration,
// the seed and the step: the learning rate, the batch, the random numbers of
// dropout. Sums are taken in an order that depends on shapes alone. So a run
// has the same bytes for any number of workers, and a run that continues from
// a checkpoint has the bytes of one that never stopped.
//
// A run that leaves the finite numbers is no failure but a result (Result,
// NonFinite): it ends before the numbers reach the weights.
//
// Letters of shapes: B batch (rows of a micro-batch), T time, D model, L
// layers (blocks). Logarithms are natural: losses are in nats.
package train
