package prover

import (
	"context"
	"slices"
	"time"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

// settleTime is how long a folder that changed must be quiet before it is proven. Daemons tell of a change about two
// seconds late.
const settleTime = 3 * time.Second

// Changed tells Run that events told of a device's folders. It only sets a mark.
func (p *Prover) Changed(id fleet.DeviceID) {
	p.mu.Lock()
	p.changed[id] = true
	p.mu.Unlock()
	select {
	case p.some <- struct{}{}:
	default:
	}
}

func (p *Prover) takeChanged() map[fleet.DeviceID]bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	changed := p.changed
	p.changed = map[fleet.DeviceID]bool{}
	return changed
}

// Run proves the copies of each folder that became quiet after a change, one folder after the other, and each at most
// once in five minutes. Folders at rest cost nothing: what did not change is only compared when their device tells of
// another folder.
func (p *Prover) Run(ctx context.Context) error {
	s := schedule{Prover: p, seen: map[fleet.DeviceID]told{}, due: map[string]time.Time{},
		asked: map[string]time.Time{}, policy: map[string]bool{}}
	j := judge{schedule: &s}
	for {
		if err := s.pause(ctx, j.wait()); err != nil {
			return err
		}
		j.judge()
		for folder, isDue := s.next(); isDue && ctx.Err() == nil; folder, isDue = s.next() {
			s.prove(ctx, folder)
			j.judge()
		}
	}
}

// pause waits until an event tells of a device's folders, unless a folder is due already, and then for a second, so
// that many events are worked off together. It waits no longer than until the policies are judged again.
func (s *schedule) pause(ctx context.Context, longest time.Duration) error {
	if !s.hasTime() {
		policies := time.NewTimer(longest)
		defer policies.Stop()
		select {
		case <-s.some:
		case <-policies.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	tick := time.NewTimer(time.Second)
	defer tick.Stop()
	select {
	case <-tick.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// schedule has what Run knows of the folders that changed.
type schedule struct {
	*Prover
	seen map[fleet.DeviceID]told // Each device told this when it was last compared.
	// due are the folders that changed since they were proven, with the moment at which they are proven if they are
	// quiet; a zero time: not before another event.
	due   map[string]time.Time
	asked map[string]time.Time // beginning of the last round of a folder, of the last five minutes
	// policy are the folders that are read because of a policy, also where they are not quiet.
	policy map[string]bool
}

// told is what is compared of a device.
type told struct {
	isConfigured bool // Its configuration is known.
	folders      []fleet.FolderLabel
	summaries    map[string]fleet.FolderSummary
}

// added returns the folders that the device has and did not have before.
func (t told) added(before told) (added []string) {
	if !before.isConfigured || slices.Equal(t.folders, before.folders) {
		return nil
	}
	for _, f := range t.folders {
		if !slices.ContainsFunc(before.folders, func(b fleet.FolderLabel) bool { return b.Folder == f.Folder }) {
			added = append(added, f.Folder)
		}
	}
	return added
}

// compare finds the folders of a device that changed. A folder that is seen for the first time since the start of the
// server, or since its device was registered, has not changed.
func (s *schedule) compare(id fleet.DeviceID) {
	snapshot := s.o.Snapshot(id)
	if snapshot == nil {
		delete(s.seen, id)
		return
	}
	before, isKnown := s.seen[id]
	now := told{snapshot.Shares != nil, snapshot.Folders, snapshot.Summaries}
	s.seen[id] = now
	if !isKnown {
		return
	}
	at := s.o.Now().Add(settleTime)
	for folder, is := range snapshot.Summaries {
		was, hadBefore := before.summaries[folder]
		_, isWaiting := s.due[folder]
		hasMoved := hadBefore && (was.Sequence != is.Sequence || was.Lacks() != is.Lacks())
		if hasMoved || isWaiting && was.State != is.State {
			s.due[folder] = at
		}
	}
	for _, folder := range now.added(before) {
		s.due[folder] = at
	}
}

// hasTime reports whether a folder is proven at some time without another event.
func (s *schedule) hasTime() bool {
	for _, at := range s.due {
		if !at.IsZero() {
			return true
		}
	}
	return false
}

// next compares the devices that changed, and returns the folder that has been due for the longest time.
func (s *schedule) next() (folder string, isDue bool) {
	for id := range s.takeChanged() {
		s.compare(id)
	}
	now, first := s.o.Now(), time.Time{}
	for each, at := range s.due {
		if !at.IsZero() && !at.After(now) && (first.IsZero() || at.Before(first)) {
			folder, first = each, at
		}
	}
	return folder, !first.IsZero()
}

// prove makes the round of a folder that is due, or says when it is due again.
func (s *schedule) prove(ctx context.Context, folder string) {
	now := s.o.Now()
	for each, at := range s.asked {
		if now.Sub(at) >= proofAge {
			delete(s.asked, each)
		}
	}
	if at := s.lastRound(folder); now.Sub(at) < proofAge {
		s.due[folder] = at.Add(proofAge)
		return
	}
	devices, err := s.o.Devices(ctx, folder)
	switch {
	case err != nil:
		s.o.Log.Warn("the copies of a folder are not proven yet", logkey.Folder, folder, logkey.Err(err))
		s.due[folder] = now.Add(proofAge)
		return
	case len(devices) < 2 || len(devices) > MaxDevices:
		if s.policy[folder] {
			s.asked[folder] = now // The policy does not ask for it again at once.
		}
		delete(s.due, folder)
		delete(s.policy, folder)
		return
	case !s.policy[folder] && !s.isQuiet(folder, devices):
		s.due[folder] = time.Time{}
		return
	}
	if rest := s.restOf(devices, 0); rest > 0 {
		s.due[folder] = now.Add(rest)
		return
	}
	delete(s.due, folder)
	delete(s.policy, folder)
	s.asked[folder] = now
	if _, err := s.copies(ctx, folder, devices, question{patient: true}); err != nil && ctx.Err() == nil {
		s.o.Log.Warn("the copies of a folder are not proven", logkey.Folder, folder, logkey.Err(err))
	}
}

// lastRound returns the beginning of the last round of a folder, also of one that somebody asked for.
func (s *schedule) lastRound(folder string) time.Time {
	at := s.asked[folder]
	s.mu.Lock()
	f := s.folders[folder]
	s.mu.Unlock()
	if f != nil {
		if readAt := f.latest().ReadAt; readAt.After(at) {
			at = readAt
		}
	}
	return at
}

// isQuiet reports whether no device that can be asked scans, syncs or lacks something, by its last events.
func (s *schedule) isQuiet(folder string, devices []fleet.DeviceID) bool {
	asked := 0
	for _, id := range devices {
		snapshot := s.o.Snapshot(id)
		if snapshot == nil || !snapshot.Answers() {
			continue
		}
		summary := snapshot.Summaries[folder]
		if share, _ := snapshot.Share(folder); share.Paused {
			continue
		}
		if summary.State != "idle" || summary.Lacks() {
			return false
		}
		asked++
	}
	return asked > 1
}
