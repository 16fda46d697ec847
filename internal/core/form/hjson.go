package form

import (
	"strings"

	"muster/internal/core/stconfig"
)

// member is one name of an HJSON object, with its value in HJSON.
type member struct{ name, value string }

// object writes the members on a line each.
func object(members ...member) string {
	var b strings.Builder
	b.WriteString("{\n")
	for _, m := range members {
		b.WriteString("  " + m.name + ": " + strings.ReplaceAll(m.value, "\n", "\n  ") + "\n")
	}
	b.WriteString("}")
	return b.String()
}

// list writes the texts on a line each.
func list(texts []string) string {
	var b strings.Builder
	b.WriteString("[\n")
	for _, text := range texts {
		b.WriteString("  " + asJSON(text) + "\n")
	}
	b.WriteString("]")
	return b.String()
}

// flag is the value of a choice between on and off.
func flag(choice string) string {
	if choice == "on" {
		return "true"
	}
	return "false"
}

// folderKey is the key of one folder, or of every folder without an ID.
func folderKey(id string) stconfig.Key {
	key := stconfig.Key{}.Child("folders").Child(id)
	if id == "" {
		return key.WithEvery(1)
	}
	return key
}
