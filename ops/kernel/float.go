package kernel

// Float is the element type of every kernel. float32 is what models train in and has assembly
// where the processor allows; float64 runs the portable code, for gradient checks and reference vectors.
type Float interface{ float32 | float64 }
