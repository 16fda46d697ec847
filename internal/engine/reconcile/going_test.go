package reconcile

import (
	"testing"
	"time"

	"muster/internal/fleet"
)

// TestTwoDevicesDoNotGiveUpCopiesOfAFolderAtOnce covers two plans that were made before either was sent: each counts
// the copy of the other.
func TestTwoDevicesDoNotGiveUpCopiesOfAFolderAtOnce(t *testing.T) {
	g := goingLosses{losses: map[fleet.DeviceID]reservation{}}
	now := time.Unix(0, 0)
	of := func(id fleet.DeviceID) []fleet.CopyLoss { return []fleet.CopyLoss{{Folder: "docs", Device: id}} }
	seen := g.count()
	if !g.reserve(first, of(first), seen, now) {
		t.Error("the first waits")
	}
	if g.reserve(second, of(second), seen, now) {
		t.Error("the second goes by a plan that does not know of the first")
	}
	if losses := g.of("docs", second, now); len(losses) != 1 || losses[0].Device != first {
		t.Errorf("the next plan of the second knows of %v", losses)
	}
	if losses := g.of("docs", first, now); len(losses) != 0 {
		t.Errorf("the first knows of its own loss: %v", losses)
	}
	if !g.reserve(second, of(second), g.count(), now) {
		t.Error("the second waits although its plan knows of the first")
	}
	other := []fleet.CopyLoss{{Folder: "other", Device: third}}
	if !g.reserve(third, other, seen, now) || !g.reserve(third, nil, seen, now) {
		t.Error("a loss in another folder waits")
	}
	if losses := g.of("docs", third, now.Add(goingTime)); len(losses) != 0 {
		t.Errorf("after a while it still knows of %v", losses)
	}
}
