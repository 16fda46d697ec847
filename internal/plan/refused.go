package plan

import (
	"slices"
	"strings"

	"muster/internal/stconfig"
)

// BuildsOn tells whether a write needs what the daemon refused: folders need their devices, ignore patterns their
// folder and a folder that starts its patterns, and nothing is removed when something could not be added.
func (w Write) BuildsOn(refused []stconfig.Key) bool {
	for _, key := range w.Keys {
		for _, other := range refused {
			resumes := orderOf(other) == orderOfIgnores && orderOf(key) == orderOfIgnores-1 && other.At(1) == key.At(1)
			if orderOf(other) < orderOf(key) || resumes {
				return true
			}
		}
	}
	return false
}

var orderOfIgnores = orderOf(stconfig.Key{}.Child("ignores"))

func orderOf(key stconfig.Key) int {
	return slices.Index([]string{"", "devices", "folders", "ignores"}, strings.ToLower(key.At(0).Name))
}
