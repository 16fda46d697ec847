package stconfig

import (
	"fmt"
	"slices"
)

// didYouMean is "did you mean NAME?" with the nearest of the known names, "" when none is near.
func didYouMean(name string, known []string) string {
	best, bestDistance := "", len(name)/3+2
	for _, candidate := range known {
		if d := editDistance(fold(name), fold(candidate)); d < bestDistance {
			best, bestDistance = candidate, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("did you mean %s?", best)
}

// editDistance counts the characters to insert, drop or replace. Long names, which are no typing error, are cut.
func editDistance(a, b string) int {
	const enough = 64
	from, to := []rune(a[:min(len(a), enough)]), []rune(b[:min(len(b), enough)])
	row := make([]int, len(to)+1)
	for j := range row {
		row[j] = j
	}
	for i, r := range from {
		previous := slices.Clone(row)
		row[0] = i + 1
		for j, q := range to {
			cost := 1
			if r == q {
				cost = 0
			}
			row[j+1] = min(previous[j+1]+1, row[j]+1, previous[j]+cost)
		}
	}
	return row[len(to)]
}
