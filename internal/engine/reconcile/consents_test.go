package reconcile_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"muster/internal/core/plan"
	"muster/internal/engine/reconcile"
	"muster/internal/fleet"
)

var madeFolder = tmpl(1, fleet.OpMerge, "folders", `[{"id": "made", "path": "/home/one/made"}]`)

// askedAboutFolder is a bench with a folder that no template asks for any more.
func askedAboutFolder(t *testing.T) *bench {
	b := newBench(t, madeFolder)
	b.start()
	b.want("folders.made.path", `"/home/one/made"`)
	b.changed()
	b.wantState(fleet.ConfigHeld, "remove it, or keep it as it is")
	return b
}

// A consent was lost with the process: a person who had said yes was asked again.
func TestAConsentOutlivesTheProcess(t *testing.T) {
	in(t, func(t *testing.T) {
		b := askedAboutFolder(t)
		digest := b.plan().Digest
		var onDisk []int64
		b.step = func(name string) {
			if name == reconcile.StepBeforeIntent { // killed here
				b.store.mu.Lock()
				defer b.store.mu.Unlock()
				onDisk = slices.Clone(b.store.closed)
				b.store.fail = func(string) error { return errors.New("killed") }
			}
		}
		if _, _, err := b.engine.Apply(t.Context(), b.id, digest, consent("folders.made")); err == nil {
			t.Fatal("it was not killed")
		}
		b.stop()
		b.want("folders.made.path", `"/home/one/made"`)
		b.step, b.store.fail, b.store.closed = nil, nil, onDisk
		b.start()
		defer b.stop()
		b.want("folders.made", "absent")
		b.wantState(fleet.ConfigUnmanaged, "")
		if open, _ := b.store.OpenConsents(t.Context()); len(open) != 0 {
			t.Errorf("still open: %+v", open)
		}
	})
}

// A consent is for one time, and to one change.
func TestAConsentIsUsedOnce(t *testing.T) {
	in(t, func(t *testing.T) {
		b := askedAboutFolder(t)
		defer func() { b.stop() }()
		digest := b.plan().Digest
		if _, _, err := b.engine.Apply(
			fleet.WithActor(t.Context(), "nora"),
			b.id,
			digest,
			consent("folders.made"),
		); err != nil {
			t.Fatal(err)
		}
		b.want("folders.made", "absent")
		b.store.mu.Lock()
		given, closed := b.store.consents, len(b.store.closed)
		b.store.mu.Unlock()
		if len(given) != 1 || closed != 1 || given[0].By != "nora" || given[0].Key != "folders.made" ||
			given[0].Until.Sub(given[0].At) != 24*time.Hour {
			t.Errorf("recorded %+v, %d closed", given, closed)
		}
		b.changed(madeFolder)
		b.want("folders.made.path", `"/home/one/made"`)
		b.changed()
		b.wantState(fleet.ConfigHeld, "remove it, or keep it as it is")
		b.want("folders.made.path", `"/home/one/made"`)
	})
}

// What a person keeps is theirs, and they are not asked again.
func TestWhatAPersonKeepsIsNotAskedAboutAgain(t *testing.T) {
	in(t, func(t *testing.T) {
		b := askedAboutFolder(t)
		if _, _, err := b.engine.Apply(t.Context(), b.id, b.plan().Digest, keep("folders.made")); err != nil {
			t.Fatal(err)
		}
		b.wantState(fleet.ConfigUnmanaged, "")
		b.stop()
		b.start()
		defer b.stop()
		b.wantState(fleet.ConfigUnmanaged, "")
		b.want("folders.made.path", `"/home/one/made"`)
		if len(b.store.consents) != 1 || b.store.consents[0].Answer != fleet.AnswerKeep || len(b.store.used) != 1 {
			t.Errorf("recorded %+v, used %v", b.store.consents, b.store.used)
		}
	})
}

// A password that goes with its template cannot be consented to.
func TestAPasswordsReturnIsNotConsentedTo(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t)
		b.start()
		defer b.stop()
		b.daemon.edit("gui.user", `"alice"`)
		b.daemon.edit("gui.password", `"$2a$10$KxrCbGMSDMIcKnDZgVcTzOZuVWQm7nQcGF0m6K1cYJ3Hq4uB9VwZK"`)
		b.seen()
		b.changed(tmpl(1, fleet.OpMerge, "gui", `{"user": "admins", "password": "${secret:pw}"}`))
		p := b.plan()
		if _, _, err := b.engine.Apply(t.Context(), b.id, p.Digest, consent("gui.user", "gui.password")); err != nil {
			t.Fatal(err)
		}
		b.want("gui.user", `"admins"`)
		b.changed()
		p = b.plan()
		_, _, err := b.engine.Apply(t.Context(), b.id, p.Digest, consent("gui.user", "gui.password"))
		if fleet.CodeOf(err) != fleet.CodeInvalid {
			t.Errorf("got %v", err)
		}
		if _, _, err := b.engine.Apply(t.Context(), b.id, b.plan().Digest, consent("gui.user")); err != nil {
			t.Fatal(err)
		}
		b.want("gui.user", `"admins"`)
		for _, c := range b.plan().Changes {
			if c.Class != plan.Held || !c.Returns {
				t.Errorf("%s is %s", c.Key, c.Class)
			}
		}
		if _, _, err := b.engine.Apply(t.Context(), b.id, b.plan().Digest, keep("gui.user", "gui.password")); err != nil {
			t.Fatal(err)
		}
		b.wantState(fleet.ConfigUnmanaged, "")
	})
}
