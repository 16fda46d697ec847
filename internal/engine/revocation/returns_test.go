package revocation

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"muster/internal/fleet"
)

// forAMoment puts devices into the configuration of a daemon and takes them out again. No round is between.
func (w *world) forAMoment(p *Prover, id fleet.DeviceID, devices ...fleet.DeviceID) {
	w.change(p, id, func(d *daemon) { d.peers = devices })
	w.change(p, id, func(d *daemon) { d.peers = nil })
}

func (w *world) storedReturns() []Pair {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.returns)
}

func (w *world) set(how func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	how()
}

// TestNoReturnIsLostWhenTheStoreFails: of two revocations, one is stored after the one that fails.
func TestNoReturnIsLostWhenTheStoreFails(t *testing.T) {
	in(t, func(w *world) {
		other := idOf(8)
		w.revoke(lost)
		w.revoke(other)
		p := w.run()
		w.later(time.Second)
		w.set(func() { w.refused = map[fleet.DeviceID]bool{min(lost, other): true} })
		w.forAMoment(p, home, lost, other)
		w.later(time.Second)
		w.set(func() { w.refused = nil })
		w.later(mostPause)
		for _, revoked := range only(lost, other) {
			if !slices.Contains(w.storedReturns(), Pair{revoked, home}) {
				t.Errorf("the return of %s is not stored: %v", revoked.Short(), w.storedReturns())
			}
		}
		if row := w.row(p, home); row.State != Gone || row.Proof.Returns != 1 {
			t.Errorf("got %+v", row)
		}
	})
}

// TestAReturnThatIsNotStoredIsInTheCertificate: a device that was back for a moment was called gone, by its old proof.
func TestAReturnThatIsNotStoredIsInTheCertificate(t *testing.T) {
	in(t, func(w *world) {
		w.revoke(lost)
		p := w.run()
		w.later(time.Second)
		w.set(func() { w.failing = true })
		w.forAMoment(p, home, lost)
		for range 2 {
			row := w.row(p, home)
			if row.State != Unproven || row.Proof.Returns != 1 || row.Reason != "it had the device again, and is read anew" ||
				w.certificate(p).Complete() {
				t.Errorf("got %+v", row)
			}
			w.later(time.Second)
		}
		w.change(p, home, func(d *daemon) { d.away = true })
		if row := w.row(p, home); row.State != Unproven || !strings.HasPrefix(row.Reason, "it had the device again, and") {
			t.Errorf("it went away, and got %+v", row)
		}
	})
}

// TestAReturnIsStoredBeforeDaemonsAreRead: a slow daemon must not hold up what is known of another.
func TestAReturnIsStoredBeforeDaemonsAreRead(t *testing.T) {
	in(t, func(w *world) {
		w.revoke(lost)
		p := w.run()
		w.later(time.Second)
		release := make(chan struct{})
		w.set(func() { w.daemons[home].during = func() { <-release } })
		w.forAMoment(p, home, lost)
		w.later(time.Second)
		if !slices.Equal(w.storedReturns(), []Pair{{lost, home}}) {
			t.Errorf("stored are %v", w.storedReturns())
		}
		close(release)
		w.later(time.Second)
		if row := w.row(p, home); row.State != Gone || row.Proof.Returns != 1 {
			t.Errorf("got %+v", row)
		}
	})
}

// TestAReturnIsStoredWhenTheServerStops: the next server has not seen it.
func TestAReturnIsStoredWhenTheServerStops(t *testing.T) {
	in(t, func(w *world) {
		w.revoke(lost)
		ctx, stop := context.WithCancel(w.t.Context())
		p := w.prover()
		ended := make(chan error, 1)
		go func() { ended <- p.Run(ctx) }()
		w.later(time.Second)
		w.forAMoment(p, home, lost)
		stop()
		<-ended
		if !slices.Equal(w.storedReturns(), []Pair{{lost, home}}) {
			t.Errorf("stored are %v", w.storedReturns())
		}
	})
}

// TestAProofThatTheStoreLeavesOutIsMadeAgain: it was believed in memory, so nothing was read any more.
func TestAProofThatTheStoreLeavesOutIsMadeAgain(t *testing.T) {
	in(t, func(w *world) {
		w.leftOut = true
		w.revoke(lost)
		p := w.run()
		w.later(time.Second)
		if row := w.row(p, home); row.State != Unproven || row.Reason != readTooEarly {
			t.Errorf("got %+v", row)
		}
		w.set(func() { w.leftOut = false })
		w.later(mostPause)
		if c := w.certificate(p); !c.Complete() {
			t.Errorf("got %+v", c)
		}
	})
}

// TestADeviceThatIsRegisteredAgainIsReadAgain: its proof went with its row.
func TestADeviceThatIsRegisteredAgainIsReadAgain(t *testing.T) {
	in(t, func(w *world) {
		w.revoke(lost)
		p := w.run()
		w.later(time.Second)
		w.edit(func(r *fleet.Registry) {
			delete(w.proofs, Pair{lost, home})
			again := *r.Devices[home]
			again.CreatedAt = time.Now()
			r.Devices[home] = &again
		})
		p.RegistryChanged()
		if c := w.certificate(p); c.Gone != 1 {
			t.Errorf("got %+v", c)
		}
		w.later(time.Second)
		if c := w.certificate(p); !c.Complete() {
			t.Errorf("got %+v", c)
		}
	})
}

// TestAClockThatWasSetBackProvesNothing: readings seem to be from before the revocation. The daemons are not read
// without pause meanwhile.
func TestAClockThatWasSetBackProvesNothing(t *testing.T) {
	in(t, func(w *world) {
		w.edit(func(r *fleet.Registry) {
			r.Revocations[lost] = fleet.Revocation{Device: lost, At: time.Now().Add(time.Hour).Round(0)}
		})
		p := w.run()
		w.later(time.Hour - time.Second)
		reads, puts := w.counted()
		if row := w.row(p, home); row.State != Unproven || row.Reason != readTooEarly || puts > 0 || reads > 2*66 {
			t.Errorf("%d readings, %d proofs, got %+v", reads, puts, row)
		}
		w.later(2 * mostPause)
		if c := w.certificate(p); !c.Complete() {
			t.Errorf("got %+v", c)
		}
	})
}
