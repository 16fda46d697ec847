package reconcile_test

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"muster/internal/core/plan"
	"muster/internal/core/stconfig"
	"muster/internal/engine/reconcile"
	"muster/internal/fleet"
)

// edited is a document with another value at a key.
func edited(doc stconfig.Value, key string, to stconfig.Value) stconfig.Value {
	return stconfig.Normalise(stconfig.Replace(doc, keyOf(key), to))
}

const folder = "folders.photos-x4kd"

var friend, stranger = string(deviceN(1)), string(deviceN(2))

func deviceN(n byte) fleet.DeviceID { return fleet.DeviceIDOf([32]byte{n}) }

func member(device string) stconfig.Value {
	return stconfig.Obj(stconfig.Member{Name: "deviceID", Value: stconfig.Text(device)})
}

// sharedWith adds a share to a folder of the sample, with the fields that a daemon gives it.
func sharedWith(doc stconfig.Value, device string) stconfig.Value {
	share := member(device).With("introducedBy", stconfig.Text("")).With("encryptionPassword", stconfig.Text(""))
	return edited(doc, folder+".devices."+device, share)
}

// changing is a device whose daemon knows two others, and on which something happens right after each intent.
func changing(t *testing.T, meanwhile func(*bench)) *bench {
	b := newBench(t)
	b.daemon.doc = edited(b.daemon.doc, "devices."+friend, member(friend))
	b.daemon.doc = edited(b.daemon.doc, "devices."+stranger, member(stranger))
	b.step = func(name string) {
		if name == reconcile.ChangeStepPrefix+reconcile.StepAfterIntent {
			b.daemon.mu.Lock()
			defer b.daemon.mu.Unlock()
			meanwhile(b)
		}
	}
	b.start()
	return b
}

func asAdmin(t *testing.T) context.Context { return fleet.WithRole(t.Context(), fleet.RoleAdmin) }

func (b *bench) share() error {
	share := func(doc stconfig.Value) (stconfig.Value, error) { return sharedWith(doc, friend), nil }
	return b.engine.Amend(asAdmin(b.t), b.id, "share", share)
}

func (b *bench) restore(ctx context.Context, request plan.RestoreRequest) (plan.Restored, error) {
	return b.engine.Restore(ctx, b.id, 1, request)
}

func (b *bench) wantOutcomes(want ...fleet.Outcome) {
	b.t.Helper()
	if got := b.store.outcomes(); !slices.Equal(got, want) {
		b.t.Errorf("outcomes %v, want %v", got, want)
	}
}

// A stop of Muster ends a restore that is under way; the part that was written is recorded.
func TestAStopEndsARestoreThatIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.store.revision = edited(edited(b.daemon.doc, "options.maxSendKbps", stconfig.Literal("77")),
			folder+".label", stconfig.Text("another"))
		b.daemon.before = func(*daemon, string) error {
			b.store.mu.Lock()
			defer b.store.mu.Unlock()
			stopped := *b.store.registry
			stopped.Mode = fleet.ModeObserve
			b.store.registry = &stopped
			return nil
		}
		b.start()
		defer b.stop()
		done, err := b.restore(asAdmin(t), plan.RestoreRequest{})
		if fleet.CodeOf(err) != fleet.CodeConflict || done.Done {
			t.Errorf("got %+v, %v, want a conflict", done, err)
		}
		if calls := b.daemon.written(); len(calls) != 1 {
			t.Errorf("%d writes, want no other after the first: %v", len(calls), calls)
		}
		b.wantOutcomes(fleet.OutcomePartial)
		if cause := b.store.intents[0].Cause; cause != fleet.CauseRestore {
			t.Errorf("the intent's cause is %q", cause)
		}
	})
}

// A call that says a whole list has it as it was read right before.
func TestAnEditBeforeTheFirstWriteOfAnAcceptStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		edits := 0
		b := changing(t, func(b *bench) {
			if edits++; edits == 1 {
				b.daemon.doc = sharedWith(b.daemon.doc, stranger)
			}
		})
		defer b.stop()
		if err := b.share(); err != nil {
			t.Fatal(err)
		}
		calls := b.daemon.written()
		if len(calls) != 1 || !strings.Contains(calls[0], stranger) || !strings.Contains(calls[0], friend) {
			t.Errorf("wrote %q, want both shares", calls)
		}
		b.wantOutcomes(fleet.OutcomeAbandoned, fleet.OutcomeApplied)
	})
}

