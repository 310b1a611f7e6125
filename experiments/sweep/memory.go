package sweep

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"runtime"
	"strconv"
	"strings"
)

// bytesPerParam is what training keeps of each float32 parameter: its value, its
// gradient and AdamW's two moments.
const bytesPerParam = 4 * 4

// Memory is what a run needs, in bytes.
type Memory struct {
	Weights int64 `json:"weights"` // values, gradients and both moments of the optimizer
	Arena   int64 `json:"arena"`   // intermediate values of the training step and of the evaluation
	Local   int64 `json:"local"`   // scratch memory of the workers
	Data    int64 `json:"data"`    // the corpus
}

// Total is the sum of the parts.
func (m Memory) Total() int64 { return m.Weights + m.Arena + m.Local + m.Data }

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
	breakdown := fmt.Sprintf("weights, gradients and optimizer %s, intermediate values %s, workers %s, data %s",
		bytesText(m.Weights), bytesText(m.Arena), bytesText(m.Local), bytesText(m.Data))
	if jobs > 1 {
		breakdown += fmt.Sprintf("; %d cells at once share it", jobs)
	}
	return &Resources{What: "memory", Need: m.Total(), Available: available / int64(jobs), Breakdown: breakdown}
}

// checkpointsAtOnce is how many checkpoints of a run are on disk while one is being
// written: the two that rotation keeps, and the new one.
const checkpointsAtOnce = 3

// fitsDisk refuses a run whose checkpoints, weights and both moments each, would fill
// the file system of its directory.
func (m Memory) fitsDisk(dir string) error {
	need := checkpointsAtOnce * m.Weights / bytesPerParam * (bytesPerParam - 4) // gradients are not saved
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
