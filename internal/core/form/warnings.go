package form

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"muster/internal/fleet"
)

// FolderID makes the ID of a new folder from its label: "Team folder" becomes "team-folder".
func FolderID(label string) string {
	words := strings.FieldsFunc(strings.ToLower(label), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	return strings.Join(words, "-")
}

// Warnings says with whom the folder would not be shared, and who else decides about it.
func (s Share) Warnings(r *fleet.Registry, replaces int64) (warnings []string) {
	members := having(r, s.Tags())
	switch tags := quotedTags(s.Tags()); {
	case len(members) == 0:
		warnings = append(warnings, "no device has "+tags+": the template applies to no device")
	case len(members) == 1:
		warnings = append(warnings, fmt.Sprintf("only %s has %s: the folder is shared with nobody", nameOf(members[0]), tags))
	default:
		warnings = append(warnings, s.apart(members)...)
	}
	if len(members) > 0 {
		warnings = append(warnings, unknownTags(r, s.Tags())...)
	}
	for _, t := range r.Templates {
		if t.ID != replaces && s.alsoIn(t) {
			warnings = append(
				warnings,
				fmt.Sprintf("template %d, %q, also decides about the folder %q", t.ID, t.Label, s.Folder),
			)
		}
	}
	return warnings
}

// apart warns of folders that several devices have and that not all of them can exchange.
func (s Share) apart(members []*fleet.Registered) (warnings []string) {
	if len(s.Hubs) > 0 && !slices.ContainsFunc(members, func(d *fleet.Registered) bool { return hasOneOf(d, s.Hubs) }) {
		warnings = append(warnings, "no device with the folder has "+quotedTags(s.Hubs)+
			": without a hub the folder is shared with nobody")
	}
	if !slices.ContainsFunc(members, func(d *fleet.Registered) bool { return !hasOneOf(d, s.Encrypted) }) {
		warnings = append(warnings, "every device gets the folder encrypted: nobody can read or add files")
	}
	return warnings
}

// alsoIn reports whether another template makes or changes the folder.
func (s Share) alsoIn(t fleet.TaggedTemplate) bool {
	if other, isForm := ReadShare(t); isForm {
		return other.Folder == s.Folder
	}
	key := s.folderKey()
	return t.Key == key || strings.HasPrefix(t.Key, key+".")
}

// having returns the devices with one of the tags, in the order of their names.
func having(r *fleet.Registry, tags []fleet.Tag) (devices []*fleet.Registered) {
	for _, d := range r.Devices {
		if hasOneOf(d, tags) {
			devices = append(devices, d)
		}
	}
	slices.SortFunc(devices, func(a, b *fleet.Registered) int { return strings.Compare(nameOf(a), nameOf(b)) })
	return devices
}

func hasOneOf(d *fleet.Registered, tags []fleet.Tag) bool {
	return slices.ContainsFunc(d.Tags, func(tag fleet.Tag) bool { return slices.Contains(tags, tag) })
}

func nameOf(d *fleet.Registered) string {
	if d.Label != "" {
		return d.Label
	}
	return d.ID.Short()
}

// quotedTags is "the tag "a"", or "one of the tags "a", "b"".
func quotedTags(tags []fleet.Tag) string {
	quoted := make([]string, len(tags))
	for i, tag := range tags {
		quoted[i] = fmt.Sprintf("%q", tag)
	}
	if len(tags) == 1 {
		return "the tag " + quoted[0]
	}
	return "one of the tags " + strings.Join(quoted, ", ")
}
