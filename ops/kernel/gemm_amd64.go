package kernel

import "unsafe"

// tileArgs are the arguments of the assembly that computes a column of tiles. Strides are in bytes.
// gen/gemm.go knows the order of the fields, all of which are eight bytes.
type tileArgs struct {
	k          int
	a          *float32
	lda        int
	b          *float32
	ldb        int
	c          *float32
	ldc        int
	bias       *float32 // nil is none
	addend     *float32
	ldd        int
	flags      int // tile… bits
	cols       int
	rows       int // height of the first big tiles; then come small tiles of one row less
	big, small int
	tail       int // the last k that are added while the tile is stored, see gen/gemm.go: 0 or 2

	doneA, doneC, doneD int // bytes behind a, c and addend; zero at the start

	ahead, aheadLast uintptr // the memory to fetch, see Upcoming, and the last place in it; never followed
	aheadStep        int     // bytes that four steps of k fetch, 0 for the same again
	rewindA          int     // from where sixteen rows of A end in a line of each to the first row's next line, in bytes
	nextB            int     // from a row of B to that of the panel that is fetched meanwhile, in bytes
	fetchC           int     // whether a tile asks for the lines that it will write: 0 or 1
	stepA            int     // bytes between tiles of A, by columns, beside those of their rows
}

const (
	tileAcc    = 1 << iota // C is added
	tileAddend             // addend is added
	tileRagged             // cols is less than the width of a tile
)

// tailK is how many k the AVX-512 tile can add while it is stored.
const tailK = 2

// farK is the least k from which on a tile's operands do not stay in the near caches, and asking for them ahead
// costs nothing.
const farK = 256

// Heights of the tallest tiles. Rows are shared out evenly, so that no tile is much lower.
const (
	tileRows512 = 14
	tileRows256 = 6
)

// line is a cache line. The rows of a copy of A are an odd number of lines long, so that they do not
// compete for the same cache sets.
const line = 64 / 4

// mulVector computes the product with AVX2 or AVX-512, if the active path has them.
func mulVector(p *product[float32]) bool {
	if active < pathAVX2 {
		return false
	}
	var mem *scratch // a variable of its own: returning a field to the pool would move p to the heap
	s := vectorProduct{product: p, rows: tileRows256, mem: &mem}
	if active == pathAVX512 {
		s.rows = tileRows512
	}
	s.run()
	if mem != nil {
		putScratch(mem)
	}
	return true
}

// vectorProduct is a product under way.
type vectorProduct struct {
	*product[float32]
	rows int       // of the tallest tile
	mem  **scratch // taken when first needed
	t    tileArgs

	piece []byte // of e.Ahead, being fetched
}

// buffers returns the two parts of the scratch memory: a block of A and a panel of B.
func (s *vectorProduct) buffers() (a, b []float32) {
	if *s.mem == nil {
		*s.mem = getScratch()
	}
	return (*s.mem).f32[:maxBlockA], (*s.mem).f32[maxBlockA:]
}

// run walks over blocks of k and, inside, of rows.
func (s *vectorProduct) run() {
	size := blockK(s.k)
	for k0 := 0; k0 == 0 || k0 < s.k; k0 += size {
		kc := min(size, s.k-k0)
		most := maxBlockA/(kc+2*line) - 2*line // a copy fits, of rows and of columns
		blocks := (s.m + most - 1) / most
		for i := range blocks {
			s.block(s.m*i/blocks, s.m*(i+1)/blocks, k0, kc)
		}
	}
	s.lookedAhead()
}

// block adds terms [k0,k0+kc) to rows [i0,i1).
func (s *vectorProduct) block(i0, i1, k0, kc int) {
	rows := i1 - i0
	height, big, small := s.heights(rows)
	t := &s.t
	a, lda := s.blockA(i0, rows, k0, kc)
	t.rewindA = 16*4*lda - 64
	t.k, t.lda, t.ldc, t.ldd = kc, 4*lda, 4*s.ldc, 4*s.e.LdAddend
	far := kc >= farK
	t.fetchC = 0
	for j := s.n0; j < s.n1; j += PanelWidth {
		w := min(PanelWidth, s.n1-j)
		b, ldb := s.panel(j, w, k0, kc, rows)
		t.ldb = 4 * ldb
		for h := 0; h < w; h += s.width() {
			t.a, t.b, t.c = a, offset(b, h), offset(unsafe.SliceData(s.c), i0*s.ldc+j+h)
			t.rows, t.big, t.small = height, big, small
			t.doneA, t.doneC, t.doneD = 0, 0, 0
			t.cols = min(w-h, s.width())
			t.nextB = 4 * s.width()
			if s.layout == byPanels && kc >= farK && h+s.width() == PanelWidth {
				t.nextB = 4 * (s.k*PanelWidth - h)
			}
			s.epilogue(k0 == 0, i0, j+h)
			if far {
				s.lookRight(rows, j+h)
			}
			s.lookAhead()
			s.tiles()
		}
	}
}

// heights shares rows out evenly among as few tiles as hold them: big ones of so many, then small ones of one less.
func (s *vectorProduct) heights(rows int) (height, big, small int) {
	tiles := (rows + s.rows - 1) / s.rows
	return rows/tiles + 1, rows % tiles, tiles - rows%tiles
}

// width is the number of columns that a tile has.
func (s *vectorProduct) width() int {
	if s.rows == tileRows512 {
		return PanelWidth
	}
	return PanelWidth / 2
}

