package mirror

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"muster/internal/fleet"
)

// A daemon whose configuration changes faster than it is read has another one than the one that is known.
func TestAnAnnouncedConfigurationThatWaitsToBeReadIsNotTheKnownOne(t *testing.T) {
	inWorld(t, nil, func(t *testing.T, w *world) {
		f := newFake(1)
		d := w.put(1, f)
		waited := false
		for n := range 40 {
			f.change(fakeFolder{ID: "a", Note: fmt.Sprint(n)})
			f.emit(fleet.DaemonEvent{Type: "ConfigSaved"})
			synctest.Wait()
			s := w.snapshot(d)
			known, err := readFake(d, f.document())
			if err != nil {
				t.Fatal(err)
			}
			if waits := s.Digest != known.Digest; waits && s.Outdated {
				waited = true
			} else if !waits && s.Outdated {
				t.Fatalf("after edit %d the configuration that was read counts as an old one", n+1)
			}
			pass(time.Second)
		}
		if !waited {
			t.Error("no configuration had to wait")
		}
		pass(time.Minute)
		if s := w.snapshot(d); s.Outdated {
			t.Error("it is an old one for good")
		}
	})
}
