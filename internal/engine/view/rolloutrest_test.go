package view

import (
	"errors"
	"slices"
	"testing"

	"muster/internal/core/plan"
	"muster/internal/fleet"
)

// A rollout listed devices and texts of templates, and nobody saw what its devices still get.
func TestWhatDevicesStillGetIsSaidInSentences(t *testing.T) {
	label := func(name string) fleet.DeviceID { return sentenceDevices[name] }
	registry := registryOf(label("nas"), label("berlin-1"), label("berlin-2"), label("oslo"))
	for name := range sentenceDevices {
		if device := registry.Devices[label(name)]; device != nil {
			device.Label = name
		}
	}
	rollout := fleet.Rollout{Status: fleet.RolloutRunning, Members: []fleet.RolloutMember{
		{Device: label("nas"), State: fleet.MemberGood}, {Device: label("berlin-1"), State: fleet.MemberAdmitted},
		{Device: label("berlin-2"), State: fleet.MemberLater}, {Device: label("oslo"), State: fleet.MemberAbsent},
		{Device: label("stranger"), State: fleet.MemberLater}}}
	var asked []fleet.DeviceID
	planned := func(devices []fleet.DeviceID, each EachPlan) error {
		asked = devices
		for _, id := range devices {
			if id != label("oslo") { // Its configuration was never read.
				each(id, []plan.Change{madeChange(t, plan.Change{Class: plan.Free}, "options.natEnabled", "true", "false")}, nil)
			}
		}
		return nil
	}
	rest, err := RestOf(registry, rollout, planned)
	if err != nil || rest.Devices != 3 || slices.Contains(asked, label("nas")) {
		t.Fatalf("got %+v, %v, asked %v", rest, err, asked)
	}
	var got []string
	for _, sentence := range rest.Summary.Sentences {
		got = append(got, sentence.Text)
	}
	want := []string{"oslo was never read: what would change there is not known",
		"options.natEnabled becomes false instead of true on 2 devices"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	rollout.Status = fleet.RolloutSucceeded
	rest, err = RestOf(registry, rollout, planned)
	if err != nil || rest.Devices+len(rest.Summary.Sentences)+len(asked) != 0 {
		t.Errorf("of a rollout that is over got %+v, %v, asked %v", rest, err, asked)
	}
	gone := errors.New("gone")
	if _, err = RestOf(registry, rollout, func([]fleet.DeviceID, EachPlan) error { return gone }); !errors.Is(err, gone) {
		t.Errorf("got %v", err)
	}
}
