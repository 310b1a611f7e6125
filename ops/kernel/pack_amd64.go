package kernel

import "unsafe"

// packRowsVector packs a whole panel with vector instructions, if the active path has them.
func packRowsVector(dst, b []float32, ldb, k int) bool {
	switch {
	case k == 0 || active < pathAVX2:
		return false
	case active == pathAVX512:
		packRows512(unsafe.SliceData(dst), unsafe.SliceData(b), 4*ldb, k)
	default:
		packRows256(unsafe.SliceData(dst), unsafe.SliceData(b), 4*ldb, k)
	}
	return true
}

// packColsVector packs as many whole vectors as fit: columns [0,j) up to row k0 of the panel; past says that the panel
// is not read soon.
func packColsVector(dst, b []float32, ldb, k, w int, past bool) (j, k0 int) {
	lanes := 16
	if active != pathAVX512 {
		lanes = 8
	}
	blocks := k / lanes
	if active < pathAVX2 || blocks == 0 {
		return 0, 0
	}
	past = past && uintptr(unsafe.Pointer(unsafe.SliceData(dst)))%lineBytes == 0
	for ; j+lanes <= w; j += lanes {
		switch {
		case lanes == 8:
			packCols256(&dst[j], &b[j*ldb], 4*ldb, blocks)
		case past:
			packColsPast512(&dst[j], &b[j*ldb], 4*ldb, blocks)
		default:
			packCols512(&dst[j], &b[j*ldb], 4*ldb, blocks)
		}
	}
	return j, blocks * lanes
}

// touch brings x to the first-level cache, where there is anything to gain: not on the portable path.
func touch(x []float32) {
	if lines := len(x) / 16; lines > 0 && active >= pathAVX2 {
		touchLines((*byte)(unsafe.Pointer(unsafe.SliceData(x))), lines)
	}
}
