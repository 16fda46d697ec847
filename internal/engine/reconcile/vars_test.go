package reconcile

import (
	"slices"
	"testing"

	"muster/internal/core/template"
	"muster/internal/fleet"
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
		v := e.newGeneration(&fleet.Registry{
			Devices: map[fleet.DeviceID]*fleet.Registered{id: {Device: fleet.Device{ID: id}, Tags: []fleet.Tag{"t"}}},
			TagVars: map[fleet.Tag]fleet.SavedVars{"t": vars},
			Templates: []fleet.TaggedTemplate{{Template: fleet.Template{ID: 1, Key: "options.x", Text: text,
				SavedRole: fleet.RoleAdmin, Reads: program.Reads()}, Tags: []fleet.Tag{"t"}}},
		})
		return e.fingerprint(v, id, fleet.ModeOn, Known{}, "")
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

func TestVarsOfOthersAreNamedForTheTemplatesThatReadThem(t *testing.T) {
	id := fleet.DeviceIDOf([32]byte{1})
	reading := fleet.Inputs{Known: true, Device: fleet.FactsNamed([]string{"vars"})}
	template := func(number int64, role fleet.Role, reads fleet.Inputs) fleet.TaggedTemplate {
		return fleet.TaggedTemplate{Template: fleet.Template{ID: number, SavedRole: role, Reads: reads},
			Tags: []fleet.Tag{"t"}}
	}
	r := &fleet.Registry{
		Devices: map[fleet.DeviceID]*fleet.Registered{id: {Device: fleet.Device{ID: id}, Tags: []fleet.Tag{"a", "t"},
			Vars: fleet.SavedVars{Vars: `{"own":1}`, SavedRole: fleet.RoleAuthor}}},
		TagVars: map[fleet.Tag]fleet.SavedVars{
			"a": {Vars: `{"a":1}`, SavedRole: fleet.RoleAdmin},
			"t": {Vars: `{"p":1,"q":1,"r":1,"s":1,"u":1}`, SavedRole: fleet.RoleAuthor},
		},
		Templates: []fleet.TaggedTemplate{template(1, fleet.RoleAdmin, reading), template(2, fleet.RoleAuthor, reading),
			template(3, fleet.RoleAdmin, fleet.Inputs{Known: true, Device: "label"})},
	}
	want := []string{`p, q, r, 2 more of tag "t"`, "own of device " + string(id)}
	if got := othersVars(r, id, 1); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := append(othersVars(r, id, 2), othersVars(r, id, 3)...); len(got) != 0 {
		t.Errorf("got %q for templates that are an author's or read no vars", got)
	}
}

// A change of another device's vars makes the inputs others only where a template reads them.
func TestVarsOfPeersArePlannedAnewOnlyWhereATemplateReadsThem(t *testing.T) {
	e := New(Options{Store: admitted{}, Daemon: unasked{}})
	id, peer := fleet.DeviceIDOf([32]byte{1}), fleet.DeviceIDOf([32]byte{2})
	with := func(text string, vars fleet.SavedVars, address string) fingerprint {
		program, err := template.Compile(text)
		if err != nil {
			t.Fatal(err)
		}
		v := e.newGeneration(&fleet.Registry{
			Devices: map[fleet.DeviceID]*fleet.Registered{id: {Device: fleet.Device{ID: id}, Tags: []fleet.Tag{"t"}},
				peer: {Device: fleet.Device{ID: peer, APIAddress: address}, Vars: vars}},
			Templates: []fleet.TaggedTemplate{{Template: fleet.Template{ID: 1, Key: "options.x", Text: text,
				SavedRole: fleet.RoleAdmin, Reads: program.Reads()}, Tags: []fleet.Tag{"t"}}},
		})
		return e.fingerprint(v, id, fleet.ModeOn, Known{}, "")
	}
	const reading, other = `[d.vars.a for d in devices()]`, `[d.label for d in devices()]`
	admins := fleet.SavedVars{Vars: `{"a":1}`, SavedRole: fleet.RoleAdmin}
	for what, vars := range map[string]fleet.SavedVars{
		"another value": {Vars: `{"a":2}`, SavedRole: fleet.RoleAdmin}, "none": {},
		"an author's": {Vars: admins.Vars, SavedRole: fleet.RoleAuthor},
	} {
		if with(reading, admins, "") == with(reading, vars, "") {
			t.Errorf("%s: what reads the vars of peers is not planned anew", what)
		}
		if with(other, admins, "") != with(other, vars, "") {
			t.Errorf("%s: what does not read them is planned anew", what)
		}
	}
	if with(reading, admins, "192.0.2.1") == with(reading, admins, "192.0.2.2") {
		t.Error("another address: what reads peers is not planned anew")
	}
}
