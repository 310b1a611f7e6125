// Package kernel computes on slices of numbers: matrix products, normalisation, attention, losses
// and the optimizer's update. It knows no graph, starts no goroutine and allocates nothing; callers
// own the threads and hand out ranges of rows or columns.
//
// Every function is generic over [Float]. The portable Go code is the reference; float32 has AVX-512
// and AVX2+FMA assembly, chosen once at start-up from what the processor supports. The environment
// variable ABLATE_KERNELS (avx512, avx2 or portable) restricts the choice.
//
// Results depend on the path, because the order of additions differs, but on one path a result
// depends on nothing else: not on how rows or columns are split over calls, not on alignment.
//
// The assembly is generated. After a change in gen, which is a module of its own so that nobody
// who builds this package needs the generator:
//
//	cd ops/kernel/gen && go run .
package kernel
