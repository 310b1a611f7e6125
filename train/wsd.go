package train

// wsd is warmup-stable-decay (Hu et al. 2024, MiniCPM, arXiv:2404.06395): 1 up
// to the decay, which takes the last fifth of all steps and falls in a line to
// floor at the last step. A fifth, and a line, because Hägele et al. 2024
// (arXiv:2405.18392) find that a decay over 20 % of the steps matches cosine.
//
//	1 − (1 − floor)·(step + 1 − start)/(steps − start),   start = max(warmup, steps − ⌈steps/5⌉)
var wsd = Schedule{
	Name: "wsd",
	Keys: []string{"min_lr"},
	Factor: func(step, warmup, steps int, floor float64) float64 {
		start := max(warmup, steps-(steps+4)/5)
		if step < start {
			return 1
		}
		return 1 - (1-floor)*float64(step+1-start)/float64(steps-start)
	},
}
