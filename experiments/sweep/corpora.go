package sweep

import (
	"fmt"
	"os"
	"strconv"
	"sync"

	"ablate/data"
	"ablate/experiments/config"
)

// Corpora opens each corpus once and shares it between cells. The zero value is
// ready; it is safe for concurrent use.
type Corpora struct {
	mu     sync.Mutex
	opened map[string]*opening
}

type opening struct {
	once   sync.Once
	corpus *data.Corpus
	err    error
}

// Open is data.Open, once for each configuration and context.
func (c *Corpora) Open(cfg data.Config, context int) (*data.Corpus, error) {
	key := fmt.Sprintf("%d %s", context, config.Canonical(cfg))
	c.mu.Lock()
	if c.opened == nil {
		c.opened = map[string]*opening{}
	}
	o := c.opened[key]
	if o == nil {
		o = new(opening)
		c.opened[key] = o
	}
	c.mu.Unlock()
	o.once.Do(func() { o.corpus, o.err = openCorpus(cfg, context) })
	return o.corpus, o.err
}

// openCorpus is data.Open of what this machine can hold: a file is in memory as a whole.
func openCorpus(cfg data.Config, context int) (*data.Corpus, error) {
	if info, err := os.Stat(cfg.Path); err == nil && cfg.Path != "" && info.Mode().IsRegular() {
		if available, known := availableMemory(os.DirFS("/")); known && info.Size() > available {
			return nil, &Resources{What: "memory", Need: info.Size(), Available: available, Breakdown: "the file " + strconv.Quote(cfg.Path)}
		}
	}
	return data.Open(cfg, context)
}
