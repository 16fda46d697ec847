package rollout_test

import (
	"fmt"
	"testing"

	"muster/api"
	"muster/internal/fleet"
	"muster/internal/stsim"
	"muster/test/server"
	"muster/test/wait"
)

// waiting makes a change that waits for a person on some daemons, few enough at a time to be no rollout.
func (w *world) waiting(daemons ...*stsim.Daemon) {
	w.t.Helper()
	for i, d := range daemons {
		tag := fmt.Sprint("waits-", i/6)
		if _, err := w.Client.TagDevice(w.t.Context(), string(d.ID()), tag); err != nil {
			w.t.Fatal(err)
		}
		if i%6 == 0 {
			w.Template("set", "gui.user", `"somebody"`, tag)
		}
	}
	for _, d := range daemons {
		w.WaitConfiguration(d.ID(), fleet.ConfigHeld)
	}
}

// What waited for a person before a rollout is no fault of the rollout: neither in the first wave nor later.
func TestWhatWaitedBeforeARolloutDoesNotHoldItUp(t *testing.T) {
	t.Parallel()
	for name, held := range map[string]int{"in a later wave": 2, "everywhere": 12} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 12, server.Options{})
			w.waiting(w.farm.Daemons()[:held]...)
			w.template("options", `{"maxFolderConcurrency": 3}`)
			w.comesTo(fleet.RolloutSucceeded)
			everyOne(t, w.farm.Daemons(), "configured",
				func(d *stsim.Daemon) bool { return option(d, "maxFolderConcurrency") == "3" })
			for _, d := range w.farm.Daemons()[:held] {
				w.WaitConfiguration(d.ID(), fleet.ConfigHeld)
			}
		})
	}
}

// What a rollout makes wait does hold it up, also where something else waited before.
func TestWhatARolloutMakesWaitHoldsItUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 12, server.Options{})
	w.waiting(w.farm.Daemons()...)
	w.template("", `{"options": {"maxFolderConcurrency": 3}, "gui": {"insecureSkipHostcheck": true}}`)
	var canary api.RolloutMember
	wait.Until(t, func() string {
		r := w.newest()
		if len(r.Members) == 0 {
			return "no rollout yet"
		}
		if canary = r.Members[0]; canary.State != string(fleet.MemberHeld) {
			return fmt.Sprintf("the first device is %s: %s", canary.State, canary.Reason)
		}
		return ""
	})
	r := w.newest()
	if r.Wave != 1 || r.Status != string(fleet.RolloutRunning) {
		t.Fatalf("got %+v, want the first wave to wait", r.Rollout)
	}
	w.consents("gui.insecureSkipHostcheck")
	w.comesTo(fleet.RolloutSucceeded)
	everyOne(t, w.farm.Daemons(), "configured, and without the user that waits", func(d *stsim.Daemon) bool {
		gui := d.Config().Get("gui")
		return option(d, "maxFolderConcurrency") == "3" && gui.Get("insecureSkipHostcheck").IsTrue() &&
			gui.Get("user").Str() == ""
	})
}
