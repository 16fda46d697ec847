package rollout_test

import (
	"strings"
	"testing"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
	"muster/internal/stsim"
	"muster/test/server"
	"muster/test/wait"
)

// halted is a world in which a broken template was halted by the first device.
func halted(t *testing.T) (w *world, template int64, canary *stsim.Daemon) {
	t.Helper()
	w = newWorld(t, 14, server.Options{})
	template = w.template("folders.new", broken)
	r := w.comesTo(fleet.RolloutHalted)
	if touched := w.written(); len(touched) != 1 || string(touched[0].ID()) != r.Halt.Device {
		t.Fatalf("%d daemons were written to, halted at %s", len(touched), r.Halt.Device)
	}
	if r.Halt.Gate != string(fleet.GateFolders) || !strings.Contains(r.Halt.Saw, "new") ||
		!strings.Contains(r.Next, "`muster rollout undo 1`") {
		t.Errorf("got %+v, next %q: want the gate, what it saw and the undo", r.Halt, r.Next)
	}
	return w, template, w.written()[0]
}

func (w *world) plan(d *stsim.Daemon) api.Plan {
	w.t.Helper()
	p, err := w.Client.DevicePlan(w.t.Context(), string(d.ID()))
	if err != nil {
		w.t.Fatal(err)
	}
	return p
}

func TestAHaltedRolloutIsUndone(t *testing.T) {
	t.Parallel()
	w, template, canary := halted(t)
	w.steer(w.undo, 1)
	w.isUndone(1)
	w.inSync(w.farm.Daemons()...)
	everyOne(t, w.farm.Daemons(), "without the folder", func(d *stsim.Daemon) bool { return folderPath(d) == "" })
	if tags, err := w.Client.TemplateTags(t.Context(), template); err != nil || len(tags) > 0 {
		t.Errorf("got tags %v, %v: want templates and tags as before", tags, err)
	}
	if touched := w.written(); len(touched) != 1 || touched[0] != canary {
		t.Errorf("%d daemons were written to", len(touched))
	}
}

// The canary has the folder at the broken path by now, and a path is moved only with consent: once for everybody.
func TestAMendedTemplateSupersedesAHaltedRollout(t *testing.T) {
	t.Parallel()
	w, template, canary := halted(t)
	w.edit(template, "folders.new", good)
	wait.Until(t, func() string {
		for _, change := range w.plan(canary).Changes {
			if change.Key == "folders.new.path" && change.Class == "held" {
				return ""
			}
		}
		return "the canary's path is not held yet"
	})
	if old := w.rollout(1); old.Status != string(fleet.RolloutSuperseded) || old.SupersededBy == 0 {
		t.Errorf("got %+v", old.Rollout)
	}
	if r := w.newest(); r.Members[0].DeviceID == string(canary.ID()) {
		t.Error("the device in trouble goes first")
	}
	w.consents("folders.new.path")
	w.comesTo(fleet.RolloutSucceeded)
	everyOne(t, w.farm.Daemons(), "at the good path", func(d *stsim.Daemon) bool { return folderPath(d) == "~/new" })
}

// Deleting the template is for the only device that got it.
func TestADeletedTemplateSupersedesAHaltedRollout(t *testing.T) {
	t.Parallel()
	w, template, canary := halted(t)
	w.reset()
	if err := w.Client.DeleteTemplate(t.Context(), template); err != nil {
		t.Fatal(err)
	}
	w.comesTo(fleet.RolloutSuperseded)
	w.WaitConfiguration(canary.ID(), fleet.ConfigHeld) // a person decides about the folder
	digest := w.plan(canary).Digest
	if _, err := w.Client.ApplyPlan(t.Context(), string(canary.ID()),
		api.ApplyPlan{Digest: &digest, Consent: []string{"folders.new"}}); err != nil {
		t.Fatal(err)
	}
	w.inSync(w.farm.Daemons()...)
	everyOne(t, w.farm.Daemons(), "without the folder", func(d *stsim.Daemon) bool { return folderPath(d) == "" })
	if touched := w.written(); len(touched) != 1 {
		t.Errorf("%d daemons were written to", len(touched))
	}
	if all, err := w.Client.Rollouts(t.Context(), client.List{}); err != nil || len(all) != 1 {
		t.Errorf("got %+v, %v: one device needs no rollout", all, err)
	}
}

// A change that is about one member only takes over what was halted, and does not start it by itself.
func TestAnotherChangeDoesNotStartWhatWasHalted(t *testing.T) {
	t.Parallel()
	w, _, canary := halted(t)
	var other *stsim.Daemon
	for _, d := range w.farm.Daemons() {
		if d != canary {
			other = d
		}
	}
	w.Template("set", "options.maxFolderConcurrency", "3", "one")
	if _, err := w.Client.TagDevice(t.Context(), string(other.ID()), "one"); err != nil {
		t.Fatal(err)
	}
	r := w.comesTo(fleet.RolloutPaused)
	if !strings.Contains(r.Reason, "halted") {
		t.Errorf("got reason %q", r.Reason)
	}
	if touched := w.written(); len(touched) != 1 {
		t.Errorf("%d daemons were written to", len(touched))
	}
	// Its undo takes back both.
	w.steer(w.undo, r.ID)
	w.isUndone(r.ID)
	w.inSync(w.farm.Daemons()...)
	everyOne(t, w.farm.Daemons(), "without the folder", func(d *stsim.Daemon) bool { return folderPath(d) == "" })
}

func TestAHaltedRolloutIsResumedInSpiteOfIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 14, server.Options{})
	w.template("options", `{"maxFolderConcurrency": 3}`)
	r := w.reaches(1)
	w.steer(func(id int64) (api.RolloutDetail, error) { return w.Client.HaltRollout(t.Context(), id) }, r.ID)
	if got := w.rollout(r.ID); got.Status != string(fleet.RolloutHalted) || got.Halt == nil || got.Halt.Gate != "" ||
		got.Halt.By == "" {
		t.Errorf("got %+v", got.Rollout)
	}
	w.steer(func(id int64) (api.RolloutDetail, error) { return w.Client.ResumeRollout(t.Context(), id) }, r.ID)
	w.comesTo(fleet.RolloutSucceeded)
	everyOne(t, w.farm.Daemons(), "configured",
		func(d *stsim.Daemon) bool { return option(d, "maxFolderConcurrency") == "3" })
}
