package template

import (
	"fmt"
	"strings"
	"testing"

	"muster/internal/fleet"
)

func registryWithVars(vars map[string]fleet.Vars) *fleet.Registry {
	r := &fleet.Registry{Devices: map[fleet.DeviceID]*fleet.Registered{}}
	for id, of := range vars {
		d := &fleet.Registered{}
		d.ID, d.Label, d.APIAddress = fleet.DeviceID(id), id, "192.0.2."+fmt.Sprint(len(r.Devices)+1)
		d.Vars = fleet.SavedVars{Vars: of}
		r.Devices[d.ID] = d
	}
	return r
}

func unknownVersion(fleet.DeviceID) fleet.Version { return fleet.Version{} }

// Hubs and spokes without discovery are one template only when it reads where a hub can be reached.
func TestAProgramReadsVarsAndAddressesOfOtherDevices(t *testing.T) {
	r := registryWithVars(map[string]fleet.Vars{"A": `{"addresses":["tcp://192.0.2.9:22001"],"site":"lima"}`})
	for text, want := range map[string]string{
		`[d.vars.site for d in devices()]`:                  `["lima"]`,
		`[d["vars"].get("x", 1) for d in devices()]`:        `[1]`,
		`[getattr(d, "addresses") for d in devices()]`:      `[["tcp://192.0.2.9:22001"]]`,
		`[d.addresses or ["dynamic"] for d in devices()]`:   `[["tcp://192.0.2.9:22001"]]`,
		`[n for d in devices() for n in d if d.vars != {}]`: `["deviceID","label","tags","apiAddress","apiPort","os","arch","version","vars","addresses"]`,
	} {
		program, err := Compile(text)
		if err != nil {
			t.Fatal(err)
		}
		if !program.Reads().Peers {
			t.Errorf("%s: it is not known that the program reads other devices", text)
		}
		got, err := program.Evaluate(Input{Fleet: FleetOf(r, unknownVersion, true)}, Limits{})
		if err != nil || string(got.Value.JSON()) != want {
			t.Errorf("%s: got %s, %v, want %s", text, got.Value.JSON(), err, want)
		}
	}
}

// A program whose reading cannot be seen in its text would not be evaluated again when a var changes.
func TestAProgramThatHidesThatItReadsVarsGetsNone(t *testing.T) {
	r := registryWithVars(map[string]fleet.Vars{"A": `{"site":"lima"}`})
	for _, text := range []string{`[getattr(d, "va" + "rs") for d in devices()]`, `[d["va" + "rs"] for d in devices()]`,
		`[d["address" + "es"] for d in devices()]`} {
		program, err := Compile(text)
		if err != nil {
			t.Fatal(err)
		}
		if program.Reads().Peers {
			t.Fatalf("%s: the reading shows", text)
		}
		_, err = program.Evaluate(Input{Fleet: FleetOf(r, unknownVersion, program.Reads().Peers)}, Limits{})
		if err == nil || !strings.Contains(err.Error(), "cannot be read here") {
			t.Errorf("%s: got %v, want a refusal", text, err)
		}
	}
	program, err := Compile(`{"addresses": ["tcp://" + d.apiAddress for d in devices()]}`)
	if err != nil || program.Reads().Peers {
		t.Errorf("a field of the configuration counts as a read: %v", err)
	}
}

func TestAFleetOfVarsIsLimited(t *testing.T) {
	vars := map[string]fleet.Vars{}
	for i := range 300 {
		vars[fmt.Sprintf("D%03d", i)] = fleet.Vars(`{"x":"` + strings.Repeat("y", 15<<10) + `"}`)
	}
	all := FleetOf(registryWithVars(vars), unknownVersion, true)
	if got := all.PeerBytes(); got != 0 || len(all.Devices()) != 300 {
		t.Errorf("got %d bytes of %d devices, want none of 300", got, len(all.Devices()))
	}
}
