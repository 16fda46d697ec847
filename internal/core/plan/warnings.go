package plan

import (
	"fmt"
	"slices"
	"strings"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// Warnings returns, for the author of a template, the changes of the template that the guard would hold or refuse, as
// sentences. asked are the changes that the template makes in the fold; other changes of the plan are left out.
func (p Plan) Warnings(template int64, asked []stconfig.Change, known fleet.System) (warnings []string) {
	for _, c := range p.Changes {
		about := func(a stconfig.Change) bool { return a.Key.HasPrefix(c.Key) || c.Key.HasPrefix(a.Key) }
		if !slices.Contains(c.Templates, template) || !slices.ContainsFunc(asked, about) {
			continue
		}
		switch {
		case c.Class == Held || c.Class == Refused:
			warnings = append(warnings, fmt.Sprintf("%s would be %s: %s", c.Key, c.Class, c.Reason))
		case c.Class == Free && MayBeTheDaemons(known, c.folderPath()):
			warnings = append(warnings, fmt.Sprintf("%s: the daemon has not named the directory of its own files. "+
				"If they are at the path of this folder, its keys are shared. Restart the daemon to have them protected", c.Key))
		}
	}
	return warnings
}

// folderPath returns the path that the change gives to a folder, or "".
func (c Change) folderPath() string {
	switch at := c.Key; {
	case at.Len() < 2 || !strings.EqualFold(at.At(0).Name, "folders"):
		return ""
	case at.Len() == 2:
		return c.To.Get("path").Str()
	case at.Len() == 3 && strings.EqualFold(at.At(2).Name, "path"):
		return c.To.Str()
	}
	return ""
}
