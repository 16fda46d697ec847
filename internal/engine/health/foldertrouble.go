package health

import (
	"cmp"
	"time"

	"muster/internal/fleet"
)

// quietAfter returns how long a device may be unreachable before that is trouble.
func (f *Folders) quietAfter(id fleet.DeviceID) time.Duration {
	if f.registry != nil {
		if set := f.registry.QuietAfter(id); set > 0 {
			return set
		}
	}
	return cmp.Or(f.windows.Quiet, f.windows.Trouble)
}

// isTrouble reports whether a person should look at a folder. Trouble stays trouble while its device is unreachable.
func (f *Folders) isTrouble(facts FolderFacts, r *folderRecord) bool {
	state := r.state
	if state == fleet.FolderUnknown {
		state = r.last
		if state == fleet.FolderAlone { // it is away now, and nobody knows to whom it is connected
			return false
		}
	}
	cause, is := troubleStates[state]
	if !is || f.off[cause] || facts.Now.Sub(time.UnixMilli(r.since)) < f.windows.Trouble {
		return false
	}
	return state != fleet.FolderAlone || f.missesTooLong(facts)
}

// missesTooLong reports whether a sharer of the folder has been unreachable for longer than allowed.
func (f *Folders) missesTooLong(facts FolderFacts) bool {
	for peer := range facts.Snapshot.Sharers(facts.Folder) {
		other := facts.Peer(peer)
		if other == nil || other.Connection == fleet.Online ||
			facts.Now.Sub(other.LastSeen) >= f.quietAfter(peer) {
			return true
		}
	}
	return false
}

// folderDue returns when the state or the trouble of a folder changes by time alone, zero for never.
func (f *Folders) folderDue(facts FolderFacts, r *folderRecord) (due time.Time) {
	earlier := func(at time.Time) {
		if at.After(facts.Now) && (due.IsZero() || at.Before(due)) {
			due = at
		}
	}
	if _, is := troubleStates[r.state]; is && !r.trouble {
		earlier(time.UnixMilli(r.since).Add(f.windows.Trouble))
	}
	if r.state == fleet.FolderUnknown && !r.trouble && r.last != fleet.FolderUnknown {
		earlier(time.UnixMilli(r.since).Add(f.windows.Trouble))
	}
	if r.state == fleet.FolderAlone && !r.trouble {
		for peer := range facts.Snapshot.Sharers(facts.Folder) {
			if other := facts.Peer(peer); other != nil && other.Connection != fleet.Online {
				earlier(other.LastSeen.Add(f.quietAfter(peer)))
			}
		}
	}
	for _, one := range r.besides() {
		if !one.trouble {
			earlier(time.UnixMilli(one.since).Add(f.windows.Trouble))
		}
		if one.cause == fleet.WaitDriveMissing || one.cause == fleet.WaitDiskNearlyFull {
			earlier(f.windows.disksUntil(facts.Snapshot))
		}
	}
	if r.motion() != nil { // A sharer's drive that is missing is not known to be missing for ever.
		for peer := range facts.Snapshot.Sharers(facts.Folder) {
			if other := facts.Peer(peer); other != nil && other.Disks.Folder(facts.Folder).DriveMissing() {
				earlier(f.windows.disksUntil(other))
			}
		}
	}
	if r.motion() != nil && r.state != fleet.FolderStalled {
		earlier(r.motion().at.Add(f.windows.Stalled))
		if facts.Rate > 0 {
			earlier(r.motion().at.Add(rateWindow + time.Second))
		}
	}
	return due
}

// IsAwayTooLong reports whether a device that Muster tried to reach has been unreachable for longer than allowed.
func (f *Folders) IsAwayTooLong(s *fleet.Snapshot, now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return isAway(s) && !f.off[fleet.WaitUnreachable] && !now.Before(f.missedAt(s))
}

// isAway reports whether nobody answers for a device. When a different daemon answers, the device waits for a
// different cause.
func isAway(s *fleet.Snapshot) bool {
	switch s.Connection {
	case fleet.Unreachable, fleet.NotFound, fleet.NeverSeen:
		return !s.NextTry.IsZero()
	case fleet.Online, fleet.KeyRefused, fleet.IdentityMismatch, fleet.PinMismatch, fleet.Unconfirmed, fleet.Cloned:
	}
	return false
}

// awaySince returns when a device was last seen. A device that was never seen is away since it was registered.
func awaySince(s *fleet.Snapshot) time.Time {
	if s.LastSeen.IsZero() {
		return s.Since
	}
	return s.LastSeen
}

// IsStale reports whether a device that Muster tried to reach was not seen for so long that the setting staleAfter
// calls it stale.
func (f *Folders) IsStale(s *fleet.Snapshot, now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	stale := f.staleAt(s)
	return isAway(s) && !stale.IsZero() && !now.Before(stale)
}

// staleAfter returns after how long a device of a registry is stale. 0 means never.
func (f *Folders) staleAfter(registry *fleet.Registry, id fleet.DeviceID) time.Duration {
	if registry == nil || registry.Devices[id] == nil {
		return 0
	}
	return fleet.StaleAfter(f.windows.Stale, registry.Devices[id].Tags)
}

// connectionDue returns when the absence of a device becomes trouble, or the device stale; zero: it does not.
func (f *Folders) connectionDue(s *fleet.Snapshot, now time.Time) (due time.Time) {
	if !isAway(s) {
		return due
	}
	for _, at := range []time.Time{f.missedAt(s), f.staleAt(s)} {
		if at.After(now) && (due.IsZero() || at.Before(due)) {
			due = at
		}
	}
	return due
}

// staleAt returns when a device becomes stale. Zero means never. It is never before its absence is trouble, so that
// after a start of Muster each device has time to be found.
func (f *Folders) staleAt(s *fleet.Snapshot) time.Time {
	after := f.staleAfter(f.registry, s.Device)
	if after == 0 {
		return time.Time{}
	}
	stale, missed := awaySince(s).Add(after), f.missedAt(s)
	if stale.Before(missed) {
		return missed
	}
	return stale
}

// missedAt returns when the absence of a device becomes trouble. After a start of Muster the time begins anew.
func (f *Folders) missedAt(s *fleet.Snapshot) time.Time {
	quiet := f.quietAfter(s.Device)
	missed, soonest := awaySince(s).Add(quiet), s.Since.Add(min(quiet, f.windows.Trouble))
	if missed.Before(soonest) {
		return soonest
	}
	return missed
}

// Troubles returns the folders of a device that a person should look at. A blank folder is the home of the daemon.
func (f *Folders) Troubles(id fleet.DeviceID) (troubles []fleet.FolderTrouble) {
	f.mu.Lock()
	defer f.mu.Unlock()
	book := f.devices[id]
	if book == nil {
		return nil
	}
	if book.home != nil && book.home.trouble {
		troubles = append(troubles, fleet.FolderTrouble{Cause: book.home.cause, Since: time.UnixMilli(book.home.since)})
	}
	for _, record := range book.folders {
		for _, one := range record.besides() {
			if one.trouble {
				troubles = append(troubles, fleet.FolderTrouble{Folder: record.folder, Cause: one.cause,
					Since: time.UnixMilli(one.since)})
			}
		}
		if !record.trouble {
			continue
		}
		state := record.state
		if state == fleet.FolderUnknown {
			state = record.last
		}
		troubles = append(troubles, fleet.FolderTrouble{Folder: record.folder, Cause: troubleStates[state],
			Since: time.UnixMilli(record.since)})
	}
	return troubles
}
