package cmd

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ablate/data"
	"ablate/experiments/sweep"
	"ablate/graph"
	"ablate/nn"
	"ablate/train/metrics"
)

// generated is what generate --json prints.
type generated struct {
	Dir         string        `json:"dir"`
	Step        int64         `json:"step"`
	Prompt      string        `json:"prompt"`
	Text        string        `json:"text"` // what follows the prompt; bytes that are no UTF-8 are replaced
	Tokens      []int32       `json:"tokens"`
	Temperature float64       `json:"temperature"`
	TopK        int           `json:"top_k"`
	TopP        float64       `json:"top_p"`
	Seed        uint64        `json:"seed"`
	Cache       bool          `json:"cache"`
	TokensPerS  metrics.Value `json:"tokens_per_s"`
}

// generateFlags are the flags of generate.
type generateFlags struct {
	prompt   string
	tokens   int
	sampling nn.Sampling
	seed     uint64
	noCache  bool
}

func (a *app) generate() *cobra.Command {
	var f generateFlags
	c := &cobra.Command{
		Use:   "generate RUN --prompt TEXT --tokens N [key=value …]",
		Short: "Continue a text with a trained model",
		Long: "Generate continues a text with the newest good checkpoint of a run. The temperature divides the\n" +
			"logits, then the K most probable tokens are kept, then as few of these as have the probability P\n" +
			"together, and one is drawn; temperature 0 takes the most probable. The same seed gives the same\n" +
			"text. Where the data of the run are tokens, the prompt is numbers with spaces between.",
		Args: args(oneRun),
		RunE: func(c *cobra.Command, args []string) error {
			return a.runGenerate(args, f, c.Flags().Changed("tokens"))
		},
	}
	c.Flags().StringVar(&f.prompt, "prompt", "\n", "text to continue")
	c.Flags().IntVar(&f.tokens, "tokens", 200, "tokens to add; fewer, unless asked for, where the model has learned fewer positions")
	c.Flags().Float64Var(&f.sampling.Temperature, "temperature", 1, "divides the logits; 0: the most probable token")
	c.Flags().IntVar(&f.sampling.TopK, "top-k", 0, "keep the K most probable tokens (0: all)")
	c.Flags().Float64Var(&f.sampling.TopP, "top-p", 1, "keep the most probable tokens that have this probability together (0 or 1: all)")
	c.Flags().Uint64Var(&f.seed, "seed", 1, "of what is drawn")
	c.Flags().BoolVar(&f.noCache, "no-cache", false, "compute the whole text anew for every token")
	return c
}

// fit makes the number of tokens, unless it was asked for, what a model has positions for behind a prompt.
func (f *generateFlags) fit(positions, prompt int, asked bool) error {
	left := positions - prompt
	switch {
	case positions == 0 || f.tokens <= left:
	case left < 1:
		return usageErrorf("--prompt: it has %d tokens, and the model has learned %d positions", prompt, positions)
	case asked:
		return usageErrorf("--tokens %d: at most %d are possible behind a prompt of %d tokens: the model has learned %d positions", f.tokens, left, prompt, positions)
	default:
		f.tokens = left
	}
	return nil
}

func (a *app) runGenerate(args []string, f generateFlags, asked bool) error {
	if f.tokens < 1 {
		return usageErrorf("generate: --tokens %d: at least 1 is needed", f.tokens)
	}
	sampler, err := nn.NewSampler(f.sampling, f.seed)
	if err != nil {
		return usageErrorf("generate: %w", err)
	}
	l, err := a.load(args)
	if err != nil {
		return err
	}
	t, err := tokenizerOf(l)
	if err != nil {
		return err
	}
	prompt, err := encode(t, f.prompt)
	if err != nil {
		return usageErrorf("--prompt: %w", err)
	}
	if err := f.fit(l.Config.Model.LearnedPositions(), len(prompt), asked); err != nil {
		return err
	}
	team := graph.NewTeam(a.threads)
	defer team.Close()
	g, err := l.Generator(team, nn.GeneratorOptions{Capacity: len(prompt) + f.tokens, NoCache: f.noCache})
	if err != nil {
		return err
	}
	if err := g.Feed(prompt...); err != nil {
		return usageErrorf("--prompt: %w", err)
	}
	out := generated{Dir: l.Dir, Step: l.Step, Prompt: f.prompt, Seed: f.seed, Cache: !f.noCache,
		Temperature: f.sampling.Temperature, TopK: f.sampling.TopK, TopP: f.sampling.TopP}
	return a.continued(out, t, func(emit func(int32) bool) error { return g.Generate(f.tokens, sampler, emit) })
}

// continued runs a generator and shows its tokens: as they come or, in JSON, at the end.
func (a *app) continued(out generated, t data.Tokenizer, run func(emit func(int32) bool) error) error {
	screen := &screen{to: a.stdout}
	if !a.json {
		screen.write([]byte(out.Prompt))
	}
	begun := time.Now()
	err := run(func(token int32) bool {
		out.Tokens = append(out.Tokens, token)
		if a.json {
			return true
		}
		screen.write(decode(t, token))
		return a.stdout.Flush() == nil
	})
	if err != nil {
		return err
	}
	if !a.json {
		screen.end()
		return nil
	}
	out.TokensPerS = metrics.Known(float64(len(out.Tokens)) / time.Since(begun).Seconds())
	for _, token := range out.Tokens {
		out.Text += string(decode(t, token))
	}
	return a.printJSON(out)
}

// tokenizerOf is the tokenizer of the run's data; nil where they are tokens.
func tokenizerOf(l *sweep.Loaded) (data.Tokenizer, error) {
	if slices.Contains(l.Config.Data.Unread(), "tokenizer") {
		return nil, nil
	}
	return data.LookupTokenizer(l.Config.Data.Tokenizer)
}

// encode makes a prompt tokens: by the tokenizer or, without one, as numbers.
func encode(t data.Tokenizer, text string) ([]int32, error) {
	var ids []int32
	if t != nil {
		tokens, err := t.Encode([]byte(text))
		if err != nil {
			return nil, err
		}
		ids = make([]int32, tokens.Len())
		tokens.Copy(ids, 0)
	} else {
		for _, word := range strings.Fields(text) {
			id, err := strconv.ParseInt(word, 10, 32)
			if err != nil {
				return nil, fmt.Errorf("%q: the data of this run are tokens, so the prompt is numbers", word)
			}
			ids = append(ids, int32(id))
		}
	}
	if len(ids) == 0 {
		return nil, errors.New("an empty text cannot be continued; give at least one token")
	}
	return ids, nil
}

// decode is the text of a token or, without a tokenizer, its number. A token that
// the tokenizer does not know, from a vocabulary larger than its own, is a number too.
func decode(t data.Tokenizer, token int32) []byte {
	if t != nil {
		if text, err := t.Decode([]int32{token}); err == nil {
			return text
		}
	}
	return fmt.Appendf(nil, " %d", token)
}
