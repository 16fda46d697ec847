package mirror

import (
	"testing"
	"time"

	"muster/internal/fleet"
)

// A device whose record another program wrote is neither viewed for nor dialled, nor are its API keys tried.
func TestAnAlteredDeviceIsNotContacted(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		asked := 0
		w.set(func() { w.daemons[id(1)] = newFake(1) })
		w.resolveWith(func(fleet.Device) (Found, error) {
			asked++
			return Found{Host: "192.0.2.1"}, nil
		})
		altered := device(1)
		altered.Altered = true
		w.m.Put(altered, false)
		pass(10 * time.Minute)
		s := w.wantConnection(altered.ID, fleet.Unconfirmed)
		if s.Reason != fleet.AlteredReason || s.Next != fleet.AlteredNext(altered.ID) {
			t.Errorf("got %q, %q", s.Reason, s.Next)
		}
		err := w.m.TryAccess(t.Context(), &altered, altered.Access())
		if len(w.dialled()) > 0 || asked > 0 || fleet.CodeOf(err) != fleet.CodeUnconfirmed {
			t.Errorf("dialled %d times, viewed for %d times; trying its access: %v", len(w.dialled()), asked, err)
		}
		altered.Altered = false
		w.m.Put(altered, false)
		pass(time.Minute)
		if len(w.dialled()) == 0 {
			t.Error("it is not contacted once it is proven")
		}
	})
}
