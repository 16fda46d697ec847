package desired

import (
	"slices"
	"strings"

	"muster/internal/fleet"
	"muster/internal/stconfig"
)

// AreIndependent tells whether two templates make the same in either order, whatever they say. Folders, devices and
// their defaults count as one place: a share brings a device along, and a new member starts from the defaults.
func AreIndependent(a, b fleet.Template) bool {
	here, err := stconfig.ParseKey(a.Key)
	there, otherErr := stconfig.ParseKey(b.Key)
	if err != nil || otherErr != nil || a.Reads.OrAll().Config || b.Reads.OrAll().Config {
		return false
	}
	return !Meet(here, there) && (isApart(here) || isApart(there))
}

// isApart tells a place that nothing else of the configuration depends on in the fold.
func isApart(key stconfig.Key) bool {
	return !key.IsRoot() && slices.Contains([]string{"options", "gui", "ldap"}, strings.ToLower(key.At(0).Name))
}
