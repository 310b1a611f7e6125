package config

import "unicode/utf8"

// Suggest gives the known word that was probably meant, or "" if none is near:
// within one edit for words of up to four letters, two up to eight, else three. An edit
// inserts, drops or changes a letter, or swaps two neighbours. The first of
// equally near words wins.
func Suggest(word string, known []string) string {
	n := utf8.RuneCountInString(word)
	if n == 0 || n > 40 { // longer than any key; keeps the work bounded
		return ""
	}
	limit := 3
	if n <= 4 {
		limit = 1
	} else if n <= 8 {
		limit = 2
	}
	best, bestDistance := "", limit+1
	for _, k := range known {
		if m := utf8.RuneCountInString(k); m < n-limit || m > n+limit || m > 40 {
			continue
		}
		if d := editDistance([]rune(word), []rune(k)); d < bestDistance && k != word {
			best, bestDistance = k, d
		}
	}
	return best
}

// editDistance is the optimal string alignment distance (Damerau 1964,
// doi:10.1145/363958.363994, with each substring edited at most once).
func editDistance(a, b []rune) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
