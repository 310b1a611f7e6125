package train

import "math"

// cosine is half a period of a cosine without restarts (Loshchilov and Hutter
// 2016, arXiv:1608.03983), from 1 at the first step after warm-up to floor at
// the last:
//
//	floor + (1 − floor)·(1 + cos πp)/2,   p = (step − warmup)/(steps − 1 − warmup)
var cosine = Schedule{
	Name: "cosine",
	Keys: []string{"min_lr"},
	Factor: func(step, warmup, steps int, floor float64) float64 {
		if step >= steps-1 {
			return floor
		}
		p := float64(step-warmup) / float64(steps-1-warmup)
		return floor + (1-floor)*(1+math.Cos(math.Pi*p))/2
	},
}
