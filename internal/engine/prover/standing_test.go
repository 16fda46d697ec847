package prover

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"muster/internal/core/copies"
	"muster/internal/fleet"
)

// drops has a device lose its folder: its configuration does not have it any more.
func (p *policed) drops(id fleet.DeviceID) {
	p.daemons.mu.Lock()
	newer := *p.snapshot[id]
	newer.Folders, newer.Shares, newer.Summaries = nil, []fleet.SharedFolder{}, nil
	p.snapshot[id] = &newer
	p.daemons.mu.Unlock()
	p.Changed(id)
}

// adds has a device have the folder again, with as many items as before.
func (p *policed) adds(id fleet.DeviceID) {
	p.daemons.mu.Lock()
	newer := *p.snapshot[id]
	newer.Folders, newer.Shares = []fleet.FolderLabel{{Folder: "docs"}}, p.shares
	is := atRest(p.sequence)
	is.CreatedAt, is.UpdatedAt = time.Now(), time.Now()
	newer.Summaries = map[string]fleet.FolderSummary{"docs": is}
	p.snapshot[id] = &newer
	p.daemons.mu.Unlock()
	p.Changed(id)
}

// policing runs a test of policies on the daemons d, and begins when the folder is proven.
func policing(t *testing.T, d *daemons, policies string, test func(*testing.T, *policed)) {
	synctest.Test(t, func(t *testing.T) {
		p, stop := runPoliced(t, d, nil, policies)
		defer stop()
		after(30 * time.Minute)
		test(t, p)
	})
}

func TestAFolderThatOneDeviceHasIsAtRisk(t *testing.T) {
	d := newDaemons()
	d.snapshot[b].Folders, d.snapshot[b].Shares = nil, []fleet.SharedFolder{}
	policing(t, d, "docs=2 within 15m; tag:site:berlin=3", func(t *testing.T, p *policed) {
		p.want(t, "one device has the folder", a)
		if got, _ := p.Shortage(a, "docs"); got.Counts != 1 || got.Policy.AtLeast != 2 {
			t.Errorf("%+v", got)
		}
		if p.MayBeShort(b, "docs") {
			t.Error("a device without the folder may be short of copies")
		}
		if listed := p.listed; listed > 0 {
			t.Errorf("it was asked %d times who has a folder that cannot be proven", listed)
		}
	})
}

func TestAFolderThatOneDeviceHasEmptyIsNotAtRisk(t *testing.T) {
	d := newDaemons()
	d.snapshot[b].Folders, d.snapshot[b].Shares = nil, []fleet.SharedFolder{}
	d.snapshot[a].Summaries = map[string]fleet.FolderSummary{"docs": atRest(0)}
	policing(t, d, "docs=2", func(t *testing.T, p *policed) { p.want(t, "the only folder is empty") })
}

func TestADeviceThatLostTheFolderCountsForNoPolicyUntilItIsProvenAgain(t *testing.T) {
	policing(t, newDaemons(), "docs=2 within 15m", func(t *testing.T, p *policed) {
		p.want(t, "both have it")
		p.drops(b)
		after(10 * time.Minute)
		p.want(t, "for ten minutes")
		if !p.MayBeShort(a, "docs") {
			t.Error("it is said that nothing may be short")
		}
		after(24 * time.Hour)
		p.want(t, "one device has it", a)
		p.adds(b)
		p.goes(b, fleet.Unreachable)
		after(24 * time.Hour)
		p.want(t, "it was added again, and nothing is proven", a, b)
		p.goes(b, fleet.Online)
		after(10 * time.Minute)
		p.want(t, "it is proven again")
	})
}

func TestADeviceThatWasDeletedOrRevokedCountsForNoPolicy(t *testing.T) {
	for name, leave := range map[string]func(*fleet.Registry){
		"deleted": func(r *fleet.Registry) { delete(r.Devices, b) },
		"revoked": func(r *fleet.Registry) { r.Revocations[b] = fleet.Revocation{Device: b} },
	} {
		t.Run(name, func(t *testing.T) {
			policing(t, newDaemons(), "docs=2 within 15m", func(t *testing.T, p *policed) {
				p.want(t, "before")
				p.daemons.mu.Lock()
				leave(p.registry)
				p.daemons.mu.Unlock()
				after(16 * time.Minute)
				p.want(t, "after", a)
			})
		})
	}
}

func TestAnEncryptedCopyThatIsAwayIsNoneOfThoseThatAPolicyAsksFor(t *testing.T) {
	d := newDaemons()
	encrypted := slices.Clone(d.snapshot[b].Shares)
	encrypted[0].Type = fleet.ReceiveEncrypted
	d.snapshot[b].Shares = encrypted
	synctest.Test(t, func(t *testing.T) {
		kept := &memory{}
		p, stop := runPoliced(t, d, kept, "docs=2 within 15m")
		after(time.Hour)
		p.want(t, "it is online", a)
		p.goes(b, fleet.Unreachable)
		after(3 * time.Hour)
		p.want(t, "it is away", a)
		stop()
		p, stop = runPoliced(t, d, kept, "docs=2 within 15m")
		after(3 * time.Hour)
		p.want(t, "it is away since before the start of the server", a)
		stop()
	})
}

