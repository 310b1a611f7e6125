package kernel

// RoPEShape describes rotary position embedding of rows of heads.
type RoPEShape struct {
	Rows, Heads, HeadDim int
	Rotated              int  // the first Rotated entries of a head turn, an even number; the rest pass through
	Interleaved          bool // pairs are (0,1), (2,3), …; otherwise (j, j + Rotated/2)
	LdX, LdY             int  // distance between rows; 0 is Heads·HeadDim
}

// RoPE rotates pairs of entries of every head by an angle that grows with the position (Su et al. 2021,
// arXiv:2104.09864):
//
//	(a, b) → (a·cos - b·sin, b·cos + a·sin)
//
// x and y are [Rows, Heads·HeadDim]; cos and sin are [Rows, Rotated/2], row r for position r of this
// call. Tables may hold a common factor (YaRN); entries that do not turn do not get it. y may be x.
func RoPE[T Float](y, x, cos, sin []T, s *RoPEShape) { rotate(y, x, cos, sin, s, 1) }

// RoPEGrad is the gradient of RoPE, the rotation by the opposite angle. dx may be dy; dy has leading
// dimension LdX, dx LdY.
func RoPEGrad[T Float](dx, dy, cos, sin []T, s *RoPEShape) { rotate(dx, dy, cos, sin, s, -1) }

func rotate[T Float](y, x, cos, sin []T, s *RoPEShape, sign T) {
	half := s.Rotated / 2
	ldx, ldy := s.LdX, s.LdY
	if ldx == 0 {
		ldx = s.Heads * s.HeadDim
	}
	if ldy == 0 {
		ldy = s.Heads * s.HeadDim
	}
	turn := rotateHalves[T]
	if s.Interleaved {
		turn = rotatePairs[T]
	}
	for r := range s.Rows {
		c, n := cos[r*half:(r+1)*half], sin[r*half:(r+1)*half]
		for h := range s.Heads {
			at := h * s.HeadDim
			xh := x[r*ldx+at : r*ldx+at+s.HeadDim]
			yh := y[r*ldy+at : r*ldy+at+s.HeadDim]
			turn(yh, xh, c, n, sign)
			copy(yh[2*half:], xh[2*half:])
		}
	}
}

// rotateHalves turns the pairs (x[j], x[j+half]).
func rotateHalves[T Float](y, x, cos, sin []T, sign T) {
	half := len(cos)
	if half == 0 {
		return
	}
	sin, x, y = sin[:half], x[:2*half], y[:2*half]
	if isFloat32[T]() && rotateHalvesVector(as32(y), as32(x), as32(cos), as32(sin), float32(sign)) {
		return
	}
	xa, xb := x[:half], x[half:2*half]
	ya, yb := y[:half], y[half:2*half]
	for j, c := range cos {
		n := sign * sin[j]
		a, b := xa[j], xb[j]
		ya[j] = a*c - b*n
		yb[j] = b*c + a*n
	}
}

// rotatePairs turns the pairs (x[2j], x[2j+1]).
func rotatePairs[T Float](y, x, cos, sin []T, sign T) {
	for j, c := range cos {
		n := sign * sin[j]
		a, b := x[2*j], x[2*j+1]
		y[2*j] = a*c - b*n
		y[2*j+1] = b*c + a*n
	}
}
