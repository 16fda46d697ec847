package store

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"muster/internal/fleet"
)

// who lists who set each stop, and in which second.
func who(stops []fleet.ModeStop) (out []string) {
	for _, stop := range stops {
		out = append(out, stop.By+stop.Since.UTC().Format(" 05"))
	}
	return out
}

func TestAStopKnowsSinceWhenAndByWhom(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		var second atomic.Int64
		at := func(n int64) { second.Store(n) }
		options.Now = func() time.Time { return time.Date(2030, 1, 1, 0, 0, int(second.Load()), 0, time.UTC) }
		s := open(t, options)
		id := put(t, s, deviceN(7)).ID
		as := func(name string) context.Context { return fleet.WithActor(t.Context(), name) }
		set := func(name string, n int64, scope fleet.ModeScope, mode fleet.Mode) {
			at(n)
			must(s.SwitchMode(as(name), scope, mode))(t)
		}
		set("anna", 1, fleet.ModeScope{Tag: "site"}, fleet.ModeObserve)
		set("bert", 2, fleet.ModeScope{}, fleet.ModePaused)
		set("bert", 3, fleet.ModeScope{Device: id}, fleet.ModeObserve)
		at(4)
		settings := fleet.DeviceSettings{Mode: fleet.ModeObserve, AllowPlain: true}
		must(s.PutDeviceSettings(as("carl"), id, settings, nil))(t) // another setting: the stop stays bert's
		set("dora", 5, fleet.ModeScope{}, fleet.ModePaused)         // once more: it is in force since 2
		set("dora", 6, fleet.ModeScope{Tag: "gone"}, fleet.ModeObserve)
		set("dora", 7, fleet.ModeScope{Tag: "gone"}, fleet.ModeOn)

		same := func(want ...string) {
			t.Helper()
			stops := must(s.Registry(t.Context()))(t).ModeStops()
			for i, stop := range stops {
				stops[i] = s.DatedStop(t.Context(), stop)
			}
			if got := who(stops); !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		}
		want := []string{"bert 02", "anna 01", "bert 03"}
		same(want...)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = open(t, options)
		same(want...)
		set("emil", 8, fleet.ModeScope{}, fleet.ModeObserve)
		same("emil 08", "anna 01", "bert 03")
	})
}
