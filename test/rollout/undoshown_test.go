package rollout_test

import (
	"errors"
	"net/http"
	"slices"
	"testing"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
	"muster/internal/stsim"
	"muster/test/server"
	"muster/test/wait"
)

// An undo consented to every removal that no template asked for any more, on each device that it brought back, also to
// those that were in no list. A change that was not shown waits.
func TestAnUndoRemovesOnlyWhatWasShown(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 12, server.Options{Waves: "1,rest"})
	w.template("folders.new", good)
	w.comesTo(fleet.RolloutSucceeded)
	w.inSync(w.farm.Daemons()...)
	plan, err := w.Client.PlanUndo(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	hidden := w.farm.Daemon(1)
	for i, device := range plan.Devices {
		if len(device.Changes) != 1 || device.Changes[0].Digest == "" {
			t.Fatalf("got %+v, want one change that the undo may answer", device)
		}
		if device.DeviceID == string(hidden.ID()) {
			plan.Devices[i].Changes = []api.PlannedChange{{Digest: "of a change that the undo does not make"}}
		}
	}
	undone, err := w.Client.UndoRollout(t.Context(), 1, &plan)
	if err != nil {
		t.Fatal(err)
	}
	if len(undone.Answered) != 11 || slices.ContainsFunc(undone.Answered, isOf(hidden)) {
		t.Errorf("it answered %+v, want the eleven that were shown", undone.Answered)
	}
	if len(undone.Waiting) != 1 || !isOf(hidden)(undone.Waiting[0]) || undone.Waiting[0].Key != "folders.new" {
		t.Errorf("%+v wait, want the one that was not shown", undone.Waiting)
	}
	w.isUndone(1)
	everyOne(t, w.farm.Daemons(), "without the folder, unless it was not shown", func(d *stsim.Daemon) bool {
		return (folderPath(d) != "") == (d == hidden)
	})
	w.WaitReason(hidden.ID(), string(fleet.ConfigHeld), "folders.new")
	w.consents("folders.new")
	wait.Until(t, func() string {
		if folderPath(hidden) != "" {
			return "the folder is there although a person consented to its removal"
		}
		return ""
	})
}

func isOf(d *stsim.Daemon) func(api.AnsweredKey) bool {
	return func(one api.AnsweredKey) bool { return one.DeviceID == string(d.ID()) }
}

func TestAnUndoThatAnswersNamesThePlanThatWasShown(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 12, server.Options{Waves: "1,rest"})
	w.template("folders.new", good)
	w.comesTo(fleet.RolloutSucceeded)
	plan, err := w.Client.PlanUndo(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	plan.Generation = 0
	var refused *client.Error
	if _, err := w.Client.UndoRollout(t.Context(), 1, &plan); !errors.As(err, &refused) ||
		refused.Status != http.StatusUnprocessableEntity {
		t.Errorf("without the generation of the plan: got %v, want status 422", err)
	}
	everyOne(t, w.farm.Daemons(), "with the folder", func(d *stsim.Daemon) bool { return folderPath(d) == "~/new" })
	undone, err := w.Client.UndoRollout(t.Context(), 1, nil)
	if err != nil || len(undone.Answered) > 0 {
		t.Fatalf("got %+v, %v: an undo to which nothing was shown answers nothing", undone.Answered, err)
	}
	w.WaitReason(w.farm.Daemon(0).ID(), string(fleet.ConfigHeld), "folders.new")
}
