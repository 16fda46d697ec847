package health

import (
	"time"

	"muster/internal/fleet"
)

// maxClockDifference is how far a daemon's clock may be from Muster's so that its times are believed.
const maxClockDifference = time.Minute

// beganBefore returns when the daemon came into the state of its own that a folder's state speaks of, as it says.
// Muster did not follow it then. It is zero where the daemon does not say, or its clock is not plausible.
func (f *FolderFacts) beganBefore(state fleet.FolderState) time.Time {
	switch state {
	case fleet.FolderStopped, fleet.FolderSyncing, fleet.FolderScanning:
	default: // A daemon comes to rest after each scan: that says nothing of when a folder came to stand as it does.
		return time.Time{}
	}
	changed := f.summary().StateChanged
	started, known := startOf(f.Snapshot.Status)
	if !known || changed.Before(started) || changed.After(f.Now) {
		return time.Time{}
	}
	return changed
}

// startOf returns when a daemon started, where its clock agrees with Muster's.
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
