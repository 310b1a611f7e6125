package config_test

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"ablate/experiments/config"
)

// FuzzParseFile: no file crashes the reader, and what it accepts means the same
// once it is written and read again.
func FuzzParseFile(f *testing.F) {
	for _, s := range []string{
		"", "a", "a: 1", "a: &x [1]\nb: *x", "a: !!int 1", "<<: {a: 1}", "? [a]\n: b", "{a: {b: [1, 2.5, 1e-4, x]}}", "a: 1\na: 2",
		"a:\n- b\n- c: d\n", "--- a\n--- b", "a: |\n  x\n  y\n", "a: >-\n x\n", "%YAML 1.1\n---\na: yes", "\ufeffa: 1", "a: \"\\U0001F600\\x00\"", "'a b': \"c: d\" # e", "[[[[", "a: .nan", "a: 010",
		"train: {steps: 1}\nmodel: {norm: rmsnorm, position: {kind: learned, max: 3}, blocks: [none]}\nseed: {init: 1}",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		tree, err := config.ParseFile("x", data)
		if err != nil {
			return
		}
		var r Root
		if err := config.Decode(tree, &r); err == nil {
			again, err := config.ParseFile("x", config.Encode(r).YAML())
			if err != nil {
				t.Fatalf("%v\n%s", err, config.Encode(r).YAML())
			}
			var r2 Root
			if err := config.Decode(again, &r2); err != nil {
				t.Fatalf("%v\n%s", err, config.Encode(r).YAML())
			}
			if !bytes.Equal(config.Canonical(r), config.Canonical(r2)) {
				t.Fatalf("%s\n%s", config.Canonical(r), config.Canonical(r2))
			}
		} else if strings.Contains(err.Error(), "\x1b") {
			t.Fatalf("%q", err)
		}
		if tree.Err() == nil {
			again, err := config.ParseFile("x", tree.YAML())
			if err != nil || again.Err() != nil || !reflect.DeepEqual(again.Value(), tree.Value()) {
				t.Fatalf("%v\n%s\nbecomes\n%s", err, data, tree.YAML())
			}
		}
	})
}

// FuzzParseArgs: no argument crashes the reader, alone or over another.
func FuzzParseArgs(f *testing.F) {
	for _, s := range [][2]string{
		{"train.steps=1", "train=2"}, {"seed=1", "seed.init=2"}, {"model.norm=rmsnorm", "model.norm.eps=1"}, {"a=[1", "=b"}, {"x=*y", "x=&y z"},
		{"model.blocks=[{kind: none}, x]", "model.blocks.kind=3"}, {"note='a' # b", "name=--- a"}, {"a.b.c=\"\\x00\"", "a={b: {c: 1}}"}, {"train.betas=[.9, 1_0]", "salt=\"\""},
	} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		both, err := config.ParseArgs([]string{a, b})
		if err != nil {
			_ = err.Error()
			return
		}
		if err := config.Decode(both, &Root{}); err != nil {
			_ = err.Error()
		}
		first, _ := config.ParseArgs([]string{a})
		second, _ := config.ParseArgs([]string{b})
		merged := config.Merge(first, second)
		for _, e := range merged.Entries() {
			merged.Get(e.Key)
			merged.Delete(e.Key)
		}
		_ = config.Overrides(merged)
	})
}
