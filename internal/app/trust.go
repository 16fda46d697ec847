package app

import (
	"fmt"
	"time"

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

const doubt = "whether the daemon or somebody on the way answered then is not known"

// certificateNotes say what a person should know about the certificate of a device that is online.
func certificateNotes(s *mirror.Snapshot, settings fleet.DeviceSettings, now time.Time) (reason, next string) {
	if settings.PinOrigin == fleet.PinFirstUse {
		reason = "its certificate was trusted on first use: " + doubt
	}
	if s.Proven.Fingerprint != settings.Pin || !s.Proven.EndsSoon(now) {
		return reason, ""
	}
	reason = joined("; ", reason, "its certificate ends on "+s.Proven.NotAfter.Format(time.DateOnly))
	return reason, fmt.Sprintf("When it starts in the month before that, Syncthing makes itself another one. Run `muster enroll` "+
		"on the daemon's machine then, or compare the fingerprint there and take it: `muster device trust %s`.", s.Device.Short())
}
