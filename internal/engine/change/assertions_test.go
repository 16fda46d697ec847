package change

import (
	"testing"

	"muster/internal/fleet"
)

// Who sees a part of the fleet is told that a device outside is in the way, and not which.
func TestARefusalDoesNotNameDevicesOutsideOfAScope(t *testing.T) {
	hidden := &fleet.Registered{Device: fleet.Device{ID: "A", Label: "hidden"}}
	r := &fleet.Registry{Devices: map[fleet.DeviceID]*fleet.Registered{"A": hidden}}
	j := judgement{now: r, then: r, scope: fleet.ScopeOf([]fleet.Tag{"mine"})}
	b := fleet.BrokenAssertion{Source: "repo", Name: "limit", Device: "A", Key: "options.a", Expected: "1", Got: "2"}
	if text := j.brokenText(b); text != `source "repo": limit: a device outside of the token's tags` {
		t.Errorf("got %s", text)
	}
}

// The holder of an enrol key is told of the device that it registers, and of no other.
func TestARefusalOfAnEnrolKeyNamesOnlyItsDevice(t *testing.T) {
	then := &fleet.Registry{Devices: map[fleet.DeviceID]*fleet.Registered{
		"A": {Device: fleet.Device{ID: "A", Label: "hidden"}}, "B": {Device: fleet.Device{ID: "B", Label: "own"}}}}
	j := judgement{then: then,
		edit: fleet.Edit{Enroll: &fleet.Enrollment{Device: fleet.Device{ID: "B"}, KeyHash: "hash"}}}
	for device, want := range map[fleet.DeviceID]string{
		"A": `source "repo": limit: another device`,
		"B": `source "repo": limit: own: options.a: expected 1, got 2`,
	} {
		b := fleet.BrokenAssertion{Source: "repo", Name: "limit", Device: device, Key: "options.a", Expected: "1", Got: "2"}
		if text := j.brokenText(b); text != want {
			t.Errorf("got %s, want %s", text, want)
		}
	}
}

func TestNewTemplatesWithoutTagsApplyToNothing(t *testing.T) {
	untagged, tagged := []fleet.TaggedTemplate{{}}, []fleet.TaggedTemplate{{Tags: []fleet.Tag{"x"}}}
	for name, test := range map[string]struct {
		edit fleet.Edit
		want bool
	}{
		"untagged":        {fleet.Edit{New: untagged}, true},
		"tagged":          {fleet.Edit{New: tagged}, false},
		"with a deletion": {fleet.Edit{New: untagged, Deleted: []int64{1}}, false},
		"with assertions": {fleet.Edit{New: untagged, Files: fleet.FilesChange{Tests: []fleet.Assertion{{}}}}, false},
		"nothing":         {fleet.Edit{}, false},
	} {
		if got := (&judgement{edit: test.edit}).appliesToNothing(); got != test.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}
