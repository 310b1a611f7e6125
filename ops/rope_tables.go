package ops

import "math"

// RoPEScaling changes the frequencies of rotary embedding so that a model
// reaches beyond the length it was trained on. r is the number of rotated
// entries of a head; multiplier is a factor of both tables.
type RoPEScaling interface {
	Frequencies(r int, base float64) (w []float64, multiplier float64)
}

// RoPEFrequencies gives the r/2 angles per position of r rotated entries,
// w[j] = base^(-2j/r), changed by scaling unless that is nil.
func RoPEFrequencies(r int, base float64, scaling RoPEScaling) (w []float64, multiplier float64) {
	if scaling != nil {
		return scaling.Frequencies(r, base)
	}
	return plainFrequencies(r, base), 1
}

func plainFrequencies(r int, base float64) []float64 {
	w := make([]float64, r/2)
	for j := range w {
		w[j] = math.Pow(base, -2*float64(j)/float64(r))
	}
	return w
}

// RoPETables gives multiplier·cos(t·w[j]) and multiplier·sin(t·w[j]) for n
// positions t that start at from: two tables [n, len(w)].
func RoPETables(w []float64, multiplier float64, from, n int) (cos, sin []float64) {
	cos, sin = make([]float64, n*len(w)), make([]float64, n*len(w))
	for t := range n {
		for j, f := range w {
			s, c := math.Sincos(float64(from+t) * f)
			cos[t*len(w)+j], sin[t*len(w)+j] = multiplier*c, multiplier*s
		}
	}
	return cos, sin
}

// LinearScaling divides every angle by Factor: position interpolation (Chen et
// al. 2023, arXiv:2306.15595).
type LinearScaling struct{ Factor float64 }

// Frequencies implements RoPEScaling.
func (s LinearScaling) Frequencies(r int, base float64) ([]float64, float64) {
	w := plainFrequencies(r, base)
	for j := range w {
		w[j] /= s.Factor
	}
	return w, 1
}

// NTKScaling raises the base to base·Factor^(r/(r-2)), so that the slowest
// pair is slowed by Factor and the fastest not at all (bloc97 2023, "NTK-aware
// scaled RoPE").
type NTKScaling struct{ Factor float64 }

// Frequencies implements RoPEScaling.
func (s NTKScaling) Frequencies(r int, base float64) ([]float64, float64) {
	return plainFrequencies(r, base*math.Pow(s.Factor, float64(r)/float64(r-2))), 1
}

// YaRNScaling divides by Factor the angles of pairs that turn fewer than
// BetaSlow times within Original positions, leaves those that turn more than
// BetaFast times, and blends in between; scores are sharpened by a multiplier
// 0.1·ln(Factor) + 1 of the tables (Peng et al. 2023, arXiv:2309.00071).
type YaRNScaling struct {
	Factor             float64
	Original           int
	BetaFast, BetaSlow float64
}

// Frequencies implements RoPEScaling.
func (s YaRNScaling) Frequencies(r int, base float64) ([]float64, float64) {
	// pair is the index of the pair that turns n times within Original positions.
	pair := func(n float64) float64 {
		return float64(r) * math.Log(float64(s.Original)/(2*math.Pi*n)) / (2 * math.Log(base))
	}
	low := math.Max(math.Floor(pair(s.BetaFast)), 0)
	high := math.Min(math.Ceil(pair(s.BetaSlow)), float64(r-1))
	if low == high {
		high += 0.001 // as in the authors' code: a step instead of a division by zero
	}
	w := plainFrequencies(r, base)
	for j, f := range w {
		ramp := math.Min(math.Max((float64(j)-low)/(high-low), 0), 1)
		w[j] = f*(1-ramp) + f/s.Factor*ramp
	}
	if s.Factor <= 1 {
		return w, 1
	}
	return w, 0.1*math.Log(s.Factor) + 1
}

// Llama3Scaling divides by Factor the angles whose wavelength exceeds
// Original/LowFreq positions, leaves those below Original/HighFreq, and blends
// in between (Llama 3.1; Dubey et al. 2024, arXiv:2407.21783).
type Llama3Scaling struct {
	Factor, LowFreq, HighFreq float64
	Original                  int
}

// Frequencies implements RoPEScaling.
func (s Llama3Scaling) Frequencies(r int, base float64) ([]float64, float64) {
	w := plainFrequencies(r, base)
	for j, f := range w {
		turns := float64(s.Original) * f / (2 * math.Pi)
		m := math.Min(math.Max((turns-s.LowFreq)/(s.HighFreq-s.LowFreq), 0), 1)
		w[j] = (1-m)*f/s.Factor + m*f
	}
	return w, 1
}
