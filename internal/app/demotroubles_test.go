package app

import (
	"testing"

	"muster/internal/stsim"
)

func TestADemoHasFoldersInTrouble(t *testing.T) {
	type shown struct{ stopped, syncing, paused, lacking, unshared, away int }
	for devices, want := range map[int]shown{
		demoWithTroubles - 1: {},
		demoWithTroubles:     {stopped: 5, syncing: 2, paused: 1, lacking: 7},
		demoAway + 1:         {stopped: 5, syncing: 2, paused: 1, lacking: 7, unshared: 1, away: 1},
	} {
		farm, err := stsim.New(stsim.Options{Count: devices + 1, Seed: 1, Folders: 2, Memory: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := farm.Close(); err != nil {
				t.Error(err)
			}
		})
		if err := farm.Start(); err != nil {
			t.Fatal(err)
		}
		if err := makeDemoTroubles(farm); err != nil {
			t.Fatal(err)
		}
		states := map[string]int{}
		var got shown
		for _, d := range farm.Daemons()[:devices] { // The last one asks to be accepted.
			if !d.Running() {
				got.away++
			}
			for folder := range d.Config().Get("folders").Values() {
				sharers := 0
				for range folder.Get("devices").Values() {
					sharers++
				}
				if sharers == 1 {
					got.unshared++
				}
			}
			for _, id := range d.FolderIDs() {
				numbers, err := d.Summary(id)
				if err != nil {
					t.Fatal(err)
				}
				states[numbers.State]++
				if numbers.Lacks() {
					got.lacking++
				}
			}
		}
		got.stopped, got.syncing, got.paused = states["error"], states["syncing"], states[""]
		if got != want {
			t.Errorf("a demo of %d devices shows %+v, want %+v", devices, got, want)
		}
	}
}
