package desired

import (
	"slices"

	"muster/internal/fleet"
	"muster/internal/stconfig"
)

// Doubt is something in a template that is most probably a mistake.
type Doubt struct {
	Template fleet.Template
	Key      stconfig.Key
	Text     string // for a person; it begins with the key
}

// String names the template, too.
func (d Doubt) String() string { return named(d.Template) + ": " + d.Text }

// doubt keeps what is doubted about a template. A field that this daemon has is not doubted: the
// daemon is newer than the table of fields.
func (f *fold) doubt(t fleet.Template, all []stconfig.Doubt, skips []stconfig.Skip) {
	for _, d := range all {
		left := func(s stconfig.Skip) bool { return d.Key.HasPrefix(s.Key) || lastName(s.Key) == lastName(d.Key) }
		if d.Kind == stconfig.UnknownField && !slices.ContainsFunc(skips, left) {
			continue
		}
		f.doubts = append(f.doubts, Doubt{Template: t, Key: d.Key, Text: d.Text})
	}
}

func lastName(key stconfig.Key) string { return key.At(key.Len() - 1).Name }
