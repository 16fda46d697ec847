package health

import (
	"time"

	"muster/internal/fleet"
)

// IsYoung reports whether a device has something that becomes trouble if it lasts: its absence, the state of a folder
// or a finding of one. Trouble of which nobody is to be told does not count.
func (f *Folders) IsYoung(s *fleet.Snapshot, now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if isAway(s) {
		return !f.off[fleet.WaitUnreachable] && now.Before(f.missedAt(s))
	}
	book := f.devices[s.Device]
	if book == nil {
		return false
	}
	if book.home != nil && !book.home.trouble && !f.off[book.home.cause] {
		return true
	}
	for _, record := range book.folders {
		if cause, is := troubleStates[record.state]; is && !record.trouble && !f.off[cause] {
			return true
		}
		for _, one := range record.besides() {
			if !one.trouble && !f.off[one.cause] {
				return true
			}
		}
	}
	return false
}
