//go:build !amd64

package kernel

func (p *panel[T]) softmaxVector() bool { return false }

func (p *panel[T]) gradientVector() bool { return false }

func panelMulVector(p *panelProduct[float32], acc, triangleAcc bool) bool { return false }

func panelMulTVector(p *panelProduct[float32], factors []float32) bool { return false }

func packTileVector(dst, src []float32, ld, k int, scale float32) int { return 0 }
