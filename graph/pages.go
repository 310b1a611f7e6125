package graph

// A training step walks through hundreds of megabytes, rows of weights being
// kilobytes apart. On pages of 4 KiB it spends some percent of its time on
// looking addresses up, so large memory is put on large pages where the system
// gives them to those who ask.

// largePage is the size of a large page on amd64 and most of arm64.
const largePage = 2 << 20

// leastOnLargePages is the least memory that is worth moving to the beginning
// of a large page.
const leastOnLargePages = 2 * largePage
