package mirror

import (
	"time"

	"muster/internal/fleet"
)

// The words of this room; see fleet.
type (
	Snapshot = fleet.Snapshot
	Aspect   = fleet.Aspect
)

// SetDisks keeps what the agent of a device tells of its disks.
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

// Disks is what the agent of a device told of its disks, and until when that is known to hold; nil: it told nothing.
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
