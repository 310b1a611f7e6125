package config_test

import (
	"fmt"

	"ablate/experiments/config"
)

// A base file, an axis of an experiment and the command line, in layers.
func Example() {
	base, err := config.ParseFile("tiny.yaml", []byte("model:\n  heads: 4\n  norm: {kind: layernorm, eps: 1e-6}\ntrain: {steps: 300}\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	var axis config.Tree
	axis.Set("model.norm", "rmsnorm")
	args, err := config.ParseArgs([]string{"train.lr=1e-4"})
	if err != nil {
		fmt.Println(err)
		return
	}
	var run Root
	if err := config.Decode(config.Merge(base, &axis, args), &run); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(run.Model.Norm.Kind, run.Model.Norm.Eps, run.Train.LR)
	fmt.Printf("%s\n", config.Canonical(run.Model.Norm))

	wrong, _ := config.ParseArgs([]string{"model.heads=6", "train.lr=abc", "model.layer=2"})
	fmt.Println(config.Decode(config.Merge(base, wrong), &run))
	// Output:
	// rmsnorm 1e-05 0.0001
	// {"eps":1e-5,"kind":"rmsnorm"}
	// model.heads=6: 6 does not divide d_model 128
	// train.lr=abc: not a number
	// model.layer=2: unknown key; did you mean layers?
}
