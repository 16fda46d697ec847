package health

import (
	"testing"
	"time"

	"muster/internal/fleet"
)

// policed is what a policy misses of the folder f on device A.
type policed struct {
	short   *fleet.CopyShortage
	unclear bool
}

func (p *policed) Shortage(device fleet.DeviceID, folder string) (short fleet.CopyShortage, is bool) {
	if p.short == nil || device != deviceA || folder != "f" {
		return short, false
	}
	return *p.short, true
}

func (p *policed) MayBeShort(fleet.DeviceID, string) bool { return p.unclear }

func TestDataOnTooFewDevicesIsTroubleAtOnceAndTheFolderIsUpToDate(t *testing.T) {
	f := newFleet(online(deviceA, deviceB), online(deviceB, deviceA))
	copies := &policed{}
	f.SetCopies(copies)
	f.take()
	f.waitsFor(t, "while nothing is short", "")
	since := f.now.Add(-time.Hour)
	copies.short = &fleet.CopyShortage{Policy: fleet.CopyPolicy{Folder: "f", AtLeast: 2}, Counts: 1, Since: since}
	f.put(f.snapshots[deviceA])
	f.waitsFor(t, "when it is short", "1 of 2 devices", fleet.WaitAtRisk)
	if got := f.Troubles(deviceA)[0].Since; !got.Equal(since) {
		t.Errorf("it is short since %s, want %s", got, since)
	}
	if state, _ := f.State(deviceA, "f"); state != fleet.FolderUpToDate {
		t.Errorf("got the state %s", state)
	}
	copies.short, copies.unclear = nil, true
	f.put(f.snapshots[deviceA])
	f.waitsFor(t, "when nothing is known of it", "")
	f.isUnclear(t, "when nothing is known of it", "f", fleet.WaitAtRisk, true)
	copies.unclear = false
	f.isUnclear(t, "when it is not short", "f", fleet.WaitAtRisk, false)
}
