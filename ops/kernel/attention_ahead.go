package kernel

import "unsafe"

// farQueries is the size of a sequence's queries, in bytes, from which on they do not stay in the near caches.
const farQueries = 256 << 10

// fetchNext asks for what the tile behind the one at query i touches: the rows of a head have gaps between them, in
// which the processor does not foresee the next.
func (a *attention[T]) fetchNext(i int) {
	var zero T
	if a.T*a.H*a.K*int(unsafe.Sizeof(zero)) < farQueries {
		return
	}
	head, i := a.head, i+tileQueries
	if i >= a.T {
		head, i = head+1, 0
	}
	if head == a.To*a.H/a.G {
		return
	}
	for _, m := range [...]matrix[T]{{a.q, a.LdQ}, {a.o, a.LdO}, {a.do, a.LdDO}, {a.dq, a.LdDQ}} {
		m.fetch(i, min(i+tileQueries, a.T), head*a.K, a.K)
	}
	if group := a.H / a.G; head%group == 0 {
		for _, m := range [...]matrix[T]{{a.k, a.LdK}, {a.v, a.LdV}} {
			m.fetch(i, min(i+tileQueries, a.S), head/group*a.K, a.K)
		}
	}
}

// matrix is rows ld apart, nil for none.
type matrix[T Float] struct {
	x  []T
	ld int
}

// fetch asks for n columns of rows [r0,r1), from column c on.
func (m matrix[T]) fetch(r0, r1, c, n int) {
	if m.x == nil {
		return
	}
	for r := r0; r < r1; r++ {
		Fetch(m.x[r*m.ld+c:][:n])
	}
}
