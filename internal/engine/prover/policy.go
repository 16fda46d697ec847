package prover

import (
	"time"

	"muster/internal/fleet"
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
	isJudged bool // The policies were judged since the start of the server, and are known.
	// late are what a person is to be told of.
	late map[place]fleet.CopyShortage
	// unclear are short, but not for too long yet, or their device was not read since the start of the server.
	unclear map[place]bool
	// unjudged are the folders with a policy that too many devices have, with the number of these devices.
	unjudged map[string]int
	leftOut  int    // folders with a policy that are not watched, because there are too many
	last     string // The watched folders end here by ID; "": all are watched.
}

// Shortage returns what a policy misses of a device's data in a folder, once a person is to be told.
func (p *Prover) Shortage(device fleet.DeviceID, folder string) (fleet.CopyShortage, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	short, is := p.risks.late[place{folder, device}]
	return short, is
}

// MayBeShort reports whether a policy may miss something of a device's data although Shortage does not say so: it is
// short for a while only, was not judged since the start of the server, or cannot be judged.
func (p *Prover) MayBeShort(device fleet.DeviceID, folder string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	is := p.risks
	return p.o.Policies != nil && !is.isJudged || is.unclear[place{folder, device}] || is.unjudged[folder] > 0 ||
		is.last != "" && folder > is.last
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
	registry, policies := j.o.Registry(), j.o.Policies()
	if j.at = j.o.Now(); registry == nil || policies == nil {
		j.keepTold()
		return
	}
	now := risks{isJudged: true, late: map[place]fleet.CopyShortage{}, unclear: map[place]bool{},
		unjudged: map[string]int{}}
	since := map[shortKey]time.Time{}
	for folder, w := range j.watched(policies, registry, &now) {
		report := j.reportOf(folder)
		if len(w.devices) > MaxDevices {
			now.unjudged[folder] = len(w.devices)
			continue
		}
		isShort := j.judgeFolder(folder, w.policies, j.standings(folder, report, w.devices, registry), &now, since)
		j.ask(folder, report, w.devices, isShort)
	}
	j.since = since
	j.tell(now)
}

// judgeFolder adds what the policies of a folder miss, and reports whether they miss something.
func (j *judge) judgeFolder(folder string, policies []fleet.CopyPolicy, all standings, now *risks,
	since map[shortKey]time.Time) (isShort bool) {
	for _, policy := range policies {
		for _, s := range all.owners() {
			counts := all.sure(s, policy)
			if counts >= policy.AtLeast {
				continue
			}
			isShort = true
			at := place{folder, s.device}
			key := shortKey{at, policy.String()}
			begin, isKnown := j.shortSince(j.since[key], s, all, policy)
			if isKnown {
				since[key] = begin
			}
			if !isKnown || !policy.IsLate(begin, j.at) {
				now.unclear[at] = true
			} else if _, isTold := now.late[at]; !isTold {
				now.late[at] = fleet.CopyShortage{Policy: policy, Counts: counts, Since: begin}
			}
		}
	}
	return isShort
}

// shortSince returns since when too few devices are known to have the data of a device. It is not known of a device
// that is away and was not read since the start of the server. One that answers has an hour until it is read.
func (j *judge) shortSince(before time.Time, s *standing, all standings, policy fleet.CopyPolicy) (since time.Time,
	isKnown bool) {
	isEnough := func(counts int) bool { return counts >= policy.AtLeast }
	mayBeProven := !s.last.IsRead && isEnough(all.possible(s, policy))
	switch {
	case !before.IsZero() && (mayBeProven || !before.After(j.at)):
		since = before
	case !mayBeProven:
		since = j.at
	case s.answers:
		since = j.at.Add(readEvery)
	default:
		return since, false
	}
	if all.readAt.After(since) && isEnough(all.atRound(s, policy)) { // It became short after the last round.
		since = all.readAt
	}
	return since, true
}

// reportOf returns the report of the last round of a folder; zero: there was none since the start of the server.
func (p *Prover) reportOf(folder string) Report {
	p.mu.Lock()
	f := p.folders[folder]
	p.mu.Unlock()
	if f == nil {
		return Report{}
	}
	return f.latest()
}

// ask has a folder read that is short of copies, or was not read for long. It is read at most once in
// five minutes. A folder that fewer than two devices have cannot be proven.
func (j *judge) ask(folder string, report Report, devices []fleet.DeviceID, isShort bool) {
	if len(devices) < 2 {
		return
	}
	at, isDue := j.due[folder]
	isOld := j.at.Sub(report.ReadAt) >= readEvery
	if isDue && !at.IsZero() || !isShort && !isOld {
		return
	}
	j.due[folder], j.policy[folder] = j.at, true
}

// keepTold leaves what people are told of as it is, and says of everything else that it may be short.
func (j *judge) keepTold() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.risks.isJudged = false
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
