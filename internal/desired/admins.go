package desired

import (
	"muster/internal/fleet"
	"muster/internal/stconfig"
)

// ByAdmins is what the templates that admins saved make of the same device without the help of the others. Where they
// cannot stand alone it is the base: then nothing counts as asked for by admins alone.
func ByAdmins(in Input, all Result) stconfig.Value {
	var saved []fleet.Template
	for _, t := range in.Templates {
		if t.SavedByAdmin() {
			saved = append(saved, t)
		}
	}
	switch len(saved) {
	case 0:
		return all.Base
	case len(in.Templates):
		return all.Desired
	}
	in.Templates = saved
	alone, err := Fold(in)
	if err != nil {
		return all.Base
	}
	return alone.Desired
}
