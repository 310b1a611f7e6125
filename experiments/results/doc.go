// Package results is the run directory: where its files are, how they are
// written so that a crash leaves the old file or the new one, how they are read
// back, and the tables made of them.
//
//	EXPERIMENT/            experiment.yaml  cells.json  report.html  figures/  tables/
//	  cells/ID/            config.yaml  manifest.json  summary.json
//	                       metrics.jsonl  layers.jsonl  timing.jsonl  checkpoints/
//
// Everything here is drawn from files alone. No text that a file contains is
// ever used as a path, but for a cell's ID, which is twelve hexadecimal digits
// or refused; and files are opened so that no symbolic link leads outside.
package results
