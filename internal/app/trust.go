package app

import (
	"muster/internal/fleet"
	"muster/internal/mirror"
	"muster/internal/store"
)

// trust knows the certificates that watchers saw, and keeps those that people trust.
type trust struct {
	*store.Store
	mirror *mirror.Mirror
}

func (t trust) Certificates(id fleet.DeviceID) (proven fleet.Certificate, shown fleet.Shown) {
	s := t.mirror.Snapshot(id)
	if s == nil {
		return proven, shown
	}
	return s.Proven, s.Shown
}
