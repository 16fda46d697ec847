package fleet

import (
	"slices"
	"testing"
)

func TestWhereADeviceIsReachedForSyncing(t *testing.T) {
	for name, test := range map[string]struct {
		api, vars string
		want      []string
	}{
		"the host that Muster calls":  {"192.0.2.7", "", []string{"tcp://192.0.2.7:22000"}},
		"a host of IPv6":              {"2001:db8::7", "", []string{"tcp://[2001:db8::7]:22000"}},
		"its own machine":             {"127.0.0.1", "", nil},
		"its own machine, by name":    {"localhost", "", nil},
		"nothing is known":            {"", "", nil},
		"a var with one address":      {"192.0.2.7", `{"addresses":"tcp://hub:1"}`, []string{"tcp://hub:1"}},
		"a var with a list":           {"", `{"Addresses":["tcp://a:1","quic://a:1"]}`, []string{"tcp://a:1", "quic://a:1"}},
		"a var that is of other kind": {"192.0.2.7", `{"addresses":7}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			d := &Registered{}
			d.ID, d.APIAddress, d.Vars = "A", test.api, SavedVars{Vars: Vars(test.vars)}
			r := &Registry{Devices: map[DeviceID]*Registered{"A": d}}
			if got := r.AddressesOf("A"); !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// Vars of another device decide what a program that reads peers gives. An author would have written with an admin's
// power otherwise.
func TestATemplateOfAnAdminThatReadsVarsOfAnAuthorIsAnAuthors(t *testing.T) {
	for name, test := range map[string]struct {
		reads Inputs
		saver Role
		want  Role
	}{
		"peers, saved by an author": {Inputs{Known: true, Devices: true, Peers: true}, RoleAuthor, RoleAuthor},
		"peers, saved by an admin":  {Inputs{Known: true, Devices: true, Peers: true}, RoleAdmin, RoleAdmin},
		"no peers":                  {Inputs{Known: true, Devices: true}, RoleAuthor, RoleAdmin},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := &Registered{}, &Registered{}
			a.ID, a.Tags, b.ID = "A", []Tag{"x"}, "B"
			b.Vars = SavedVars{Vars: `{"addresses":"tcp://evil:1"}`, SavedRole: test.saver}
			r := &Registry{Devices: map[DeviceID]*Registered{"A": a, "B": b}, Templates: []TaggedTemplate{{
				Template: Template{ID: 1, SavedRole: RoleAdmin, Reads: test.reads}, Tags: []Tag{"x"}}}}
			if got := r.TemplatesOf("A")[0].SavedRole; got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
