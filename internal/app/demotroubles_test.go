package app

import (
	"testing"

	"muster/internal/stsim"
)

func TestADemoHasFoldersInTrouble(t *testing.T) {
	for devices, want := range map[int]bool{demoWithTroubles - 1: false, demoWithTroubles: true} {
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
		lacking := 0
		for _, d := range farm.Daemons() {
			for _, id := range d.FolderIDs() {
				numbers, err := d.Summary(id)
				if err != nil {
					t.Fatal(err)
				}
				states[numbers.State]++
				if numbers.Lacks() {
					lacking++
				}
			}
		}
		if got := states["error"] == 3 && states["syncing"] == 2 && states[""] == 1 && lacking == 7; got != want {
			t.Errorf("%d devices: states %v, %d folders lack something", devices, states, lacking)
		}
	}
}