// A device that Muster can reach, and cannot read, may have lost its files while the server was away.
func TestWhatIsStoredOfADeviceCountsOnlyUntilMusterMeetsIt(t *testing.T) {
	d := newDaemons()
	synctest.Test(t, func(t *testing.T) {
		kept := &memory{}
		p, stop := runPoliced(t, d, kept, "docs=2 within 15m")
		after(3 * time.Hour)
		p.want(t, "both are read")
		stop()
		d.fails = b
		p, stop = runPoliced(t, d, kept, "docs=2 within 15m")
		after(30 * time.Minute)
		p.want(t, "one cannot be read", a)
		stop()
	})
}

// A laptop that scans new files and is closed before they are proven elsewhere.
func TestDataThatWasNotReadBeforeItsDeviceWentAwayIsAtRisk(t *testing.T) {
	policing(t, newDaemons(), "docs=2 within 15m", func(t *testing.T, p *policed) {
		p.daemons.tell(p.Prover, a, atRest(6))
		p.goes(a, fleet.Unreachable)
		after(24 * time.Hour)
		p.want(t, "nobody knows what it has", a, b) // It may have deleted what b has.
	})
}

// An event that tells less than the reading is older than the reading, or the daemon's database was made anew.
func TestEventsAreComparedWithTheLastReading(t *testing.T) {
	read := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	before, later := read.Add(-time.Minute), read.Add(time.Minute)
	for name, c := range map[string]struct {
		is        fleet.FolderSummary
		isChanged bool
	}{
		"the same":         {fleet.FolderSummary{Sequence: 5, CreatedAt: before, UpdatedAt: later}, false},
		"more":             {fleet.FolderSummary{Sequence: 6, CreatedAt: before, UpdatedAt: before}, true},
		"less, and older":  {fleet.FolderSummary{Sequence: 4, CreatedAt: before, UpdatedAt: before}, false},
		"less, and later":  {fleet.FolderSummary{Sequence: 4, CreatedAt: before, UpdatedAt: later}, true},
		"of a folder anew": {fleet.FolderSummary{Sequence: 5, CreatedAt: later, UpdatedAt: later}, true},
	} {
		s := standing{last: copies.Last{Asked: read, Sequence: 5}}
		if s.seeSummary(c.is); s.isChanged != c.isChanged {
			t.Errorf("%s: changed is %t", name, s.isChanged)
		}
	}
}

// Who takes the policies out of the database behind Muster's back must not have people told that all is well.
func TestWhatIsAtRiskIsNotOverWhilePoliciesAreNotKnown(t *testing.T) {
	policing(t, newDaemons(), "docs=2 within 15m", func(t *testing.T, p *policed) {
		set := func(policies []fleet.CopyPolicy) {
			p.daemons.mu.Lock()
			defer p.daemons.mu.Unlock()
			p.policies = policies
		}
		p.drops(b)
		after(time.Hour)
		set(nil)
		after(time.Hour)
		p.want(t, "the policies are not known", a)
		if !p.MayBeShort(b, "docs") {
			t.Error("it is said that nothing may be short")
		}
		set([]fleet.CopyPolicy{})
		after(time.Minute)
		if p.want(t, "without policies"); p.MayBeShort(a, "docs") {
			t.Error("a folder without a policy may be short")
		}
	})
}

// A device whose folder is stopped may have lost its disk.
func TestADeviceThatStoppedTheFolderCountsForNoPolicy(t *testing.T) {
	policing(t, newDaemons(), "docs=2 within 15m", func(t *testing.T, p *policed) {
		p.daemons.tell(p.Prover, b, fleet.FolderSummary{State: fleet.FolderInError,
			Error: "folder path missing", Sequence: 5})
		after(16 * time.Minute)
		p.want(t, "its folder is stopped", a)
	})
}

func TestADeviceWhoseDriveIsMissingCountsForNoPolicy(t *testing.T) {
	policing(t, newDaemons(), "docs=2 within 15m", func(t *testing.T, p *policed) {
		p.daemons.mu.Lock()
		newer := *p.snapshot[b]
		newer.Disks = &fleet.DiskFacts{Folders: []fleet.FolderDisk{{Folder: "docs", Path: fleet.PresenceMissing}}}
		p.snapshot[b] = &newer
		p.daemons.mu.Unlock()
		after(16 * time.Minute)
		p.want(t, "its agent does not find the folder", a)
	})
}

// A daemon that answers everything but what a proof asks leaves its data unproven.
func TestADeviceThatCannotBeReadIsAtRiskAfterAnHour(t *testing.T) {
	d := newDaemons()
	d.restarts = true
	policing(t, d, "docs=2 within 15m", func(t *testing.T, p *policed) {
		p.want(t, "for half an hour")
		if !p.MayBeShort(a, "docs") {
			t.Error("it is said that nothing may be short")
		}
		after(time.Hour)
		p.want(t, "after 90 minutes", a, b)
	})
}

