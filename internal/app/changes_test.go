package app

import (
	"testing"
	"time"

	"muster/internal/engine/revocation"
	"muster/internal/fleet"
)

// A device reports one write in several steps, and every step was counted and published on its own.
func TestWhatADeviceDoesMeanwhileIsHandedOnOnce(t *testing.T) {
	c := newChanges()
	c.device("a", fleet.ConnectionChanged)
	c.device("a", 0)
	c.device("a", fleet.PlanChanged)
	c.configStored("a")
	c.device("b", 0)
	c.commit(fleet.Committed{Registry: true, Devices: map[fleet.DeviceID]bool{"a": true}})
	c.commit(fleet.Committed{Admitted: []fleet.DeviceID{"b"}})
	<-c.some
	committed, devices := c.takeCommitted(), c.takeDevices()
	want := deviceChange{aspect: fleet.ConnectionChanged | fleet.PlanChanged, configStored: true}
	if len(devices) != 2 || devices["a"] != want || devices["b"] != (deviceChange{}) {
		t.Errorf("devices %+v", devices)
	}
	if !committed.Registry || !committed.Devices["a"] || len(committed.Admitted) != 1 {
		t.Errorf("committed %+v", committed)
	}
	if committed, devices := c.takeCommitted(), c.takeDevices(); !committed.Empty() || len(devices) > 0 {
		t.Errorf("handed on twice: %+v %+v", committed, devices)
	}
	select {
	case <-c.some:
		t.Error("something waits although all was taken")
	default:
	}
}

// TestARevokedDeviceIsSeenInEachSnapshot: also in a snapshot that was replaced when somebody asked. The rest of the
// snapshots is not kept, however many there are.
func TestARevokedDeviceIsSeenInEachSnapshot(t *testing.T) {
	lost, home, desk := idOf(1), idOf(2), idOf(3)
	a := &App{changes: newChanges()}
	tell := func(id fleet.DeviceID, peers ...fleet.DeviceID) {
		a.snapshotChanged(&fleet.Snapshot{Device: id, ConfiguredPeers: fleet.PeersOf(peers)}, fleet.ConfigChanged)
	}
	tell(home, lost)
	if seen := a.changes.takeSeen(); len(seen) > 0 {
		t.Errorf("nothing is revoked, and %v is kept", seen)
	}
	a.changes.lookFor(map[fleet.DeviceID]fleet.Revocation{lost: {Device: lost}})
	tell(lost, lost)
	var newest time.Time
	for range 1000 {
		tell(home, home, lost)
		newest = time.Now()
		tell(home, home)
		tell(desk, desk, home)
	}
	seen := a.changes.takeSeen()
	at, is := seen[revocation.Pair{Revoked: lost, Device: home}]
	if len(seen) != 1 || !is || at.After(newest) {
		t.Errorf("seen are %v, newest %s", seen, newest)
	}
	if again := a.changes.takeSeen(); len(again) > 0 {
		t.Errorf("told twice: %v", again)
	}
}

func idOf(n byte) fleet.DeviceID { return fleet.DeviceIDOf([32]byte{n}) }
