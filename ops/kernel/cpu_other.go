//go:build !amd64

package kernel

func detectPath() path { return pathPortable }
