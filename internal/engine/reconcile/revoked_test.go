package reconcile_test

import (
	"strings"
	"testing"
	"testing/synctest"
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
		if _, _, err := b.engine.Apply(t.Context(), b.id, b.plan().Digest, consent("devices."+string(nora))); err != nil {
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
			!strings.Contains(s.Reason, "is revoked, and somebody at the daemon brings it back again and again") {
			t.Errorf("it is not told: %+v", s)
		}
		b.later(2 * time.Hour)
		b.wantState(fleet.ConfigInSync, "")
	})
}

// revoke revokes a device, or ends its revocation.
func (b *bench) revoke(id fleet.DeviceID, revoked bool) {
	b.store.mu.Lock()
	next := *b.store.registry
	next.Revocations = nil
	if revoked {
		next.Revocations = map[fleet.DeviceID]fleet.Revocation{id: {Device: id, By: "root", At: time.Now()}}
	}
	b.store.registry = &next
	b.store.mu.Unlock()
	b.engine.RegistryChanged()
	synctest.Wait()
}

// TestADeviceWithoutTemplatesDropsWhatIsRevoked: no template applies, so the daemon was not planned for at all.
func TestADeviceWithoutTemplatesDropsWhatIsRevoked(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t)
		b.daemon.edit("devices."+string(nora), `{"deviceID": "`+string(nora)+`", "name": "hers"}`)
		b.start()
		defer b.stop()
		b.seen()
		b.wantState(fleet.ConfigUnmanaged, "")
		b.revoke(nora, true)
		b.want("devices."+string(nora), "absent")
		if s := b.state(); s.BroughtBack != "" {
			t.Errorf("the first time it is told as brought back: %s", s.BroughtBack)
		}
		b.daemon.edit("devices."+string(nora), `{"deviceID": "`+string(nora)+`", "name": "again"}`)
		b.seen()
		b.want("devices."+string(nora), "absent")
		if s := b.state(); s.Configuration == fleet.ConfigFailed ||
			!strings.Contains(s.BroughtBack, "is revoked, and somebody at the daemon brought it back") {
			t.Errorf("it is not told: %+v", s)
		}
		if why := b.engine.WhyRevoked(t.Context(), b.id, nora); !strings.Contains(why, "muster revocation delete") {
			t.Errorf("a knock is not answered: %q", why)
		}
		b.revoke(nora, false)
		if s := b.state(); s.BroughtBack != "" {
			t.Errorf("the revocation is over, and told is %q", s.BroughtBack)
		}
		b.daemon.edit("devices."+string(nora), `{"deviceID": "`+string(nora)+`", "name": "again"}`)
		b.seen()
		b.want("devices."+string(nora)+".name", `"again"`)
	})
}

// TestNothingIsWrittenToARevokedDevice: templates would give more to the person who has it.
func TestNothingIsWrittenToARevokedDevice(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t)
		b.start()
		defer b.stop()
		b.seen()
		b.revoke(b.id, true)
		b.changed(tmpl(1, fleet.OpSet, "options.maxSendKbps", "77"))
		b.wantWrites(0)
	})
}
