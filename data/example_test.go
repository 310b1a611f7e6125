package data_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"ablate/data"
)

func ExampleOpen() {
	dir, err := os.MkdirTemp("", "corpus")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "abc.txt")
	if err := os.WriteFile(path, []byte(strings.Repeat("abc", 10000)), 0o644); err != nil {
		log.Fatal(err)
	}

	const batch, context = 2, 4
	corpus, err := data.Open(data.Config{Source: "text", Path: path, Tokenizer: "byte", Validation: 0.1}, context)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(corpus.Train.Len(), "tokens to train on,", corpus.Validation.Len(), "held out")

	tokens, targets := make([]int32, batch*context), make([]int32, batch*context)
	corpus.Sampler(1, "").Batch(tokens, targets, 0, 0) // step 0, micro-batch 0
	row, _ := corpus.Tokenizer.Decode(tokens[:context])
	next, _ := corpus.Tokenizer.Decode(targets[:context])
	fmt.Printf("a row: %s predicts %s\n", row, next)

	windows, scored := corpus.Validation.Windows(context, 0), 0
	for first := 0; first < windows.Len(); first += batch {
		scored += windows.Batch(tokens, targets, first)
	}
	fmt.Println(scored, "of", windows.Targets(), "targets in", windows.Len(), "rows")
	fmt.Printf("without context: %.3f nats per token\n", corpus.UnigramLoss())

	// Output:
	// 26996 tokens to train on, 3000 held out
	// a row: bcab predicts cabc
	// 2999 of 2999 targets in 750 rows
	// without context: 1.108 nats per token
}
