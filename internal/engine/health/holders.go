package health

import (
	"time"

	"muster/internal/fleet"
)

// Holders names connected devices that are known to have all of a folder, and so what the device of the snapshot lacks
// of it: at most `most` of those that picks accepts. It names none where nothing is missing, or where what is missing
// is not known.
func (f *Folders) Holders(s *fleet.Snapshot, folder string, now time.Time, most int,
	picks func(fleet.DeviceID) bool) (holders []fleet.DeviceID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	facts := f.facts(s, &folderRecord{folder: folder}, now)
	if isUnknown(&facts) || !facts.summary().Lacks() {
		return nil
	}
	for peer := range s.Sharers(folder) {
		if len(holders) == most {
			break
		}
		if facts.holds(peer) && picks(peer) {
			holders = append(holders, peer)
		}
	}
	return holders
}
