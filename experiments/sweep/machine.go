package sweep

import (
	"runtime"
	"runtime/debug"
)

// versions says what was run: the module with its version and the state of its
// repository, as the Go tool recorded them, and the toolchain.
func versions() map[string]any {
	v := map[string]any{"go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	v["module"], v["ablate"] = info.Main.Path, info.Main.Version
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision", "vcs.time", "vcs.modified", "GOAMD64", "GOARM64", "CGO_ENABLED":
			v[s.Key] = s.Value
		}
	}
	for _, d := range info.Deps {
		if d.Path == "gorgonia.org/gorgonia" {
			v["gorgonia"] = d.Version
		}
	}
	return v
}
