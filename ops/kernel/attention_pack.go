package kernel

// packTile transposes m rows of k elements, ld apart, to the first columns of a panel dst [k][tileQueries],
// and multiplies them by scale. The other columns become zeros.
func packTile[T Float](dst, src []T, ld, k, m int, scale T) {
	checkMatrix("attention", "tile", len(src), m, k, ld)
	dst = dst[:k*tileQueries]
	k0 := 0
	if m == tileQueries && isFloat32[T]() {
		k0 = packTileVector(as32(dst), as32(src), ld, k, float32(scale))
	}
	if k0 == k {
		return
	}
	for j := range m {
		for i, v := range src[j*ld+k0 : j*ld+k] {
			dst[(k0+i)*tileQueries+j] = v * scale
		}
	}
	if m < tileQueries {
		for i := range k {
			clear(dst[i*tileQueries+m : (i+1)*tileQueries])
		}
	}
}
