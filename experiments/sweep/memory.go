package sweep

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"runtime"
	"strconv"
	"strings"

	"ablate/data"
)

// Memory is what a run needs, in bytes.
type Memory struct {
	Program   int64 `json:"program"`   // the program itself, whatever it runs
	Weights   int64 `json:"weights"`   // values and gradients, and the sum of gradients where micro-batches add up
	Optimizer int64 `json:"optimizer"` // its vectors
	Arena     int64 `json:"arena"`     // intermediate values of the training step and of the evaluation
	Local     int64 `json:"local"`     // scratch memory of the workers
	Batches   int64 `json:"batches"`   // the tokens of one step
	Data      int64 `json:"data"`      // the corpus
}

// programBytes is about what a process has resident that trains a model of a few
// thousand parameters on a few kilobytes of text: code, graph, runtime.
const programBytes = 32 << 20

const (
	float32Bytes = 4
	// bytesPerTarget is what a position of a batch takes: its token and its target.
	bytesPerTarget = 2 * 4
)

// fixedMemory is what follows from the sizes of a model alone, without planning
// how its intermediate values share memory.
func fixedMemory(c Config, params int64, corpus *data.Corpus) Memory {
	m := Memory{Program: programBytes, Data: int64(corpus.Train.Len()+corpus.Validation.Len()) * bytesPerToken(corpus)}
	m.Weights, m.Optimizer = VectorBytes(c, params)
	m.Batches = product(c.Train.Accumulate, c.Train.Batch, c.Model.Context, bytesPerTarget)
	return m
}

// VectorBytes is what the vectors of so many parameters take: the weights with their
// gradients, and those of the optimizer.
func VectorBytes(c Config, params int64) (weights, optimizer int64) {
	vectors := 2
	if c.Train.Accumulate > 1 {
		vectors++
	}
	return product(vectors, int(params), float32Bytes), product(c.Train.StateVectors(), int(params), float32Bytes)
}

// leastMemory is a bound from below that needs no plan, which takes its time for a
// deep model: the residual stream at every boundary has to be kept for the backward pass.
func leastMemory(c Config, params int64, corpus *data.Corpus) Memory {
	m := fixedMemory(c, params, corpus)
	m.Arena = product(c.Train.Batch, c.Model.Context, c.Model.DModel, c.Model.Layers+1, float32Bytes)
	return m
}

// unthinkable is more bytes than any machine has, of which a few can be added up.
const unthinkable = 1 << 59

// product multiplies sizes, up to unthinkable: a product of large ones must not
// turn into a small one.
func product(sizes ...int) int64 {
	out := int64(1)
	for _, n := range sizes {
		if n != 0 && out > unthinkable/int64(n) {
			return unthinkable
		}
		out *= int64(n)
	}
	return out
}

// bytesPerToken is how the corpus stores a token.
func bytesPerToken(c *data.Corpus) int64 {
	if c.Vocab <= 1<<8 {
		return 1
	}
	return 2
}

// Total is the sum of the parts.
func (m Memory) Total() int64 {
	return m.Program + m.Weights + m.Optimizer + m.Arena + m.Local + m.Batches + m.Data
}

// Resources is the error of a run that this machine cannot hold.
type Resources struct {
	What      string // "memory" or "disk space"
	Need      int64  // bytes
	Available int64  // bytes
	Breakdown string
}

func (e *Resources) Error() string {
	return fmt.Sprintf("not enough %s: needs %s (%s), and %s can be had", e.What, bytesText(e.Need), e.Breakdown, bytesText(e.Available))
}

// fits refuses memory beyond the share that one of several cells at once may take.
func (m Memory) fits(jobs int) error {
	available, known := availableMemory(os.DirFS("/"))
	if !known || m.Total() <= available/int64(jobs) {
		return nil
	}
	breakdown := fmt.Sprintf("weights and gradients %s, optimizer %s, intermediate values %s, workers %s, batches %s, data %s, program %s",
		bytesText(m.Weights), bytesText(m.Optimizer), bytesText(m.Arena), bytesText(m.Local), bytesText(m.Batches), bytesText(m.Data), bytesText(m.Program))
	if jobs > 1 {
		breakdown += fmt.Sprintf("; %d cells at once share it", jobs)
	}
	return &Resources{What: "memory", Need: m.Total(), Available: available / int64(jobs), Breakdown: breakdown}
}