// What a person did at the daemon meanwhile is not written over.
func TestNothingIsAcceptedOverWhatAPersonJustDid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := changing(t, func(b *bench) { b.daemon.doc = sharedWith(b.daemon.doc, friend) })
		defer b.stop()
		if err := b.share(); err != nil {
			t.Fatal(err)
		}
		if calls := b.daemon.written(); len(calls) != 0 {
			t.Errorf("wrote %v", calls)
		}
		b.wantOutcomes(fleet.OutcomeAbandoned)
	})
}

// A consent is to the plan that was seen, not to the one that an edit in the last moment makes of it.
func TestAConsentedRestoreEndsWhenAPersonEditsInTheLastMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := changing(t, func(b *bench) {
			b.daemon.doc = edited(b.daemon.doc, "options.maxSendKbps", stconfig.Literal("5"))
		})
		defer b.stop()
		b.store.revision = edited(b.daemon.doc, folder+".path", stconfig.Text("/elsewhere"))
		asked, err := b.restore(asAdmin(t), plan.RestoreRequest{})
		if err != nil || asked.Done || len(b.store.outcomes()) != 0 {
			t.Fatalf("got %+v, %v, want it to wait for consent", asked, err)
		}
		consented := plan.RestoreRequest{Digest: asked.Plan.Digest, Consent: []string{folder + ".path"}}
		if _, err = b.restore(asAdmin(t), consented); fleet.CodeOf(err) != fleet.CodeConflict {
			t.Errorf("got %v, want a conflict", err)
		}
		if calls := b.daemon.written(); len(calls) != 0 {
			t.Errorf("wrote %v", calls)
		}
		b.wantOutcomes(fleet.OutcomeAbandoned)
	})
}

// Muster that only observes a device changes nothing there, also when a person asks.
func TestNothingIsAcceptedWhereMusterOnlyObserves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := changing(t, func(*bench) {})
		defer b.stop()
		b.switchTo(fleet.ModeObserve)
		if err := b.share(); fleet.CodeOf(err) != fleet.CodeConflict || !strings.Contains(err.Error(), "mode is observe") {
			t.Errorf("got %v, want a conflict that names the mode", err)
		}
		b.wantWrites(0)
	})
}

func TestAnAcceptGivesWayToAPersonWhoKeepsEditing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		edits := 0
		b := changing(t, func(b *bench) {
			edits++
			b.daemon.doc = edited(b.daemon.doc, "options.maxSendKbps", stconfig.Literal(strconv.Itoa(edits)))
		})
		defer b.stop()
		if err := b.share(); fleet.CodeOf(err) != fleet.CodeUnavailable {
			t.Errorf("got %v, want unavailable", err)
		}
		if calls := b.daemon.written(); len(calls) != 0 {
			t.Errorf("wrote %v", calls)
		}
		b.wantOutcomes(fleet.OutcomeAbandoned, fleet.OutcomeAbandoned, fleet.OutcomeAbandoned)
	})
}

// A restore asked for by an operator is judged as what an author asks for: it must lead nowhere that a template of
// theirs could not.
func TestAnOperatorsRestoreIsJudgedAsAnAuthorsTemplate(t *testing.T) {
	for role, want := range map[fleet.Role]plan.Class{fleet.RoleOperator: plan.Held, fleet.RoleAuthor: plan.Held,
		"": plan.Held, fleet.RoleAdmin: plan.Free} {
		synctest.Test(t, func(t *testing.T) {
			b := changing(t, func(*bench) {})
			defer b.stop()
			b.store.revision = b.daemon.doc
			b.daemon.edit(folder, "")
			restored, err := b.restore(fleet.WithRole(t.Context(), role), plan.RestoreRequest{Section: folder})
			if err != nil {
				t.Fatal(err)
			}
			change := slices.IndexFunc(restored.Plan.Changes, func(c plan.Change) bool { return c.Key.String() == folder })
			if change < 0 {
				t.Fatalf("%q: the folder is not planned", role)
			}
			if got := restored.Plan.Changes[change]; got.Class != want {
				t.Errorf("%q: the folder is %s (%s), want %s", role, got.Class, got.Reason, want)
			}
		})
	}
}

