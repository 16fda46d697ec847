package rollout_test

import (
	"testing"

	"muster/internal/fleet"
	"muster/internal/stsim"
	"muster/test/server"
	"muster/test/wait"
)

// The removal of a folder on 30 devices and its undo took up to twenty answers, and a member stayed held although its
// device was in sync. One answer is enough, and the undo needs none: devices that were reached get the folder again,
// also one that was away.
func TestARemovalOnThirtyDevicesAndItsUndoTakeOneAnswer(t *testing.T) {
	t.Parallel()
	for name, undone := range map[string]fleet.RolloutStatus{"while it runs": fleet.RolloutRunning,
		"afterwards": fleet.RolloutSucceeded} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 30, server.Options{Waves: "1,rest"})
			w.template("folders.new", good)
			w.comesTo(fleet.RolloutSucceeded)
			w.Template("remove", "folders.new", "true", "all")
			wait.Until(t, func() string {
				if w.newest().ID == 2 {
					return ""
				}
				return "no second rollout yet"
			})
			w.consents("folders.new")
			w.reaches(2)
			if undone == fleet.RolloutSucceeded {
				w.comesTo(undone)
			}
			w.undoChanges(2, isFolder, w.farm.Daemons()...) // What is on its way while the undo is given waits for an answer.
			away := w.farm.Daemon(3)
			away.Stop()
			w.WaitConnection(away.ID(), fleet.Unreachable)
			w.steer(w.undo, 2)
			w.isUndone(2)
			if err := away.Start(); err != nil {
				t.Fatal(err)
			}
			w.inSync(w.farm.Daemons()...)
			everyOne(t, w.farm.Daemons(), "with the folder", func(d *stsim.Daemon) bool { return folderPath(d) == "~/new" })
			if waiting, err := w.Client.Consents(t.Context()); err != nil || len(waiting) > 0 {
				t.Errorf("got %+v, %v: want nothing to wait", waiting, err)
			}
		})
	}
}
