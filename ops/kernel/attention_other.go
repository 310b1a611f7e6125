//go:build !amd64

package kernel

func (p *panel[T]) softmaxVector() bool { return false }

func (p *panel[T]) gradientVector() bool { return false }
