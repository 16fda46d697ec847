package desired

import (
	"testing"

	"muster/internal/core/template"
	"muster/internal/fleet"
)

// A device that goes, or gets another label, alters those whose templates share a folder with it, and no others.
func TestAPeerThatGoesAltersWhoSharesWithIt(t *testing.T) {
	const nora, otto = fleet.DeviceID("NORA-1"), fleet.DeviceID("OTTO-2")
	shares := fleet.Template{
		ID:    1,
		Op:    fleet.OpMerge,
		Key:   "folders",
		Text:  `[{"id": "a", "devices": [{"deviceID": "otto2"}]}]`,
		Reads: fleet.Inputs{Known: true, Sharing: true},
	}
	sets := fleet.Template{
		ID:    2,
		Op:    fleet.OpSet,
		Key:   "options.natEnabled",
		Text:  "false",
		Reads: fleet.Inputs{Known: true},
	}
	for name, test := range map[string]struct {
		template fleet.Template
		change   func(*fleet.Registry) *fleet.Registry
		want     bool
	}{
		"nothing": {shares, func(r *fleet.Registry) *fleet.Registry { return r.With(r.Devices[otto]) }, false},
		"gone":    {shares, func(r *fleet.Registry) *fleet.Registry { return r.Without(otto) }, true},
		"renamed": {shares, func(r *fleet.Registry) *fleet.Registry {
			return r.With(&fleet.Registered{Device: fleet.Device{ID: otto, Label: "other"}})
		}, true},
		"gone, not shared with": {sets, func(r *fleet.Registry) *fleet.Registry { return r.Without(otto) }, false},
	} {
		before := &fleet.Registry{
			Devices: map[fleet.DeviceID]*fleet.Registered{
				nora: {Device: fleet.Device{ID: nora}, Tags: []fleet.Tag{"all"}}, otto: {Device: fleet.Device{ID: otto}}},
			Templates: []fleet.TaggedTemplate{{Template: test.template, Tags: []fleet.Tag{"all"}}},
		}
		unknown := func(fleet.DeviceID) fleet.Version { return fleet.Version{} }
		c := Compare(FleetOf(before, unknown), FleetOf(test.change(before), unknown),
			func(text string, in template.Input) (template.Result, error) {
				program, err := template.Compile(text)
				if err != nil {
					return template.Result{}, err
				}
				return program.Evaluate(in, template.Limits{})
			})
		if got := c.Alters(nora); got != test.want {
			t.Errorf("%s: got %v, want %v", name, got, test.want)
		}
	}
}

// A var of a hub decides what its spokes have: a change of it was no change of theirs.
func TestVarsOfAPeerAlterTheDevicesThatReadThem(t *testing.T) {
	nora, otto := fleet.DeviceIDOf([32]byte{1}), fleet.DeviceIDOf([32]byte{2})
	compile := func(text string) *template.Program {
		program, err := template.Compile(text)
		if err != nil {
			t.Fatal(err)
		}
		return program
	}
	with := func(text, vars string) Fleet {
		return FleetOf(&fleet.Registry{
			Devices: map[fleet.DeviceID]*fleet.Registered{
				nora: {Device: fleet.Device{ID: nora}, Tags: []fleet.Tag{"all"}},
				otto: {Device: fleet.Device{ID: otto}, Vars: fleet.SavedVars{Vars: fleet.Vars(vars)}}},
			Templates: []fleet.TaggedTemplate{{Template: fleet.Template{ID: 1, Op: fleet.OpMerge, Key: "devices", Text: text,
				Reads: compile(text).Reads()}, Tags: []fleet.Tag{"all"}}},
		}, func(fleet.DeviceID) fleet.Version { return fleet.Version{} })
	}
	for text, want := range map[string]bool{
		`[{"deviceID": d.deviceID, "addresses": d.addresses} for d in devices()]`: true,
		`[{"deviceID": d.deviceID} for d in devices()]`:                           false,
	} {
		c := Compare(with(text, `{"addresses":"tcp://a:1"}`), with(text, `{"addresses":"tcp://b:1"}`),
			func(text string, in template.Input) (template.Result, error) {
				return compile(text).Evaluate(in, template.Limits{})
			})
		if got := c.Alters(nora); got != want {
			t.Errorf("%s: altered: %t, want %t", text, got, want)
		}
	}
}
