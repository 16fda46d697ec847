package prover

import (
	"context"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"muster/internal/fleet"
)

// policed is a prover with policies, and the devices that it told of.
type policed struct {
	*Prover
	*daemons
	told     []fleet.DeviceID
	shares   []fleet.SharedFolder
	registry *fleet.Registry
	policies []fleet.CopyPolicy
	listed   int // how often it was asked which devices have a folder
}

// runPoliced starts a server over what is stored. a has the tag site:berlin, b has site:paris. How a device that is
// away shares its folders is not stored.
func runPoliced(t *testing.T, d *daemons, kept Kept, policies string) (p *policed, stop func()) {
	t.Helper()
	parsed, err := fleet.ParseCopyPolicies(policies)
	if err != nil {
		t.Fatal(err)
	}
	registry := &fleet.Registry{Devices: map[fleet.DeviceID]*fleet.Registered{},
		Revocations: map[fleet.DeviceID]fleet.Revocation{}}
	for id, tag := range map[fleet.DeviceID]fleet.Tag{a: "site:berlin", b: "site:paris"} {
		device := &fleet.Registered{}
		device.ID, device.Tags = id, []fleet.Tag{tag}
		registry.Devices[id] = device
	}
	shares := d.snapshot[a].Shares
	for _, snapshot := range d.snapshot {
		if snapshot.Connection != fleet.Online {
			snapshot.Shares = nil
		}
	}
	p = &policed{daemons: d, shares: shares, registry: registry, policies: parsed}
	p.Prover = New(Options{Daemons: d, Snapshot: func(id fleet.DeviceID) *fleet.Snapshot {
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.snapshot[id]
	}, Devices: p.devicesWith, Kept: kept, Policies: func() []fleet.CopyPolicy {
		p.daemons.mu.Lock()
		defer p.daemons.mu.Unlock()
		return p.policies
	},
		Registry: func() *fleet.Registry { return registry },
		Told:     func(id fleet.DeviceID) { p.told = append(p.told, id) }})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- p.Run(ctx) }()
	return p, func() {
		cancel()
		<-done
	}
}

func (p *policed) devicesWith(_ context.Context, folder string) (with []fleet.DeviceID, err error) {
	p.daemons.mu.Lock()
	defer p.daemons.mu.Unlock()
	p.listed++
	for _, id := range slices.Sorted(maps.Keys(p.registry.Devices)) {
		if s := p.snapshot[id]; s != nil && slices.Contains(s.Folders, fleet.FolderLabel{Folder: folder}) {
			with = append(with, id)
		}
	}
	return with, nil
}

// goes has a device go away or come back.
func (p *policed) goes(id fleet.DeviceID, connection fleet.Connection) {
	p.daemons.mu.Lock()
	defer p.daemons.mu.Unlock()
	newer := *p.snapshot[id]
	newer.Connection = connection
	if connection == fleet.Online {
		newer.Shares = p.shares
	}
	p.snapshot[id] = &newer
}

func (p *policed) setSequence(to int64) {
	p.daemons.mu.Lock()
	defer p.daemons.mu.Unlock()
	p.sequence = to
}

// want compares which devices have data that is on too few devices.
func (p *policed) want(t *testing.T, when string, short ...fleet.DeviceID) {
	t.Helper()
	for _, id := range []fleet.DeviceID{a, b} {
		if got, is := p.Shortage(id, "docs"); is != slices.Contains(short, id) {
			t.Errorf("%s: %s is short: %t, %+v", when, id.Short(), is, got)
		}
	}
}

func TestDataThatIsOnTooFewDevicesIsAtRiskAfterItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, kept := newDaemons(), &memory{}
		p, stop := runPoliced(t, d, kept, "docs=2 across site:* within 15m")
		if !p.MayBeShort(a, "docs") {
			t.Error("before anything is judged all is said to be well")
		}
		after(30 * time.Minute) // It is read twice: the index must be known for a while.
		p.want(t, "at the beginning")
		if p.MayBeShort(a, "docs") || p.requests() == 0 {
			t.Errorf("after %d requests it is not clear that nothing is short", p.requests())
		}
		p.goes(b, fleet.Unreachable)
		after(3 * time.Hour)
		p.want(t, "a copy that is away")

		stop()
		p, stop = runPoliced(t, d, kept, "docs=2 across site:* within 15m")
		after(3 * time.Hour)
		p.want(t, "after a start of the server, with what is stored")

		p.setSequence(6)
		p.daemons.tell(p.Prover, a, atRest(6))
		after(10 * time.Minute)
		p.want(t, "for ten minutes")
		if !p.MayBeShort(a, "docs") {
			t.Error("it is said that nothing may be short")
		}
		after(10 * time.Minute)
		p.want(t, "for twenty minutes", a)
		got, _ := p.Shortage(a, "docs")
		if got.Counts != 1 || got.Reason() == "" || !slices.Equal(p.told, []fleet.DeviceID{a}) {
			t.Errorf("%+v, told of %v", got, p.told)
		}
		p.goes(b, fleet.Online)
		p.daemons.tell(p.Prover, b, atRest(6))
		after(10 * time.Minute)
		p.want(t, "after the other device has it")
		if !slices.Equal(p.told, []fleet.DeviceID{a, a}) {
			t.Errorf("told of %v", p.told)
		}
		stop()
	})
}

// A device that is alone since the start of the server, with a copy that was never proven elsewhere.
func TestAnOnlyCopyIsAtRisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDaemons()
		d.snapshot[b].Connection, d.snapshot[a].Connected = fleet.Unreachable, fleet.Peers{}
		p, stop := runPoliced(t, d, nil, "tag:site:berlin=2")
		after(time.Hour)
		p.want(t, "alone", a)
		if !p.MayBeShort(b, "docs") {
			t.Error("something is known of a device that was never read")
		}
		requests := p.requests()
		after(24 * time.Hour)
		if hourly := (p.requests() - requests) / 24; hourly > 12*3 {
			t.Errorf("%d requests an hour", hourly)
		}
		stop()
	})
}

// An encrypted copy is counted apart.
func TestAnEncryptedCopyIsNoneOfThoseThatAPolicyAsksFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDaemons()
		d.snapshot[b].Shares[0].Type = fleet.ReceiveEncrypted
		p, stop := runPoliced(t, d, nil, "docs=2")
		after(time.Hour)
		p.want(t, "one copy is encrypted", a)
		stop()
	})
}

// Folders at rest cost one reading an hour.
func TestAPolicyCostsLittleAtRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDaemons()
		p, stop := runPoliced(t, d, nil, "docs=2")
		after(3 * time.Hour)
		requests, compared := p.requests(), d.compared
		after(24 * time.Hour)
		if hourly := (p.requests() - requests) / 24; hourly > 6 || hourly == 0 || d.compared > compared {
			t.Errorf("%d requests an hour, %d comparisons in a day", hourly, d.compared-compared)
		}
		stop()
	})
}
