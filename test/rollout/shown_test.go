package rollout_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"muster/api"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
	"muster/internal/stsim"
	"muster/test/server"
	"muster/test/wait"
)

// An undo released removals that nobody had been shown: on a device that was never read when the list was made, and
// one that became another change after the undo.
func TestAnUndoReleasesNoRemovalThatWasNotShown(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 12, server.Options{Waves: "1,rest"})
	known, fresh := w.farm.Daemon(2), w.farm.Daemon(3)
	fresh.Stop()
	w.must(w.Client.DeleteDevice(t.Context(), string(fresh.ID())))
	w.must(w.registerOne(fresh))
	w.WaitConnection(fresh.ID(), fleet.Unreachable)
	w.template("folders.new", good)
	w.comesTo(fleet.RolloutSucceeded)
	planned, err := w.Client.PlanUndo(t.Context(), 1)
	w.must(err)
	if shown := shownOf(planned); len(shown) != 11 || shown[removal{string(fresh.ID()), "folders.new"}] {
		t.Fatalf("the undo shows %v, want a removal on each device but %s", shown, fresh.Name())
	}
	w.must(fresh.Start())
	w.undoChanges(1, isFolder, fresh)
	observe, on := string(fleet.ModeObserve), string(fleet.ModeOn)
	_, err = w.Client.PutDeviceSettings(t.Context(), string(known.ID()), api.PutDeviceSettings{Mode: &observe})
	w.must(err)
	undone, err := w.Client.UndoRollout(t.Context(), 1, &planned)
	w.must(err)
	if len(undone.Answered) != 11 || len(undone.Waiting) != 1 || undone.Waiting[0].DeviceID != string(fresh.ID()) {
		t.Errorf("answered %v, waiting %v: want one that waits, on %s", undone.Answered, undone.Waiting, fresh.Name())
	}
	w.must(known.Edit(rescanned))
	w.sees(known)
	_, err = w.Client.PutDeviceSettings(t.Context(), string(known.ID()), api.PutDeviceSettings{Mode: &on})
	w.must(err)
	w.waits(removal{string(known.ID()), "folders.new"}, removal{string(fresh.ID()), "folders.new"})
	w.isUndone(1)
	for _, d := range w.farm.Daemons() {
		if has := folderPath(d) != ""; has != (d == fresh || d == known) {
			t.Errorf("%s has the folder: %t", d.Name(), has)
		}
	}
}

// Whatever happens between the list of an undo and the undo, what it releases was listed, and what was not waits for an
// answer.
func TestWhatAnUndoReleasesWasShown(t *testing.T) {
	t.Parallel()
	for seed := range generatedRuns() {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 12))
			away := random.Perm(12)[:random.IntN(4)]
			w := newWorld(t, 12, server.Options{Waves: "1,rest"}, away...)
			w.template("folders.new", good)
			w.comesTo(fleet.RolloutSucceeded)
			planned, err := w.Client.PlanUndo(t.Context(), 1)
			w.must(err)
			shown := shownOf(planned)
			back := away[:random.IntN(len(away)+1)]
			w.start(back...)
			w.undoChanges(1, isFolder, w.running()...)
			if random.IntN(2) == 0 {
				edited := w.running()[random.IntN(len(w.running()))]
				w.must(edited.Edit(rescanned))
				w.undoChanges(1, isEdited, edited)
				delete(shown, removal{string(edited.ID()), "folders.new"})
			}
			var want []removal
			for _, d := range w.running() {
				if one := (removal{string(d.ID()), "folders.new"}); folderPath(d) != "" && !shown[one] {
					want = append(want, one)
				}
			}
			_, err = w.Client.UndoRollout(t.Context(), 1, &planned)
			w.must(err)
			killed := random.IntN(2) == 0
			if killed {
				w.restart()
			}
			w.start(away[len(back):]...)
			w.isUndone(1)
			if killed {
				w.settles()
			} else {
				w.waits(want...)
			}
			for _, d := range w.farm.Daemons() {
				kept := slices.Contains(want, removal{string(d.ID()), "folders.new"})
				switch has := folderPath(d) != ""; {
				case has && killed: // It is not known whether a write that the kill interrupted was sent: the removal waits.
					w.WaitReason(d.ID(), string(fleet.ConfigHeld), "folders.new")
				case has != kept:
					t.Errorf("seed %d: %s has the folder: %t, want %t", seed, d.Name(), has, kept)
				}
			}
		})
	}
}

