package desired

import (
	"strings"

	"muster/internal/fleet"
	"muster/internal/stconfig"
)

// MayShare tells whether a template may share a folder with devices. Which devices are registered, and their labels,
// then count.
func MayShare(t fleet.Template) bool {
	key, err := stconfig.ParseKey(t.Key)
	if err != nil || key.IsRoot() {
		return t.Reads.OrAll().Sharing
	}
	for i := range key.Len() {
		if strings.EqualFold(key.At(i).Name, "devices") {
			return true
		}
	}
	switch section := strings.ToLower(key.At(0).Name); section {
	case "folders", "defaults", "*":
		return t.Reads.OrAll().Sharing
	}
	return false
}
