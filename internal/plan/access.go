package plan

import (
	"slices"
	"strings"

	"muster/internal/stconfig"
)

// accessKeys of `gui` say how a daemon's API is reached.
var accessKeys = []string{"address", "useTLS", "apiKey"}

// MayMoveAccess tells whether a template at a key may change how the daemon's API is reached.
func MayMoveAccess(key stconfig.Key) bool {
	names := func(i int, name string) bool {
		return key.Len() <= i || key.At(i).Name == "*" || strings.EqualFold(key.At(i).Name, name)
	}
	return names(0, "gui") && slices.ContainsFunc(accessKeys, func(name string) bool { return names(1, name) })
}

// SetsAccess tells whether a value does so at a key of which MayMoveAccess is true.
func SetsAccess(key stconfig.Key, value stconfig.Value) bool {
	switch key.Len() {
	case 0:
		value = value.Get("gui")
	case 1:
	default:
		return true
	}
	return slices.ContainsFunc(accessKeys, func(name string) bool { return value.Get(name).Exists() })
}
