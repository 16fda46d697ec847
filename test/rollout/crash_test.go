package rollout_test

import (
	"testing"

	"muster/internal/engine/rollout"
	"muster/internal/fleet"
	"muster/internal/stsim"
	"muster/test/server"
)

// killed makes a world whose server kills itself at a step of the rollout of a template, and starts another one there.
func killed(t *testing.T, step, key, text string) *world {
	t.Helper()
	w := newWorld(t, 12, server.Options{KillAt: step})
	w.TemplateUntilKilled("merge", key, text, "all")
	w.WaitEnd()
	w.restart()
	return w
}

func TestARolloutGoesOnWhereMusterWasKilled(t *testing.T) {
	t.Parallel()
	for _, step := range []string{
		rollout.StepBeforeSettle, rollout.StepAfterSettle, rollout.StepBeforeStart,
		rollout.StepBeforeAdmit + "1", rollout.StepAfterAdmit + "1", rollout.StepBeforeAdmit + "2", rollout.StepAfterAdmit +
			"2",
		rollout.StepBeforeAdmit + "3", rollout.StepAfterAdmit + "3", rollout.StepBeforeEnd, rollout.StepAfterEnd,
	} {
		t.Run(step, func(t *testing.T) {
			w := killed(t, step, "options", `{"maxFolderConcurrency": 3}`)
			w.comesTo(fleet.RolloutSucceeded)
			w.inSync(w.farm.Daemons()...)
			everyOne(t, w.farm.Daemons(), "configured by exactly one write", func(d *stsim.Daemon) bool {
				return option(d, "maxFolderConcurrency") == "3" && d.Counters().Writes == 1
			})
			if r := w.newest(); r.ID != 1 || len(r.Waves) != 3 {
				t.Errorf("got %+v: want the one rollout to go on", r.Rollout)
			}
		})
	}
}

func TestARolloutThatWasToHaltHaltsAlthoughMusterWasKilled(t *testing.T) {
	t.Parallel()
	for _, step := range []string{rollout.StepBeforeHalt, rollout.StepAfterHalt} {
		t.Run(step, func(t *testing.T) {
			w := killed(t, step, "folders.new", broken)
			w.comesTo(fleet.RolloutHalted)
			if touched := w.written(); len(touched) != 1 {
				t.Errorf("%d daemons were written to", len(touched))
			}
		})
	}
}

func TestAnUndoneRolloutIsUndoneAlthoughMusterWasKilled(t *testing.T) {
	t.Parallel()
	for _, step := range []string{rollout.StepBeforeUndo, rollout.StepAfterUndo} {
		t.Run(step, func(t *testing.T) {
			w := newWorld(t, 12, server.Options{KillAt: step})
			w.template("folders.new", broken)
			w.comesTo(fleet.RolloutHalted)
			if _, err := w.undo(1); err == nil {
				t.Fatal("the server was to be killed")
			}
			w.WaitEnd()
			w.restart()
			if step == rollout.StepBeforeUndo {
				w.comesTo(fleet.RolloutHalted)
				w.steer(w.undo, 1)
			}
			w.isUndone(1)
			w.inSync(w.farm.Daemons()...)
			everyOne(t, w.farm.Daemons(), "without the folder", func(d *stsim.Daemon) bool { return folderPath(d) == "" })
			if touched := w.written(); len(touched) != 1 || touched[0].Counters().Writes != 2 {
				t.Errorf("%d daemons were written to, want one, once there and once back", len(touched))
			}
		})
	}
}