func TestAFolderThatNeverRestsIsNotAtRiskWhileItIsProvenInTime(t *testing.T) {
	policing(t, newDaemons(), "docs=2 within 15m", func(t *testing.T, p *policed) {
		for range 200 {
			p.setSequence(p.sequence + 1)
			for _, id := range []fleet.DeviceID{a, b} {
				p.daemons.tell(p.Prover, id, fleet.FolderSummary{State: "scanning", Sequence: p.sequence})
			}
			after(20 * time.Second)
			p.want(t, "while it changes all the time")
		}
	})
}

func TestAFolderThatTooManyDevicesHaveIsSaidToBeUnclear(t *testing.T) {
	d := newDaemons()
	policing(t, d, "docs=2 within 15m; photos=2", func(t *testing.T, p *policed) {
		if is := p.Impairment(); is != nil {
			t.Fatalf("%+v", is)
		}
		p.daemons.mu.Lock()
		for i := range MaxDevices - 1 {
			id := fleet.DeviceID(fmt.Sprintf("C%06d", i))
			p.registry.Devices[id] = &fleet.Registered{}
			p.snapshot[id] = &fleet.Snapshot{Device: id, Folders: p.snapshot[a].Folders}
		}
		p.daemons.mu.Unlock()
		after(24 * time.Hour)
		p.want(t, "too many have it")
		is := p.Impairment()
		if is == nil || is.Part != fleet.PartCopies || !strings.Contains(is.Reason, `the folder "docs"`) {
			t.Errorf("%+v", is)
		}
		if !p.MayBeShort(a, "docs") || p.MayBeShort(a, "photos") {
			t.Error("it is not said which folder may be short")
		}
		p.daemons.mu.Lock()
		listed := p.listed
		p.daemons.mu.Unlock()
		after(24 * time.Hour)
		if p.listed != listed {
			t.Errorf("it was asked %d times who has a folder that cannot be proven", p.listed-listed)
		}
	})
}

func TestFoldersBeyondThoseThatPoliciesWatchAreSaidToBeUnclear(t *testing.T) {
	d := newDaemons()
	d.snapshot[a].Folders = nil
	for i := range MaxPolicyFolders + 2 {
		d.snapshot[a].Folders = append(d.snapshot[a].Folders, fleet.FolderLabel{Folder: fmt.Sprintf("f%03d", i)})
	}
	policing(t, d, "tag:site:berlin=2", func(t *testing.T, p *policed) {
		is := p.Impairment()
		if is == nil || !strings.Contains(is.Reason, "2 folders are beyond the 500") {
			t.Errorf("%+v", is)
		}
		if _, isShort := p.Shortage(a, "f499"); !isShort || !p.MayBeShort(a, "f500") || p.MayBeShort(b, "f000") {
			t.Error("it is not said which folders may be short")
		}
	})
}

// hundred is a judge of a folder that as many devices have as can be proven, each of which is proven to hold all.
func hundred() *judge {
	var report Report
	registry := &fleet.Registry{Devices: map[fleet.DeviceID]*fleet.Registered{}}
	snapshots := map[fleet.DeviceID]*fleet.Snapshot{}
	for i := range MaxDevices {
		id := fleet.DeviceIDOf([32]byte{1, byte(i)})
		registry.Devices[id] = &fleet.Registered{Tags: []fleet.Tag{fleet.Tag(fmt.Sprint("site:", i))}}
		snapshots[id] = &fleet.Snapshot{Device: id, Connection: fleet.Online, Shares: []fleet.SharedFolder{{Folder: "docs"}},
			Folders: []fleet.FolderLabel{{Folder: "docs"}}}
	}
	all := slices.Sorted(maps.Keys(registry.Devices))
	for _, id := range all {
		report.Copies = append(report.Copies, Copy{Device: id, Elsewhere: Elsewhere{Kept: all},
			last: copies.Last{Asked: time.Unix(1, 0), Sequence: 5, IsRead: true, IsPlain: true}})
	}
	p := New(Options{Snapshot: func(id fleet.DeviceID) *fleet.Snapshot { return snapshots[id] },
		Policies: func() []fleet.CopyPolicy {
			return []fleet.CopyPolicy{{Folder: "docs", AtLeast: 2}, {Folder: "docs", AtLeast: 3, Across: "site:*"}}
		}, Registry: func() *fleet.Registry { return registry }, Told: func(fleet.DeviceID) {}})
	p.folder("docs").setReport(report)
	return &judge{schedule: &schedule{Prover: p, due: map[string]time.Time{}, policy: map[string]bool{}}}
}

func BenchmarkJudgingAFolderThatAHundredDevicesHave(b *testing.B) {
	j := hundred()
	for b.Loop() {
		j.at = time.Time{}
		j.judge()
	}
}
