package change

import (
	"testing"

	"muster/internal/fleet"
)

// A program of a part that reads the vars of all devices would show those of devices outside.
func TestACallerOfAPartBringsNoProgramThatReadsDevicesOutside(t *testing.T) {
	mine, out := fleet.DeviceIDOf([32]byte{1}), fleet.DeviceIDOf([32]byte{2})
	reads := fleet.Inputs{Known: true, Devices: true, Peers: true}
	template := func(id int64, text string, reads fleet.Inputs, tag fleet.Tag) fleet.TaggedTemplate {
		return fleet.TaggedTemplate{Template: fleet.Template{ID: id, Text: text, Reads: reads}, Tags: []fleet.Tag{tag}}
	}
	registry := func(tags []fleet.Tag, templates ...fleet.TaggedTemplate) *fleet.Registry {
		return &fleet.Registry{Templates: templates, Devices: map[fleet.DeviceID]*fleet.Registered{
			mine: {Device: fleet.Device{ID: mine}, Tags: tags},
			out:  {Device: fleet.Device{ID: out}, Tags: []fleet.Tag{"hub"}}}}
	}
	part := []fleet.Tag{"mine"}
	for name, test := range map[string]struct {
		now, then *fleet.Registry
		want      bool
	}{
		"a new one":               {registry(part), registry(part, template(1, "a", reads, "mine")), true},
		"a new one without a tag": {registry(part), registry(part, template(1, "a", reads, "nobody")), true},
		"another text": {
			registry(part, template(1, "a", reads, "mine")),
			registry(part, template(1, "b", reads, "mine")),
			true,
		},
		"a tag of the others": {
			registry(part, template(1, "a", reads, "hub")),
			registry([]fleet.Tag{"hub", "mine"}, template(1, "a", reads, "hub")),
			true,
		},
		"as it was": {
			registry(part, template(1, "a", reads, "mine")),
			registry(part, template(1, "a", reads, "mine")),
			false,
		},
		"one outside, as it was": {
			registry(part, template(1, "a", reads, "hub")),
			registry(part, template(1, "a", reads, "hub")),
			false,
		},
		"one that reads facts alone": {
			registry(part),
			registry(part, template(1, "a", fleet.Inputs{Known: true, Devices: true}, "mine")),
			false,
		},
		"a tag that changes no value": {
			registry(part, template(1, "a", reads, "hub")),
			registry([]fleet.Tag{"mine", "x"}, template(1, "a", reads, "hub")),
			false,
		},
	} {
		j := judgement{now: test.now, then: test.then, scope: fleet.ScopeOf(part)}
		if got := j.readsPeersAnew(test.then); got != test.want {
			t.Errorf("%s: got %t, want %t", name, got, test.want)
		}
	}
}
