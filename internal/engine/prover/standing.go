package prover

import (
	"time"

	"muster/internal/core/copies"
	"muster/internal/fleet"
)

// standing is what is known now of the copy of a folder on one device.
type standing struct {
	device  fleet.DeviceID
	tags    []fleet.Tag
	last    copies.Last
	kept    []fleet.DeviceID // devices that had, when they were read last, all that this one had when it was read last
	answers bool

	isEncrypted bool
	isPlain     bool // It is known that the copy is not encrypted.
	isMet       bool // Muster had contact with the device since the start of the server.
	isChanged   bool // By events, the device has something else than when it was read last.
	isBroken    bool // The folder's path may be missing: its daemon cannot go on, or its agent does not find it.
	isEmpty     bool
}

// isCopy reports whether what was proven of the device's copy still counts.
func (s *standing) isCopy() bool {
	return s.isPlain && !s.isBroken && !s.isChanged && (s.last.IsRead || !s.isMet)
}

// standings are the copies of a folder on all devices that have it now. Devices that were revoked have none.
type standings struct {
	readAt time.Time // beginning of the last round
	all    []*standing
	by     map[fleet.DeviceID]*standing
}

// standings compares the report of the last round with what events told since.
func (p *Prover) standings(folder string, report Report, devices []fleet.DeviceID, registry *fleet.Registry) standings {
	reported := make(map[fleet.DeviceID]Copy, len(report.Copies))
	for _, c := range report.Copies {
		reported[c.Device] = c
	}
	all := standings{readAt: report.ReadAt, by: make(map[fleet.DeviceID]*standing, len(devices))}
	for _, id := range devices {
		snapshot := p.o.Snapshot(id)
		if registry.IsRevoked(id) || snapshot == nil {
			continue
		}
		c := reported[id]
		s := &standing{device: id, tags: registry.Devices[id].Tags, last: c.last, kept: c.Elsewhere.Kept,
			answers: snapshot.Answers()}
		s.seeConfiguration(snapshot, folder)
		if summary, isKnown := snapshot.Summaries[folder]; isKnown {
			s.seeSummary(summary)
		}
		all.by[id] = s
		all.all = append(all.all, s)
	}
	return all
}

func (s *standing) seeConfiguration(snapshot *fleet.Snapshot, folder string) {
	share, isKnown := snapshot.Share(folder)
	s.isMet, s.isBroken = snapshot.Shares != nil, snapshot.Disks.Folder(folder).DriveMissing()
	s.isEncrypted = share.Type == fleet.ReceiveEncrypted
	s.isPlain = isKnown && !s.isEncrypted || !s.isMet && s.last.IsPlain
}

// seeSummary compares what events told of the folder with the last reading. Events may be older than the reading. A
// summary that began later is of a folder that was taken away and added again.
func (s *standing) seeSummary(is fleet.FolderSummary) {
	at := s.last.Asked
	s.isChanged = is.Sequence > s.last.Sequence || is.Sequence < s.last.Sequence && is.UpdatedAt.After(at) ||
		is.CreatedAt.After(at)
	s.isBroken = s.isBroken || is.State == fleet.FolderInError || is.Error != ""
	s.isEmpty = is.Sequence == 0 && is.State == "idle" && !is.Unscanned() && !is.InError() &&
		is.LocalFiles+is.LocalDirectories+is.LocalSymlinks == 0
}

// owners returns the devices whose data has to be elsewhere. Encrypted copies have data of their own only where nobody
// else has the folder.
func (all standings) owners() (owners []*standing) {
	var encrypted []*standing
	for _, s := range all.all {
		if s.isEncrypted {
			encrypted = append(encrypted, s)
		} else if !s.isEmpty {
			owners = append(owners, s)
		}
	}
	if len(encrypted) == len(all.all) {
		return encrypted
	}
	return owners
}

// sure returns what the devices count that are proven to have all that a device has now. It is one of them itself.
func (all standings) sure(s *standing, policy fleet.CopyPolicy) int {
	if !s.last.IsRead || s.isChanged {
		return all.count(s, nil, policy, (*standing).isCopy)
	}
	return all.count(s, s.kept, policy, (*standing).isCopy)
}

// atRound is sure at the beginning of the last round; 0 for a device that was not read in it.
func (all standings) atRound(s *standing, policy fleet.CopyPolicy) int {
	isRead := func(s *standing) bool { return !s.last.Asked.Before(all.readAt) }
	if !isRead(s) {
		return 0
	}
	return all.count(s, s.kept, policy, func(other *standing) bool {
		return other.isCopy() || other.isPlain && !other.isBroken && isRead(other)
	})
}

// possible returns what the devices count that may have what a device has.
func (all standings) possible(s *standing, policy fleet.CopyPolicy) int {
	others := make([]fleet.DeviceID, len(all.all))
	for i, other := range all.all {
		others[i] = other.device
	}
	return all.count(s, others, policy, func(other *standing) bool { return !other.isEncrypted })
}

// count returns what a device and those of others count that are copies. It counts no further than to what a policy
// asks for.
func (all standings) count(s *standing, others []fleet.DeviceID, policy fleet.CopyPolicy, isCopy func(*standing) bool,
) int {
	var have []fleet.DeviceID
	if !s.isEncrypted {
		have = append(have, s.device)
	}
	tagsOf := func(id fleet.DeviceID) []fleet.Tag { return all.by[id].tags }
	next := policy.AtLeast
	for _, id := range others {
		if len(have) >= next {
			if counts := policy.Counts(have, tagsOf); counts >= policy.AtLeast {
				return counts
			}
			next = 2 * len(have)
		}
		if other := all.by[id]; other != nil && other != s && isCopy(other) {
			have = append(have, id)
		}
	}
	return policy.Counts(have, tagsOf)
}
