package sweep

import (
	"fmt"
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
	o.once.Do(func() { o.corpus, o.err = data.Open(cfg, context) })
	return o.corpus, o.err
}