// checkpointsAtOnce is how many checkpoints of a run are on disk while one is being
// written: the two that rotation keeps, and the new one.
const checkpointsAtOnce = 3

// fitsDisk refuses a run whose checkpoints, weights and the optimizer's vectors each,
// would fill the file system of its directory.
func fitsDisk(c Config, params int64, dir string) error {
	need := product(checkpointsAtOnce, 1+c.Train.StateVectors(), int(params), float32Bytes)
	free, known := freeDisk(dir)
	if !known || need <= free {
		return nil
	}
	return &Resources{What: "disk space", Need: need, Available: free, Breakdown: fmt.Sprintf("%d checkpoints in %s", checkpointsAtOnce, dir)}
}

// availableMemory is what can be had without swapping: the least of what the system
// and each control group around this process have left. Only Linux says.
func availableMemory(root fs.FS) (bytes int64, known bool) {
	if runtime.GOOS != "linux" {
		return 0, false
	}
	if kib, ok := field(root, "proc/meminfo", "MemAvailable:"); ok {
		bytes, known = kib*1024, true
	}
	for _, dir := range controlGroups(root) {
		left, ok := groupMemory(root, dir)
		if ok && (!known || left < bytes) {
			bytes, known = left, true
		}
	}
	return bytes, known
}

// controlGroups lists the directories of the groups that this process is in, inner ones first.
func controlGroups(root fs.FS) (dirs []string) {
	text, _ := fs.ReadFile(root, "proc/self/cgroup")
	for line := range strings.Lines(string(text)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		base := ""
		switch {
		case parts[0] == "0" && parts[1] == "": // version 2
			base = "sys/fs/cgroup"
		case parts[1] == "memory":
			base = "sys/fs/cgroup/memory"
		default:
			continue
		}
		for dir := path.Join(base, parts[2]); ; dir = path.Dir(dir) {
			dirs = append(dirs, dir)
			if len(dir) <= len(base) {
				break
			}
		}
	}
	return dirs
}

// groupMemory is what a control group has left, caches counted as free. A group
// without a limit says "max", or in version 1 a number near 2⁶³.
func groupMemory(root fs.FS, dir string) (left int64, ok bool) {
	limit, ok := field(root, path.Join(dir, "memory.max"), "")
	used, _ := field(root, path.Join(dir, "memory.current"), "")
	cache := "inactive_file"
	if !ok {
		limit, ok = field(root, path.Join(dir, "memory.limit_in_bytes"), "")
		used, _ = field(root, path.Join(dir, "memory.usage_in_bytes"), "")
		cache = "total_inactive_file"
	}
	if !ok || limit > 1<<60 {
		return 0, false
	}
	reclaimable, _ := field(root, path.Join(dir, "memory.stat"), cache)
	return max(limit-used+reclaimable, 0), true
}

// field reads the number that follows a name at the start of a line.
func field(root fs.FS, file, name string) (int64, bool) {
	text, err := fs.ReadFile(root, file)
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if name != "" {
			if len(words) == 0 || words[0] != name {
				continue
			}
			words = words[1:]
		}
		if len(words) == 0 {
			return 0, false
		}
		n, err := strconv.ParseInt(words[0], 10, 64)
		return n, err == nil
	}
	return 0, false
}

// bytesText writes a size for people.
func bytesText(n int64) string {
	const step = 1024
	x, unit := float64(n), 0
	for x >= step && unit < 4 {
		x, unit = x/step, unit+1
	}
	if unit == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.3g %s", x, [...]string{"B", "KiB", "MiB", "GiB", "TiB"}[unit])
}
