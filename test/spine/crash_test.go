package spine_test

import (
	"testing"

	"muster/internal/engine/reconcile"
	"muster/internal/fleet"
	"muster/test/daemon"
	"muster/test/server"
)

// Muster is killed with SIGKILL at every step of an apply. The next start finds the intent, looks at the daemon and
// finishes; the base is kept, so that taking the template away brings back what stood there before.
func TestMusterKilledDuringAnApplyFinishesAfterwards(t *testing.T) {
	t.Parallel()
	d := daemon.Start(t, daemon.Options{TLS: true})
	for _, step := range []string{
		reconcile.StepBeforeIntent, reconcile.StepAfterIntent, reconcile.StepAfterRead, reconcile.StepBeforeWrite + "1",
		reconcile.StepAfterWrite + "1", reconcile.StepBeforeVerify, reconcile.StepBeforeOutcome,
	} {
		t.Run(step, func(t *testing.T) {
			d.Patch("/rest/config/options", `{"natEnabled": true}`)
			killed := server.Start(t, server.Options{KillAt: step})
			enroll(t, killed, d, "office")
			template := killed.TemplateUntilKilled("set", "options.natEnabled", "false", "office")
			killed.WaitEnd()

			again := server.Start(t, server.Options{Home: killed.Home})
			if template == 0 {
				t.Fatal("the template was not acknowledged before the kill")
			}
			again.WaitConfiguration(d.ID, fleet.ConfigInSync)
			if natEnabled(d) {
				t.Error("in sync, and the daemon does not have it")
			}
			if err := again.Client.DeleteTemplate(t.Context(), template); err != nil {
				t.Fatal(err)
			}
			again.WaitConfiguration(d.ID, fleet.ConfigUnmanaged)
			if !natEnabled(d) {
				t.Error("the base was lost in the crash: the daemon did not get back what it had")
			}
			again.Stop()
		})
	}
}
