package app

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"muster/internal/fleet"
	"muster/internal/stsim"
)

// No entry of the event log said that the last file in conflict is gone.
func TestTheEndOfConflictsIsLogged(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		farm, err := stsim.New(stsim.Options{Count: 2, Folders: 1, Memory: true, Port: 8384, Quiet: true})
		if err == nil {
			err = farm.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		defer farm.Close()
		d, folder := farm.Daemon(0), farm.Daemon(0).FolderIDs()[0]
		w := startedWatcher(t, home, farm)
		conflict := func() {
			t.Helper()
			if _, err := d.Conflict(folder, "plan.txt"); err != nil {
				t.Fatal(err)
			}
			later(readTime)
		}
		resolve := func() {
			t.Helper()
			if err := d.Resolve(folder); err != nil {
				t.Fatal(err)
			}
		}
		conflict()
		resolve()
		later(readTime)
		w.wantConflicts(t, d.ID(), "1", "0")
		conflict()
		if err := w.end(); err != nil {
			t.Fatal(err)
		}
		resolve() // Nobody watches.
		w = startedWatcher(t, home, farm)
		w.wantConflicts(t, d.ID(), "1", "0", "1", "0")
		if err := w.end(); err != nil {
			t.Fatal(err)
		}
	})
}

// startedWatcher starts a watcher, and lets it read everything.
func startedWatcher(t *testing.T, home string, farm *stsim.Farm) *watcher {
	t.Helper()
	w, err := startWatcher(home, farm, nil)
	if err != nil {
		t.Fatal(errors.Join(err, w.end()))
	}
	later(readTime)
	return w
}

// wantConflicts fails unless the event log has exactly these entries about conflicts of a device.
func (w *watcher) wantConflicts(t *testing.T, id fleet.DeviceID, want ...string) {
	t.Helper()
	entries, err := w.store.LogEntries(t.Context(),
		fleet.LogQuery{Devices: []fleet.DeviceID{id}, Kinds: []fleet.LogKind{fleet.LogConflict}, Oldest: true})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.State)
	}
	if !slices.Equal(got, want) {
		t.Errorf("the event log has the numbers of conflicts %q, want %q", got, want)
	}
}