// removal is the removal of a folder from a device.
type removal struct{ device, key string }

// shownOf are the removals that the answer of an undo covers.
func shownOf(planned api.WhatIfPlan) map[removal]bool {
	shown := map[removal]bool{}
	for _, device := range planned.Devices {
		for _, change := range device.Changes {
			if change.Digest != "" {
				shown[removal{device.DeviceID, change.Key}] = true
			}
		}
	}
	return shown
}

// waits waits until exactly these removals wait for an answer, and everything else is done.
func (w *world) waits(want ...removal) {
	w.t.Helper()
	byDevice := func(a, b removal) int { return slices.Compare([]string{a.device, a.key}, []string{b.device, b.key}) }
	slices.SortFunc(want, byDevice)
	wait.Until(w.t, func() string {
		groups, err := w.Client.Consents(w.t.Context())
		if err != nil {
			return err.Error()
		}
		var got []removal
		for _, g := range groups {
			for _, c := range g.Changes {
				got = append(got, removal{c.DeviceID, c.Key})
			}
		}
		slices.SortFunc(got, byDevice)
		if slices.Equal(got, want) {
			return ""
		}
		return fmt.Sprintf("%v wait, want %v", got, want)
	})
	settled := slices.DeleteFunc(w.running(), func(d *stsim.Daemon) bool {
		return slices.ContainsFunc(want, func(r removal) bool { return r.device == string(d.ID()) })
	})
	w.inSync(settled...)
}

// settles waits until each running daemon is in sync or waits for a person.
func (w *world) settles() {
	w.t.Helper()
	for _, d := range w.running() {
		w.WaitState(d.ID(), "in sync or held", func(s api.DeviceState) bool {
			return s.Connection == string(fleet.Online) && (s.Configuration == string(fleet.ConfigInSync) ||
				s.Configuration == string(fleet.ConfigUnmanaged) || s.Configuration == string(fleet.ConfigHeld))
		})
	}
}

// sees waits until the device's plan removes the folder as a person edited it.
func (w *world) sees(d *stsim.Daemon) {
	w.t.Helper()
	wait.Until(w.t, func() string {
		planned, err := w.Client.DevicePlan(w.t.Context(), string(d.ID()))
		if err != nil {
			return err.Error()
		}
		if slices.ContainsFunc(planned.Changes, isEdited) {
			return ""
		}
		return fmt.Sprintf("the edit was not read yet: %+v", planned)
	})
}

// undoChanges waits until the undo of a rollout would make such a change on each of the daemons.
func (w *world) undoChanges(rollout int64, such func(api.PlannedChange) bool, daemons ...*stsim.Daemon) {
	w.t.Helper()
	wait.Until(w.t, func() string {
		planned, err := w.Client.PlanUndo(w.t.Context(), rollout)
		if err != nil {
			return err.Error()
		}
		for _, d := range daemons {
			if !slices.ContainsFunc(planned.Devices, func(one api.DeviceEffect) bool {
				return one.DeviceID == string(d.ID()) && slices.ContainsFunc(one.Changes, such)
			}) {
				return d.Name() + " has nothing like that to undo yet"
			}
		}
		return ""
	})
}

func isFolder(c api.PlannedChange) bool { return c.Key == "folders.new" }

// isEdited reports whether a change removes the folder as a person edited it.
func isEdited(c api.PlannedChange) bool {
	return isFolder(c) && strings.Contains(string(c.From), editedInterval)
}

const editedInterval = "4711"

// rescanned is a person's edit of the folder.
func rescanned(doc stconfig.Value) stconfig.Value {
	var folders []stconfig.Value
	for folder := range doc.Get("folders").Values() {
		if folder.Get("id").Str() == "new" {
			folder = folder.With("rescanIntervalS", stconfig.Literal(editedInterval))
		}
		folders = append(folders, folder)
	}
	return doc.With("folders", stconfig.List(folders...))
}

// running are the daemons that are not stopped.
func (w *world) running() []*stsim.Daemon {
	return slices.DeleteFunc(slices.Clone(w.farm.Daemons()), func(d *stsim.Daemon) bool { return !d.Running() })
}

func (w *world) start(daemons ...int) {
	w.t.Helper()
	for _, i := range daemons {
		w.must(w.farm.Daemon(i).Start())
	}
	for _, i := range daemons {
		w.WaitConnection(w.farm.Daemon(i).ID(), fleet.Online)
	}
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}