// A change that templates would take back is a conflict that names the template. The daemon is not asked beside the
// session that the change has: the bench panics then.
func TestAChangeThatTemplatesTakeBackIsAConflict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, tmpl(1, fleet.OpSet, `ignores.photos-x4kd`, `["*.tmp"]`),
			tmpl(2, fleet.OpSet, folder+".label", `"Photos"`))
		b.start()
		defer b.stop()
		set := func(key string, to stconfig.Value) error {
			return b.engine.Amend(asAdmin(t), b.id, "edit",
				func(doc stconfig.Value) (stconfig.Value, error) { return edited(doc, key, to), nil })
		}
		before := len(b.daemon.written())
		err := set(folder+".label", stconfig.Text("Other"))
		if fleet.CodeOf(err) != fleet.CodeConflict || !strings.Contains(err.Error(), "template 2") {
			t.Errorf("got %v, want a conflict that names template 2", err)
		}
		b.wantWrites(before)
		if err := set(folder+".rescanIntervalS", stconfig.Literal("77")); err != nil {
			t.Error(err)
		}
		b.want(folder+".rescanIntervalS", "77")
	})
}

// A daemon that answers a restore with 5xx may have it in memory only: the restore is not done, and the device's state
// says so until a write was answered with 2xx.
func TestARestoreThatTheDaemonCouldNotSaveIsNotDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.store.revision = edited(b.daemon.doc, "options.maxSendKbps", stconfig.Literal("77"))
		full := true
		b.daemon.before = func(d *daemon, _ string) error {
			if !full {
				return nil
			}
			full = false
			d.editLocked("options.maxSendKbps", "77")
			return &fleet.Error{Code: fleet.CodeUnavailable, Message: "no space left on device", Err: fleet.ErrNotSaved}
		}
		b.start()
		defer b.stop()
		restored, err := b.restore(asAdmin(t), plan.RestoreRequest{})
		if err == nil || restored.Done {
			t.Errorf("got %+v, %v, want an error", restored, err)
		}
		if outcomes := b.store.outcomes(); outcomes[0] != fleet.OutcomePartial {
			t.Errorf("outcomes %v, want that of the restore to be partial", outcomes)
		}
	})
}

// The revision of a restore takes memory of the limit, and its answer may wait: it has no large values.
func TestARestoreTakesItsMemoryFromTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.store.revision = edited(b.daemon.doc, folder+".label", stconfig.Text(strings.Repeat("x", 1<<20)))
		b.start()
		defer b.stop()
		restored, err := b.restore(asAdmin(t), plan.RestoreRequest{})
		if err != nil || !restored.Done || len(restored.Plan.Changes) != 1 {
			t.Fatalf("done %v, %d changes, %v", restored.Done, len(restored.Plan.Changes), err)
		}
		if c := restored.Plan.Changes[0]; c.To.Exists() || !strings.Contains(c.Reason, "not shown") {
			t.Errorf("a value of %d bytes is in the answer, with the reason %q", len(c.To.Str()), c.Reason)
		}
		b.store.mu.Lock()
		defer b.store.mu.Unlock()
		if b.store.unlimitedReads != 0 {
			t.Errorf("the revision was read %d times outside the limit", b.store.unlimitedReads)
		}
	})
}

func TestAPreviewOfARestoreSendsNothingAndWhatItShowsIsWhatTheRestoreMakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := changing(t, func(*bench) {})
		defer b.stop()
		b.store.revision = edited(b.daemon.doc, "options.maxSendKbps", stconfig.Literal("7"))
		seen, err := b.restore(asAdmin(t), plan.RestoreRequest{Preview: true})
		if err != nil || seen.Done || len(seen.Plan.Changes) != 1 || !strings.Contains(seen.Reason, "nothing was sent") {
			t.Fatalf("got %+v, %v", seen, err)
		}
		if calls := b.daemon.written(); len(calls) != 0 {
			t.Errorf("wrote %v", calls)
		}
		if _, err := b.restore(asAdmin(t), plan.RestoreRequest{Digest: "another"}); fleet.CodeOf(err) != fleet.CodeConflict {
			t.Errorf("got %v, want a conflict with a digest of no plan", err)
		}
		done, err := b.restore(asAdmin(t), plan.RestoreRequest{Digest: seen.Plan.Digest})
		if err != nil || !done.Done {
			t.Errorf("got %+v, %v", done, err)
		}
	})
}
