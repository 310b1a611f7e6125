package train

// constant stays at the highest learning rate. It is the only schedule under
// which a longer run has the shorter one as its beginning, bit for bit, if
// warm-up is given in steps.
var constant = Schedule{
	Name:   "constant",
	Factor: func(int, int, int, float64) float64 { return 1 },
}
