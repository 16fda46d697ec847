package mirror

import (
	"testing"
	"testing/synctest"
	"time"

	"muster/internal/fleet"
)

// Somebody changes the configuration and reads it back: the events of that are no reason to read it again. When
// somebody else changes it as well, or nothing is read back, it is read.
func TestWhatIsReadBackIsNotReadTwice(t *testing.T) {
	for name, test := range map[string]struct {
		do   func(t *testing.T, w *world, d fleet.DeviceID, f *fake)
		want int // readings
	}{
		"read back after the event": {func(t *testing.T, w *world, d fleet.DeviceID, f *fake) {
			f.emit(fleet.DaemonEvent{Type: "ConfigSaved"})
			synctest.Wait()
			pass(time.Millisecond)
			if _, err := w.m.ReadOver(t.Context(), d, f); err != nil {
				t.Fatal(err)
			}
		}, 1},
		"read before the event": {func(t *testing.T, w *world, d fleet.DeviceID, f *fake) {
			if _, err := w.m.ReadOver(t.Context(), d, f); err != nil {
				t.Fatal(err)
			}
			pass(time.Millisecond)
			f.emit(fleet.DaemonEvent{Type: "ConfigSaved"})
			synctest.Wait()
		}, 2},
		"never read back": {func(_ *testing.T, _ *world, _ fleet.DeviceID, f *fake) {
			f.emit(fleet.DaemonEvent{Type: "ConfigSaved"})
			synctest.Wait()
		}, 1},
		"held for too long": {func(_ *testing.T, _ *world, _ fleet.DeviceID, f *fake) {
			f.emit(fleet.DaemonEvent{Type: "ConfigSaved"})
			pass(longestHold + time.Second)
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, nil, func(t *testing.T, w *world) {
				f := newFake(1, "a")
				d := w.put(1, f)
				f.take()
				release := w.m.Hold(d)
				test.do(t, w, d, f)
				release()
				release() // twice is fine
				synctest.Wait()
				got := 0
				for _, call := range f.take() {
					if call == "config" {
						got++
					}
				}
				if got != test.want {
					t.Errorf("the configuration was read %d times, want %d", got, test.want)
				}
			})
		})
	}
}
