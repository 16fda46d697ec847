package mirror

import (
	"time"

	"muster/internal/fleet"
)

// These types are defined in fleet, because other rooms use them too.
type (
	Snapshot = fleet.Snapshot
	Aspect   = fleet.Aspect
)

// SetDisks puts into the snapshot what a device's agent reported about its disks.
func (m *Mirror) SetDisks(id fleet.DeviceID, facts *fleet.DiskFacts) {
	w := m.watcher(id)
	if w == nil || w.snapshot.Load().Disks == facts {
		return
	}
	w.update(func(s *Snapshot) Aspect {
		s.Disks = facts
		return FoldersChanged
	})
}

// Disks returns what a device's agent reported about its disks, and the last time at which that was known to be true.
// It returns nil if the agent reported nothing.
func (m *Mirror) Disks(id fleet.DeviceID) (*fleet.DiskFacts, time.Time) {
	s := m.Snapshot(id)
	if s == nil {
		return nil, time.Time{}
	}
	return s.Disks, s.DisksAsOf()
}

const (
	ConnectionChanged = fleet.ConnectionChanged
	StatusChanged     = fleet.StatusChanged
	FoldersChanged    = fleet.FoldersChanged
	ConfigChanged     = fleet.ConfigChanged
)
