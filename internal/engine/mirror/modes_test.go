package mirror

import (
	"maps"
	"slices"
	"testing"

	"muster/internal/fleet"
)

func TestWatchersFollowTheModesOfTheFleetAndOfTags(t *testing.T) {
	put := map[fleet.DeviceID]bool{}
	m := New(Options{Changed: func(s *Snapshot, _ Aspect) { put[s.Device] = true }})
	registry := func(mode fleet.Mode, tags map[fleet.Tag]fleet.Mode, ofA ...fleet.Tag) *fleet.Registry {
		device := func(id fleet.DeviceID, mode fleet.Mode, tags ...fleet.Tag) *fleet.Registered {
			return &fleet.Registered{Device: fleet.Device{ID: id}, Tags: tags, Settings: fleet.DeviceSettings{Mode: mode}}
		}
		return &fleet.Registry{Mode: mode, TagModes: tags, Devices: map[fleet.DeviceID]*fleet.Registered{
			"a": device("a", fleet.ModeOn, ofA...), "b": device("b", fleet.ModeOn, "office"),
			"c": device("c", fleet.ModePaused, "office"),
		}}
	}
	away := map[fleet.Tag]fleet.Mode{"away": fleet.ModePaused}
	for id, device := range registry(fleet.ModeOn, nil).Devices {
		m.Put(*device, id == "c")
	}
	for _, step := range []struct {
		what     string
		registry *fleet.Registry
		put      []fleet.DeviceID
		paused   []fleet.DeviceID
	}{
		{"nothing pauses", registry(fleet.ModeOn, nil), nil, []fleet.DeviceID{"c"}},
		{"a tag that no device carries pauses", registry(fleet.ModeOn, away), nil, []fleet.DeviceID{"c"}},
		{"a device carries it", registry(fleet.ModeOn, away, "away"), []fleet.DeviceID{"a"}, []fleet.DeviceID{"a", "c"}},
		{"and no more", registry(fleet.ModeOn, away), []fleet.DeviceID{"a"}, []fleet.DeviceID{"c"}},
		{"and again", registry(fleet.ModeObserve, away, "away"), []fleet.DeviceID{"a"}, []fleet.DeviceID{"a", "c"}},
		{"the tag resumes", registry(fleet.ModeOn, nil, "away"), []fleet.DeviceID{"a"}, []fleet.DeviceID{"c"}},
		{"a tag observes", registry(fleet.ModeOn, map[fleet.Tag]fleet.Mode{"office": fleet.ModeObserve}), nil,
			[]fleet.DeviceID{"c"}},
		{"the fleet pauses", registry(fleet.ModePaused, nil), []fleet.DeviceID{"a", "b"}, []fleet.DeviceID{"a", "b", "c"}},
		{"the fleet resumes, a tag still pauses", registry(fleet.ModeOn,
			map[fleet.Tag]fleet.Mode{"office": fleet.ModePaused}),
			[]fleet.DeviceID{"a"}, []fleet.DeviceID{"b", "c"}},
		{"the tag resumes, too", registry(fleet.ModeOn, nil), []fleet.DeviceID{"b"}, []fleet.DeviceID{"c"}},
	} {
		clear(put)
		m.ModesChanged(step.registry)
		if got := slices.Sorted(maps.Keys(put)); !slices.Equal(got, step.put) {
			t.Errorf("%s: %v were put, want %v", step.what, got, step.put)
		}
		for id := range step.registry.Devices {
			if got := m.Paused(id); got != slices.Contains(step.paused, id) {
				t.Errorf("%s: %s is paused: %v", step.what, id, got)
			}
		}
	}
}

func TestThePausedAreWatchedAgainAfterARestart(t *testing.T) {
	m := New(Options{})
	d := fleet.Registered{Device: fleet.Device{ID: "a"}}
	m.Put(d, true) // by the fleet's mode at the start
	m.ModesChanged(&fleet.Registry{Mode: fleet.ModeOn, Devices: map[fleet.DeviceID]*fleet.Registered{"a": &d}})
	if m.Paused("a") {
		t.Error("it is still paused")
	}
}
