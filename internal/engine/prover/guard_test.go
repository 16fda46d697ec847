package prover

import (
	"testing"
	"time"

	"muster/internal/fleet"
)

// guards compares what the guard says of the loss of a device's copy.
func (p *policed) guards(t *testing.T, when string, device fleet.DeviceID, isBad bool) fleet.CopyDecline {
	t.Helper()
	after(2 * indexAge)
	got, is := p.FolderCopies("docs").Decline(fleet.CopyLoss{Folder: "docs", Device: device})
	if is != isBad {
		t.Errorf("%s: that %s loses its copy is bad: %t, %+v", when, device.Short(), is, got)
	}
	return got
}

func TestTheGuardCountsWhatIsProven(t *testing.T) {
	policing(t, newDaemons(), "docs=2 within 15m", func(t *testing.T, p *policed) {
		if got := p.guards(t, "both have it", a, true); got.Before != 2 || got.After != 1 || got.ReadAt.IsZero() {
			t.Errorf("%+v", got)
		}
		p.drops(b)
		if got := p.guards(t, "one has it", a, true); got.Before != 1 || got.After != 0 {
			t.Errorf("%+v", got)
		}
		p.guards(t, "the other has none", b, false)
		p.daemons.mu.Lock()
		p.policies = nil
		p.daemons.mu.Unlock()
		if got := p.guards(t, "nobody knows the policies", a, true); got.Unknown == "" {
			t.Errorf("%+v", got)
		}
		p.guards(t, "nobody knows the policies, and it has none", b, false)
		p.daemons.mu.Lock()
		p.policies = []fleet.CopyPolicy{}
		p.daemons.mu.Unlock()
		p.guards(t, "no policy, and the only copy", a, true)
	})
}

func TestTheGuardCountsACopyThatIsAwayAndNoneThatChanged(t *testing.T) {
	policing(t, newDaemons(), "other=2; tag:site:paris=2", func(t *testing.T, p *policed) {
		p.goes(b, fleet.Unreachable)
		after(24 * time.Hour)
		if got := p.guards(t, "one is away", a, true); got.Policy.Tag != "site:paris" || got.Before != 2 {
			t.Errorf("%+v", got)
		}
		p.setSequence(12)
		after(time.Hour)
		p.daemons.mu.Lock()
		newer := *p.snapshot[a]
		newer.Summaries = map[string]fleet.FolderSummary{"docs": atRest(12)}
		p.snapshot[a] = &newer
		p.daemons.mu.Unlock()
		if got := p.guards(t, "it changed since", a, true); got.Before != 1 || got.After != 0 {
			t.Errorf("%+v", got)
		}
	})
}

func TestAnOrderToAllDevicesWithDataOfAPolicyIsFound(t *testing.T) {
	policing(t, newDaemons(), "docs=2 within 15m", func(t *testing.T, p *policed) {
		if got, isBad := p.Interrupts([]fleet.DeviceID{a, b}); !isBad || got.Folder != "docs" {
			t.Errorf("both: %t, %+v", isBad, got)
		}
		if got, isBad := p.Interrupts([]fleet.DeviceID{a}); isBad {
			t.Errorf("one of two: %+v", got)
		}
		p.daemons.mu.Lock()
		p.policies = []fleet.CopyPolicy{}
		p.daemons.mu.Unlock()
		if got, isBad := p.Interrupts([]fleet.DeviceID{a, b}); isBad {
			t.Errorf("without a policy: %+v", got)
		}
		p.daemons.mu.Lock()
		p.policies = nil
		p.daemons.mu.Unlock()
		if got, isBad := p.Interrupts([]fleet.DeviceID{a, b}); !isBad || got.Unknown == "" {
			t.Errorf("nobody knows the policies: %t, %+v", isBad, got)
		}
	})
}
