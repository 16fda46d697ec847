package prover

import (
	"maps"
	"slices"
	"time"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

const (
	judgedEvery = 10 * time.Second
	readEvery   = time.Hour // A folder with a policy is read so often though nothing is known to have changed.

	// MaxPolicyFolders is how many folders policies watch: the first by ID.
	MaxPolicyFolders = 500
)

// place is the data of a device in a folder.
type place struct {
	folder string
	device fleet.DeviceID
}

// risks are what policies miss.
type risks struct {
	isJudged bool // The policies were judged since the start of the server.
	// late are what a person is to be told of.
	late map[place]fleet.CopyShortage
	// unclear are short, but not for too long yet, or their device was not read since the start of the server.
	unclear map[place]bool
}

// Shortage returns what a policy misses of a device's data in a folder, once a person is to be told.
func (p *Prover) Shortage(device fleet.DeviceID, folder string) (fleet.CopyShortage, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	short, is := p.risks.late[place{folder, device}]
	return short, is
}

// MayBeShort reports whether a policy may miss something of a device's data although Shortage does not say so: it is
// short for a while only, or was not judged since the start of the server.
func (p *Prover) MayBeShort(device fleet.DeviceID, folder string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.o.Policies != nil && !p.risks.isJudged || p.risks.unclear[place{folder, device}]
}

// judge has policies judged every few seconds.
type judge struct {
	*schedule
	at    time.Time
	since map[shortKey]time.Time // The data of a device is on too few devices since then.
}

type shortKey struct {
	place
	policy string
}

// wait returns how long it is until the policies are judged again.
func (j *judge) wait() time.Duration {
	if j.o.Policies == nil {
		return readEvery
	}
	return max(0, judgedEvery-j.o.Now().Sub(j.at))
}

// judge compares what is proven with the policies. It has folders read of which too little is known.
func (j *judge) judge() {
	if j.o.Policies == nil || j.wait() > 0 {
		return
	}
	registry := j.o.Registry()
	if j.at = j.o.Now(); registry == nil {
		return
	}
	now, since := risks{true, map[place]fleet.CopyShortage{}, map[place]bool{}}, map[shortKey]time.Time{}
	for folder, policies := range j.watched(registry) {
		j.judgeFolder(folder, policies, registry, &now, since)
	}
	j.since = since
	j.tell(now)
}

// judgeFolder adds what the policies of a folder miss.
func (j *judge) judgeFolder(folder string, policies []fleet.CopyPolicy, registry *fleet.Registry, now *risks,
	since map[shortKey]time.Time) {
	report := j.reportOf(folder)
	isShort := false
	for _, policy := range policies {
		for device, counts := range j.counts(folder, report, policy, registry) {
			at := place{folder, device}
			key := shortKey{at, policy.String()}
			switch {
			case counts == notRead:
				now.unclear[at] = true
				continue
			case counts >= policy.AtLeast:
				continue
			}
			isShort = true
			if since[key] = j.since[key]; since[key].IsZero() {
				since[key] = j.at
			}
			if !policy.IsLate(since[key], j.at) {
				now.unclear[at] = true
			} else if _, isTold := now.late[at]; !isTold {
				now.late[at] = fleet.CopyShortage{Policy: policy, Counts: counts, Since: since[key]}
			}
		}
	}
	j.ask(folder, report, isShort)
}

// watched returns the policies of each folder that has some.
func (j *judge) watched(registry *fleet.Registry) map[string][]fleet.CopyPolicy {
	watched := map[string][]fleet.CopyPolicy{}
	for _, policy := range j.o.Policies() {
		for folder := range j.foldersOf(policy, registry) {
			watched[folder] = append(watched[folder], policy)
		}
	}
	if len(watched) > MaxPolicyFolders {
		j.o.Log.Warn("policies of copies are about too many folders", logkey.Count, len(watched),
			logkey.Limit, MaxPolicyFolders)
		for _, folder := range slices.Sorted(maps.Keys(watched))[MaxPolicyFolders:] {
			delete(watched, folder)
		}
	}
	return watched
}

func (j *judge) foldersOf(policy fleet.CopyPolicy, registry *fleet.Registry) map[string]bool {
	if policy.Tag == "" {
		return map[string]bool{policy.Folder: true}
	}
	folders := map[string]bool{}
	for id, device := range registry.Devices {
		snapshot := j.o.Snapshot(id)
		if snapshot == nil || !slices.Contains(device.Tags, policy.Tag) {
			continue
		}
		for _, folder := range snapshot.Folders {
			folders[folder.Folder] = true
		}
	}
	return folders
}

// reportOf returns the report of the last round of a folder; zero: there was none since the start of the server.
func (j *judge) reportOf(folder string) Report {
	j.mu.Lock()
	f := j.folders[folder]
	j.mu.Unlock()
	if f == nil {
		return Report{}
	}
	return f.latest()
}

// notRead is the count of a device that was not read since the start of the server: nothing is known of its data.
const notRead = -1

// counts returns for each device what the devices count that have its data. It is one of them itself. Encrypted copies
// do not count.
func (j *judge) counts(folder string, report Report, policy fleet.CopyPolicy, registry *fleet.Registry,
) map[fleet.DeviceID]int {
	tagsOf := func(id fleet.DeviceID) []fleet.Tag {
		if device := registry.Devices[id]; device != nil {
			return device.Tags
		}
		return nil
	}
	isEncrypted := func(id fleet.DeviceID) bool {
		return slices.ContainsFunc(report.Copies, func(c Copy) bool { return c.Device == id && c.Encrypted })
	}
	now := j.signs(folder, report.devices())
	all := map[fleet.DeviceID]int{}
	for i, c := range report.Copies {
		switch {
		case registry.Devices[c.Device] == nil || c.Encrypted || c.Elsewhere.State == NoData:
			continue
		case !c.isRead:
			all[c.Device] = notRead
			continue
		}
		have := []fleet.DeviceID{c.Device}
		if !now[i].answers || now[i].sequence == report.signs[i].sequence {
			have = slices.DeleteFunc(append(have, c.Elsewhere.Kept...), isEncrypted)
		}
		all[c.Device] = policy.Counts(have, tagsOf)
	}
	return all
}

// ask has a folder read that is short of copies, or was not read for long. It is read at most once in five minutes.
func (j *judge) ask(folder string, report Report, isShort bool) {
	isOld := j.at.Sub(report.ReadAt) >= readEvery
	if at, isDue := j.due[folder]; !isShort && !isOld || isDue && !at.IsZero() {
		return
	}
	j.due[folder], j.policy[folder] = j.at, true
}

// tell replaces what people are told of.
func (j *judge) tell(now risks) {
	j.mu.Lock()
	before := j.risks
	j.risks = now
	j.mu.Unlock()
	told := map[fleet.DeviceID]bool{}
	for at, is := range now.late {
		if was, isKnown := before.late[at]; !isKnown || was != is {
			told[at.device] = true
		}
	}
	for at := range before.late {
		if _, still := now.late[at]; !still {
			told[at.device] = true
		}
	}
	for device := range told {
		j.o.Told(device)
	}
}
