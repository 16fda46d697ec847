package reconcile_test

import (
	"testing"

	"muster/internal/engine/reconcile"
	"muster/internal/fleet"
)

// failsOnEdit is a program that fails as soon as a person has set options.maxSendKbps to 7.
const failsOnEdit = `def template(config):
    if config.options.maxSendKbps == 7:
        fail("seven is too slow")
    return {"maxRecvKbps": 5}`

var onEdit = tmpl(2, fleet.OpMerge, "options", failsOnEdit)

// wantUnplannable is that health says that no plan can be made, and that a rollout is told.
func (b *bench) wantUnplannable() {
	b.t.Helper()
	b.wantState(fleet.ConfigFailed, "seven is too slow")
	if last := b.engine.LastPass(b.id); last.Failed == "" || last.Observed == "" {
		b.t.Errorf("the last pass does not say that it failed: %+v", last)
	}
}

// A person edits the daemon during an attempt, and a program fails on that. The plan from before the edit was reported
// in place of the failure: the device was pending for ever, and its rollout waited until its time was over.
func TestAProgramThatFailsOnAnEditDuringAnAttemptFailsTheDevice(t *testing.T) {
	for step, writes := range map[string]int{reconcile.StepAfterIntent: 0, reconcile.StepBeforeVerify: 1} {
		t.Run(step, func(t *testing.T) {
			in(t, func(t *testing.T) {
				b := newBench(t, onEdit)
				b.step = func(name string) {
					if name == step {
						b.daemon.edit("options.maxSendKbps", "7")
					}
				}
				b.start()
				defer b.stop()
				b.wantWrites(writes)
				b.wantUnplannable()
				b.step = nil
				b.daemon.edit("options.maxSendKbps", "0")
				b.seen()
				b.want("options.maxRecvKbps", "5")
				b.wantState(fleet.ConfigInSync, "")
			})
		})
	}
}

// A person has set back already what a template asks for no more: there is nothing to write, and the edit is found
// when the base is to be recorded.
func TestAProgramThatFailsOnAnEditBeforeTheBaseIsRecordedFailsTheDevice(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t, noNAT, onEdit)
		b.start()
		defer b.stop()
		b.wantState(fleet.ConfigInSync, "")
		b.daemon.edit("options.natEnabled", "true")
		if _, err := b.daemon.Config(t.Context(), b.id); err != nil {
			t.Fatal(err)
		}
		b.daemon.edit("options.maxSendKbps", "7")
		b.changed(onEdit)
		b.wantUnplannable()
	})
}
