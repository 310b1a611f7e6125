package ops

// What the backward pass computes again instead of keeping, where its operands
// are kept anyway: results that cost a pass over memory, not a product. The
// attention and the products are kept.

// Recompute marks an element-wise operation as cheap.
func (pointwise) Recompute() bool { return true }

// Recompute marks the norm as cheap.
func (layerNorm) Recompute() bool { return true }

// Recompute marks the norm as cheap.
func (rmsNorm) Recompute() bool { return true }

// Recompute marks the norm as cheap.
func (dyT) Recompute() bool { return true }
