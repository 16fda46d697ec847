package auth

import "muster/internal/fleet"

// MayMake returns a forbidden error if the principal may not make each kind of change in an edit that comes from files.
func (p Principal) MayMake(e fleet.Edit) error {
	for _, part := range []struct {
		changes    bool
		permission Permission
		what       string
	}{
		{len(e.New)+len(e.Changed)+len(e.Deleted) > 0 || e.Files.Adopts() || e.Files.Kept != nil, WriteTemplates,
			"may not change templates"},
		{len(e.Vars) > 0, WriteTemplates, "may not change vars"},
		{len(e.Labels) > 0, WriteDevices, "may not change the labels of devices"},
		{len(e.Settings)+len(e.Modes)+len(e.Roots)+len(e.Protect) > 0, WriteSettings,
			"may not change settings of devices and tags"},
	} {
		if part.changes && !p.May(part.permission) {
			return p.Lacks(part.permission, part.what)
		}
	}
	return nil
}
