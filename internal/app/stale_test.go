package app

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"muster/internal/fleet"
	"muster/test/wait"
)

// A machine was given away half a year ago, and nobody said so.
func TestADeviceThatWasNotSeenForLongWaitsAsStale(t *testing.T) {
	t.Parallel()
	home, id := t.TempDir(), fleet.DeviceIDOf([32]byte{7})
	a := settled(t, home)
	a.set(t, fleet.SettingTroubleAfter, "1ms")
	device := fleet.Device{ID: id, Label: "laptop", APIKey: fleet.NewSecret("key"), APIAddress: "127.0.0.1", APIPort: 1}
	edit := fleet.Edit{Put: []fleet.DevicePut{{Device: device}}}
	if _, err := a.store.ApplyEdit(t.Context(), edit, fleet.Basis{}); err != nil {
		t.Fatal(err)
	}
	seen := time.Now().Add(-200 * 24 * time.Hour)
	if err := a.store.SaveObservations(t.Context(), []fleet.Observation{{Device: id, LastSeen: seen}}); err != nil {
		t.Fatal(err)
	}
	if err := a.Stop(); err != nil {
		t.Fatal(err)
	}
	a = settled(t, home)
	waits := func(want ...fleet.WaitCause) {
		t.Helper()
		wait.Until(t, func() string {
			rows, err := a.view.Rows(t.Context(), a.registry())
			if err != nil || len(rows) != 1 {
				return fmt.Sprint(len(rows), " devices ", err)
			}
			if !slices.Equal(rows[0].Waits, want) {
				return fmt.Sprintf("it waits as %v, want %v", rows[0].Waits, want)
			}
			return ""
		})
	}
	waits(fleet.WaitUnreachable)
	a.set(t, fleet.SettingStaleAfter, "*=180d")
	waits(fleet.WaitUnreachable, fleet.WaitStale)
	a.set(t, fleet.SettingStaleAfter, "*=365d")
	waits(fleet.WaitUnreachable)
}
