package reconcile_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"muster/internal/engine/reconcile"
	"muster/internal/fleet"
)

// beforeTheWrite is the crash after the record that a consent is used, and before the write reaches the daemon.
const beforeTheWrite = "before the write reaches the daemon"

// A removal that was never sent was recorded as applied. Its consent must stay valid if the write was not sent, and
// must not be used twice if the write may have been sent.
func TestAnInterruptedRemovalSaysWhatBecameOfIt(t *testing.T) {
	unknown := "not known whether it was sent, a new consent is needed: folders.made"
	unsent := "interrupted before it was sent, the consent stays valid: folders.made"
	for _, c := range []struct {
		killedAt string
		putBack  bool // A person puts the folder back before the next start.
		outcome  fleet.Outcome
		detail   string
		isGone   bool // The folder is gone in the end.
	}{
		{reconcile.StepAfterIntent, false, fleet.OutcomeAbandoned, unsent, true},
		{reconcile.StepAfterRead, false, fleet.OutcomeAbandoned, unsent, true},
		{reconcile.StepBeforeWrite + "1", false, fleet.OutcomeAbandoned, unsent, true},
		{beforeTheWrite, false, fleet.OutcomePartial, unknown, false},
		{reconcile.StepAfterWrite + "1", false, fleet.OutcomeApplied, "verified after an interruption", true},
		{reconcile.StepAfterWrite + "1", true, fleet.OutcomePartial, unknown, false},
		{reconcile.StepBeforeOutcome, true, fleet.OutcomePartial, unknown, false},
	} {
		name := c.killedAt
		if c.putBack {
			name += ", and the folder is put back"
		}
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T) {
				b := askedAboutFolder(t)
				defer func() { b.stop() }()
				folder := b.daemon.at("folders.made")
				restart := b.killedAt(c.killedAt)
				b.consents()
				if c.putBack {
					b.want("folders.made", "absent")
					b.daemon.edit("folders.made", folder)
				}
				restart()
				b.later(2 * time.Minute)
				b.wantInterrupted(c.outcome, c.detail)
				if c.isGone {
					b.want("folders.made", "absent")
					b.wantState(fleet.ConfigUnmanaged, "")
					return
				}
				b.wantAskedAgain(folder)
				b.consents()
				b.want("folders.made", "absent")
			})
		})
	}
}

// killedAt makes the engine end without a trace in the store when it comes to this step. It returns the function that
// starts the next one.
func (b *bench) killedAt(step string) (restart func()) {
	var onDisk []int64
	kill := func() {
		b.store.mu.Lock()
		defer b.store.mu.Unlock()
		if b.store.fail == nil {
			onDisk = slices.Clone(b.store.closed)
		}
		b.store.fail = func(string) error { return errors.New("killed") }
	}
	b.step = func(name string) {
		if name == step {
			kill()
		}
	}
	if step == beforeTheWrite {
		b.daemon.answersWrites(func(*daemon, string) error {
			kill()
			return unreachable()
		})
	}
	return func() {
		b.stop()
		b.daemon.before = nil
		b.step, b.store.fail, b.store.closed = nil, nil, onDisk
		b.start()
		synctest.Wait()
	}
}

// wantInterrupted wants this outcome, and a detail with this text, of the second intent: the first made the folder.
func (b *bench) wantInterrupted(outcome fleet.Outcome, detail string) {
	b.t.Helper()
	b.store.mu.Lock()
	defer b.store.mu.Unlock()
	if got := b.store.intents[1]; got.Outcome != outcome || !strings.Contains(got.Detail, detail) {
		b.t.Errorf("got the outcome %q, %q; want %q, %q", got.Outcome, got.Detail, outcome, detail)
	}
}

// Muster was stopped between the record that a consent is used and the write: the consent was lost, and nothing sent.
func TestAConsentIsNotUsedByAWriteThatAStopKeptBack(t *testing.T) {
	in(t, func(t *testing.T) {
		b := askedAboutFolder(t)
		defer func() { b.stop() }()
		b.store.fail = func(call string) error {
			if call == "close consents" {
				b.cancel()
			}
			return nil
		}
		b.consents()
		b.stop()
		if b.daemon.at("folders.made") == "absent" {
			t.Error("the removal was sent after the stop")
		}
		b.store.fail = nil
		b.start()
		b.later(2 * time.Minute)
		b.want("folders.made", "absent")
	})
}
