package reconcile

import (
	"context"
	"slices"
	"testing"

	"muster/internal/core/desired"
	"muster/internal/core/template"
	"muster/internal/fleet"
)

func TestWhichTemplatesDependOnOtherDevices(t *testing.T) {
	for name, test := range map[string]struct {
		key, text     string
		fleet, shares bool
	}{
		"a literal":                {"options.natEnabled", "false", false, false},
		"a literal about a folder": {"folders.a.label", "\"devices\"", false, false},
		"a program about its own": {"options", "def template(device):\n    return {\"maxSendKbps\": device.apiPort}",
			false, false},
		"a program that lists": {"options", "def template():\n    return [d.deviceID for d in devices()]", true,
			false},
		"a program that asks for tags": {"options", "def template():\n    return len(tags())", true, false},
		"a comment that names both":    {"options.natEnabled", "false # not for devices or tags", false, false},
		"sharing by a literal":         {"folders.a", `{"devices": []}`, false, true},
		"sharing by a literal inside":  {"", `{"folders": [{"id": "a", "Devices": []}]}`, false, true},
		"sharing by the key":           {"folders.a.Devices", "[]", false, true},
		"a name that is escaped":       {"folders.a", `{"\u0064evices": []}`, false, true},
		"a name that is put together":  {"folders.a", "def template():\n    return {\"dev\" + \"ices\": []}", false, true},
		"sharing by default":           {"defaults.folder", `{"devices": []}`, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			program, err := template.Compile(test.text)
			if err != nil {
				t.Fatal(err)
			}
			made := fleet.Template{Key: test.key, Text: test.text, Reads: program.Reads()}
			if reads, shares := made.Reads.ReadsFleet(), desired.MayShare(made); reads != test.fleet || shares != test.shares {
				t.Errorf("got %t, %t", reads, shares)
			}
		})
	}
}

// As long as it is not known what a template reads, it counts as depending on everything.
func TestATemplateOfUnknownInputsDependsOnOtherDevices(t *testing.T) {
	made := fleet.Template{Key: "folders.a", Text: "{}"}
	if !made.Reads.OrAll().ReadsFleet() || !desired.MayShare(made) {
		t.Error("it does not")
	}
}

// With more than four generations in use, each pass made all of them anew.
func TestManyGenerationsAreMadeOnce(t *testing.T) {
	const generations = 8
	current := &fleet.Registry{Generation: generations + 1, Devices: map[fleet.DeviceID]*fleet.Registered{}}
	pasts := map[int64]*fleet.Registry{}
	var holds []fleet.Hold
	for g := range int64(generations) {
		id := fleet.DeviceIDOf([32]byte{byte(g)})
		current.Devices[id] = &fleet.Registered{Device: fleet.Device{ID: id}}
		pasts[g] = &fleet.Registry{Generation: g, Devices: current.Devices}
		holds = append(holds, fleet.Hold{Device: id, Generation: g})
	}
	e := New(Options{Store: admitted{admission: fleet.NewAdmission(current, holds, pasts)}, Daemon: unasked{}})
	made := func(current *fleet.Registry) (all []*generation) {
		for _, h := range holds {
			v, err := e.generationOf(t.Context(), h.Device, current)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, v)
		}
		return all
	}
	if !slices.Equal(made(current), made(current)) {
		t.Error("they were made again")
	}
	next := *current
	next.Generation++
	made(&next)
	if len(e.generations) != generations {
		t.Errorf("%d are kept of %d generations", len(e.generations), generations)
	}
}

type admitted struct {
	Store
	admission *fleet.Admission
}

func (a admitted) Admission(context.Context) (*fleet.Admission, error) { return a.admission, nil }

type unasked struct{ Daemon }

func (unasked) Known(fleet.DeviceID) Known { return Known{} }
