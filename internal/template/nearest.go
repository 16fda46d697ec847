package template

import "muster/internal/fleet"

// didYouMean is a clause to append to a message, "" when nothing is near.
func didYouMean(name string, candidates []string) string {
	if near := fleet.Nearest(name, candidates); near != "" {
		return " (did you mean " + near + "?)"
	}
	return ""
}
