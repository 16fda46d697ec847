package reconcile

import (
	"testing"

	"muster/internal/fleet"
	"muster/internal/template"
)

// A change of vars makes a device's inputs others only where a template reads them.
func TestVarsArePlannedAnewOnlyWhereATemplateReadsThem(t *testing.T) {
	e := New(Options{Store: admitted{}, Daemon: unasked{}})
	id := fleet.DeviceIDOf([32]byte{1})
	with := func(text string, vars fleet.SavedVars) fingerprint {
		program, err := template.Compile(text)
		if err != nil {
			t.Fatal(err)
		}
		v := e.newView(&fleet.Registry{
			Devices: map[fleet.DeviceID]*fleet.Registered{id: {Device: fleet.Device{ID: id}, Tags: []fleet.Tag{"t"}}},
			TagVars: map[fleet.Tag]fleet.SavedVars{"t": vars},
			Templates: []fleet.TaggedTemplate{{Template: fleet.Template{ID: 1, Key: "options.x", Text: text,
				SavedRole: fleet.RoleAdmin, Reads: program.Reads()}, Tags: []fleet.Tag{"t"}}},
		})
		return e.fingerprint(v, id, fleet.ModeOn, Known{}, nil)
	}
	admins := fleet.SavedVars{Vars: `{"a":1}`, SavedRole: fleet.RoleAdmin}
	for what, other := range map[string]fleet.SavedVars{
		"another value": {Vars: `{"a":2}`, SavedRole: fleet.RoleAdmin}, "none": {},
		"an author's": {Vars: admins.Vars, SavedRole: fleet.RoleAuthor},
	} {
		for text, reads := range map[string]bool{"def template(device):\n  return device.vars.a": true,
			"def template(device):\n  return device.label": false, "{a: 1}": false} {
			if differs := with(text, admins) != with(text, other); differs != reads {
				t.Errorf("%s, %s: planned anew: %t, want %t", what, text, differs, reads)
			}
		}
	}
}
