package reconcile_test

import (
	"testing"
	"testing/synctest"

	"muster/internal/fleet"
)

// Muster asks no daemon to forget anything while it is stopped for the device.
func TestDismissRespectsTheMode(t *testing.T) {
	for mode, code := range map[fleet.Mode]fleet.Code{
		fleet.ModeOn: "", fleet.ModeObserve: fleet.CodeConflict, fleet.ModePaused: fleet.CodeConflict,
	} {
		t.Run(string(mode), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				b.store.registry.Mode = mode
				b.start()
				defer b.stop()
				err := b.engine.Dismiss(t.Context(), fleet.Pending{Device: b.id, From: fleet.DeviceID(friend)})
				if fleet.CodeOf(err) != code {
					t.Fatalf("got %v, want %q", err, code)
				}
				if dismissed := len(b.daemon.dismissed) == 1; dismissed != (code == "") {
					t.Errorf("dismissed %v", b.daemon.dismissed)
				}
			})
		})
	}
}

func TestAcceptLetsInWhatTemplatesLetBe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.start()
		defer b.stop()
		asks := fleet.Pending{Device: b.id, From: fleet.DeviceID(friend), Name: "Friend"}
		if err := b.engine.Accept(asAdmin(t), asks, "", ""); err != nil {
			t.Fatal(err)
		}
		b.want("devices."+friend+".name", `"Friend"`)
		if intents := b.store.intents; len(intents) != 1 || intents[0].Cause != fleet.CauseAccept {
			t.Errorf("intents %+v", intents)
		}
		asks = fleet.Pending{Device: b.id, From: fleet.DeviceID(friend), Folder: "new"}
		if err := b.engine.Accept(asAdmin(t), asks, "", ""); fleet.CodeOf(err) != fleet.CodeInvalid {
			t.Errorf("a folder without a path: %v", err)
		}
	})
}
