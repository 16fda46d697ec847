package rollout_test

import (
	"testing"

	"muster/internal/fleet"
	"muster/internal/stsim"
	"muster/test/server"
)

// Deleting a tag that stopped Muster lets nothing out that the tag's templates asked for: the devices are rolled out
// to having no such templates.
func TestDeletingATagThatObservesWritesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 14, server.Options{})
	if err := w.Client.PutTagMode(t.Context(), "prod", string(fleet.ModeObserve)); err != nil {
		t.Fatal(err)
	}
	w.Template("merge", "options", `{"maxSendKbps": 5}`, "prod")
	for _, d := range w.farm.Daemons() {
		if _, err := w.Client.TagDevice(t.Context(), string(d.ID()), "prod"); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range w.farm.Daemons() {
		w.WaitConfiguration(d.ID(), fleet.ConfigPending)
	}
	w.reset()
	if _, err := w.Client.DeleteTag(t.Context(), "prod"); err != nil {
		t.Fatal(err)
	}
	for _, d := range w.farm.Daemons() {
		w.WaitConfiguration(d.ID(), fleet.ConfigUnmanaged)
	}
	everyOne(t, w.farm.Daemons(), "left alone", func(d *stsim.Daemon) bool {
		return d.Counters().Writes == 0 &&
			option(d, "maxSendKbps") == "0"
	})
}