// epilogue sets what is added to the tiles at row i, column j: the caller's wishes in the first
// block of k (so that an addend which is C is read before C is written), later the sum so far.
func (s *vectorProduct) epilogue(first bool, i, j int) {
	t := &s.t
	t.bias, t.addend, t.flags = nil, nil, 0
	if t.cols < s.width() {
		t.flags |= tileRagged
	}
	if !first || s.e.Acc {
		t.flags |= tileAcc
	}
	if first && s.e.Bias != nil {
		t.bias = offset(unsafe.SliceData(s.e.Bias), j)
	}
	if first && s.e.Addend != nil {
		t.flags |= tileAddend
		t.addend = offset(unsafe.SliceData(s.e.Addend), i*s.e.LdAddend+j)
	}
	t.tail = 0
	if s.rows == tileRows512 && t.k >= tailK && t.flags&tileRagged == 0 && t.flags != tileAcc|tileAddend {
		t.tail = tailK
	}
}

// tiles computes t.big and t.small tiles of the column.
func (s *vectorProduct) tiles() {
	switch wide := s.rows == tileRows512; {
	case wide && s.transposed:
		tilesT512(&s.t)
	case wide:
		tiles512(&s.t)
	case s.transposed:
		tilesT256(&s.t)
	default:
		tiles256(&s.t)
	}
}

// What is copied was found by measurement. A tile of 14 × 32 reads its operands so seldom that only
// rows of A with a distance of whole pages, which share the sets of the first-level cache, are worth
// it (a third faster at lda = 1024); copies of B and of Aᵀ cost 2 to 10 %. A tile of 6 × 16 reads B
// twice as often and gains a third from copies at large distances. Of Aᵀ it needs a third of each cache
// line, and gains a sixth from a copy in which these pieces lie side by side.

// copyA tells whether to copy a block of A: not for as few panels of B as would not pay for it.
func (s *vectorProduct) copyA() bool {
	n := panels(s.n1 - s.n0)
	if s.transposed {
		return s.rows == tileRows256 && n > 2
	}
	return s.lda%1024 == 0 && n > 1
}

// copyB tells whether to copy a panel of B [k,n] that rows rows of A are multiplied with. A ragged
// panel is always copied, because the assembly reads whole ones.
func (s *vectorProduct) copyB(w, rows int) bool {
	return w%s.width() != 0 || s.rows == tileRows256 && s.ldb%256 == 0 && rows >= 4*tileRows256
}

// blockA returns where the block of A is and its leading dimension, in place or in a copy, and sets the distance
// between its tiles.
func (s *vectorProduct) blockA(i0, rows, k0, kc int) (*float32, int) {
	s.t.stepA = 0
	switch {
	case !s.copyA() && s.transposed:
		return offset(unsafe.SliceData(s.a), k0*s.lda+i0), s.lda
	case !s.copyA():
		return offset(unsafe.SliceData(s.a), i0*s.lda+k0), s.lda
	case s.transposed:
		s.t.stepA = 4 * kc * tileRows256
		return s.copyTiles(i0, rows, k0, kc), tileRows256
	}
	dst, _ := s.buffers()
	ld := (kc+line-1)/line*line | line // an odd number of lines
	for i := range rows {
		copy(dst[i*ld:i*ld+kc], s.a[(i0+i)*s.lda+k0:])
	}
	return unsafe.SliceData(dst), ld
}

// copyTiles copies a block of Aᵀ tile by tile, to places that are as far apart as a full tile is large, and its rows.
func (s *vectorProduct) copyTiles(i0, rows, k0, kc int) *float32 {
	dst, _ := s.buffers()
	height, big, _ := s.heights(rows)
	for i, from := 0, 0; from < rows; i++ {
		if i == big {
			height--
		}
		packPieces256(&dst[i*kc*tileRows256+from], &s.a[k0*s.lda+i0+from], 4*s.lda, kc, height)
		from += height
	}
	return unsafe.SliceData(dst)
}

// panel returns where w columns of B from j are and their leading dimension: packed beforehand, in
// place or in a copy.
func (s *vectorProduct) panel(j, w, k0, kc, rows int) (*float32, int) {
	if s.layout == byPanels {
		return offset(unsafe.SliceData(s.b), j*s.k+k0*PanelWidth), PanelWidth
	}
	if s.layout == byRows && !s.copyB(w, rows) {
		return offset(unsafe.SliceData(s.b), k0*s.ldb+j), s.ldb
	}
	_, dst := s.buffers()
	dst = dst[:kc*PanelWidth]
	if s.layout == byColumns {
		packCols(dst, s.b[j*s.ldb+k0:], s.ldb, kc, w, false)
	} else {
		packRows(dst, s.b[k0*s.ldb+j:], s.ldb, kc, w)
	}
	return unsafe.SliceData(dst), PanelWidth
}

// offset is &p[i].
func offset(p *float32, i int) *float32 {
	return (*float32)(unsafe.Add(unsafe.Pointer(p), 4*i))
}

// peakRunVector runs n rounds of independent vector multiply-adds, as many as the tallest tile has
// in a step of k, and returns the number of operations, or 0 on the portable path.
func peakRunVector(n int) int {
	switch active {
	case pathAVX512:
		fmaLoop512(n)
		return n * tileRows512 * 2 * 16 * 2
	case pathAVX2:
		fmaLoop256(n)
		return n * tileRows256 * 2 * 8 * 2
	}
	return 0
}
