package fleet

import (
	"fmt"
	"slices"
	"strings"
)

// DidYouMean returns the end of a message about a mistyped name: ` (did you mean "x"?)`, or "" when no candidate is near.
func DidYouMean(name string, candidates []string) string {
	if near := Nearest(name, candidates); near != "" {
		return fmt.Sprintf(" (did you mean %q?)", near)
	}
	return ""
}

// Nearest returns the candidate that a mistyped name most probably means, or "" when none is near.
func Nearest(name string, candidates []string) string {
	best, bestDistance := "", (len(name)+2)/3+1
	for _, candidate := range slices.Sorted(slices.Values(candidates)) {
		if d := editDistance(strings.ToLower(name), strings.ToLower(candidate)); d < bestDistance {
			best, bestDistance = candidate, d
		}
	}
	return best
}

// editDistance counts the bytes that must be inserted, deleted or replaced. It does not compare names longer than 64
// bytes, because that takes too long.
func editDistance(a, b string) int {
	const longest = 64
	if len(a) > longest || len(b) > longest {
		return longest
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
