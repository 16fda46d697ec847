package reconcile_test

import (
	"strings"
	"testing"
	"time"

	"muster/internal/fleet"
)

// TestARevokedDeviceIsRemovedHoweverOftenItComesBack covers a person who adds a revoked device again and again: after
// the third time it was contended, and stayed.
func TestARevokedDeviceIsRemovedHoweverOftenItComesBack(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t)
		b.daemon.edit("devices."+string(nora), `{"deviceID": "`+string(nora)+`", "name": "hers"}`)
		b.start()
		defer b.stop()
		b.seen()
		b.changed(tmpl(1, fleet.OpRemove, "devices", `["`+string(nora)+`"]`))
		b.wantState(fleet.ConfigHeld, "")
		if _, _, err := b.engine.Apply(t.Context(), b.id, b.plan().Digest, []string{"devices." + string(nora)},
			nil); err != nil {
			t.Fatal(err)
		}
		b.want("devices."+string(nora), "absent")
		for range 6 {
			b.daemon.edit("devices."+string(nora), `{"deviceID": "`+string(nora)+`", "name": "again"}`)
			b.seen()
			b.later(time.Minute)
			b.want("devices."+string(nora), "absent")
		}
		if s := b.state(); s.Configuration != fleet.ConfigFailed ||
			!strings.Contains(s.Reason, "was revoked, and somebody at the daemon brings it back again and again") {
			t.Errorf("it is not told: %+v", s)
		}
		b.later(2 * time.Hour)
		b.wantState(fleet.ConfigInSync, "")
	})
}
