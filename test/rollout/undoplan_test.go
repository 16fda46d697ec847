package rollout_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
	"muster/internal/stsim"
	"muster/test/server"
)

// An undo answers the removals that it makes, and nothing listed them beforehand.
func TestAnUndoListsWhatItRemovesBeforeItIsGiven(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 12, server.Options{Waves: "1,rest"})
	w.template("folders.new", good)
	w.comesTo(fleet.RolloutSucceeded)
	w.inSync(w.farm.Daemons()...)
	plan, err := w.Client.PlanUndo(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, device := range plan.Devices {
		if slices.ContainsFunc(device.Changes, func(c api.PlannedChange) bool {
			return c.Key == "folders.new" && string(c.To) == "null"
		}) {
			listed = append(listed, device.DeviceID)
		}
	}
	slices.Sort(listed)
	if len(plan.Waves) > 0 || plan.Approval != "" {
		t.Errorf("got waves %v, approval %q, want none of an undo", plan.Waves, plan.Approval)
	}
	out, code := w.command("rollout", "undo", "1")
	if code != 3 || !strings.Contains(out, "folders.new") || !strings.Contains(out, "It takes what") &&
		!strings.Contains(out, "and takes what") {
		t.Errorf("an undo without an answer ended with %d: %s", code, out)
	}
	everyOne(t, w.farm.Daemons(), "with the folder", func(d *stsim.Daemon) bool { return folderPath(d) == "~/new" })
	w.Template("merge", "options.maxSendKbps", "1000")
	var old *client.Error
	if _, err := w.Client.UndoRollout(t.Context(), 1, &plan); !errors.As(err, &old) ||
		old.Status != http.StatusPreconditionFailed {
		t.Errorf("an undo of an older plan than the one that was shown: got %v, want status 412", err)
	}
	w.says("Rollout 1 is undone", "rollout", "undo", "1", "--yes")
	w.isUndone(1)
	everyOne(t, w.farm.Daemons(), "without the folder", func(d *stsim.Daemon) bool { return folderPath(d) == "" })
	var removed []string
	for _, d := range w.farm.Daemons() {
		removed = append(removed, string(d.ID()))
	}
	slices.Sort(removed)
	if !slices.Equal(listed, removed) {
		t.Errorf("it listed removals on %v, and removed the folder on %v", listed, removed)
	}
	for id, status := range map[int64]int{1: http.StatusConflict, 2: http.StatusConflict, 99: http.StatusNotFound} {
		var refused *client.Error
		if _, err := w.Client.PlanUndo(t.Context(), id); !errors.As(err, &refused) || refused.Status != status {
			t.Errorf("rollout %d: got %v, want status %d", id, err, status)
		}
	}
}
