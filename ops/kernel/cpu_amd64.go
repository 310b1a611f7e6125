package kernel

import "golang.org/x/sys/cpu"

// detectPath returns the greatest path that processor and operating system support together.
func detectPath() path {
	switch x := &cpu.X86; {
	case x.HasAVX512F && x.HasAVX512BW && x.HasAVX512DQ && x.HasAVX512VL && x.HasAVX2 && x.HasFMA:
		return pathAVX512
	case x.HasAVX2 && x.HasFMA:
		return pathAVX2
	}
	return pathPortable
}
