package graph

import "golang.org/x/sys/unix"

// adviseLargePages asks for large pages under b, which nobody has touched yet.
// A system without them refuses, and b works as before.
func adviseLargePages(b []byte) { _ = unix.Madvise(b, unix.MADV_HUGEPAGE) }
