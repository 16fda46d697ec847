package app

import (
	"testing"

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
