// Ablate is a workbench for the architecture of transformer blocks.
//
// A program of your own that registers a norm, an activation, a position
// encoding or a placement, and then calls cmd.Main as this one does, is the
// whole tool with that variant in it.
package main

import "ablate/cmd"

func main() { cmd.Main() }
