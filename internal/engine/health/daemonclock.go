package health

import (
	"time"

	"muster/internal/fleet"
)

// maxClockDifference is how far a daemon's clock may be from Muster's so that its times are believed.
const maxClockDifference = time.Minute

// beganBefore returns the time, by the daemon's clock, at which a folder came into its present state before Muster
// connected. It returns zero when the daemon does not report it, or when its clock is not plausible.
func (f *FolderFacts) beganBefore(state fleet.FolderState) time.Time {
	if !f.isDaemonsState(state) {
		return time.Time{}
	}
	changed := f.summary().StateChanged
	started, known := startOf(f.Snapshot.Status)
	if !known || changed.Before(started) || changed.After(f.Now) {
		return time.Time{}
	}
	return changed
}

// isDaemonsState reports whether the daemon has the folder in a state of its own that is the same. Only then the
// daemon's time is that of the state. A folder that lacks something is syncing for Muster, whatever its daemon does.
func (f *FolderFacts) isDaemonsState(state fleet.FolderState) bool {
	own := f.summary().State
	switch state {
	case fleet.FolderStopped:
		return own == fleet.FolderInError
	case fleet.FolderSyncing:
		return syncStates[own]
	case fleet.FolderScanning:
		return scanStates[own]
	default: // A daemon comes to rest after each scan: that says nothing of when a folder came to stand as it does.
		return false
	}
}

// startOf returns the start time of a daemon. known is false when the daemon's clock differs from Muster's.
func startOf(s *fleet.Status) (started time.Time, known bool) {
	if s == nil {
		return started, false
	}
	started, err := time.Parse(time.RFC3339Nano, s.StartTime)
	if err != nil || s.Uptime < 0 || s.Uptime > int64(time.Hour/time.Second)*24*365*10 {
		return started, false
	}
	differs := s.UpdatedAt.Sub(started.Add(time.Duration(s.Uptime) * time.Second)).Abs()
	return started, differs <= maxClockDifference
}
