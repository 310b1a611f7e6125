// Package report draws an experiment from its run directory: figures as SVG and
// PNG, their numbers as CSV, tables, and one page of HTML that needs nothing
// else. It reads files alone, so a report can be redrawn a year later, on a
// machine that could not have trained the models.
//
// A figure is a value in a table (figures.go), built in a file of its own. It
// says what is drawn; sheet.go lays it out, for paper and for a telephone.
package report
