package stconfig

import (
	"fmt"

	"muster/internal/fleet"
)

// didYouMean is "did you mean NAME?" with the nearest of the known names, "" when none is near.
func didYouMean(name string, known []string) string {
	near := fleet.Nearest(name, known)
	if near == "" {
		return ""
	}
	return fmt.Sprintf("did you mean %s?", near)
}
