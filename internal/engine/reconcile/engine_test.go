package reconcile_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"muster/internal/core/plan"
	"muster/internal/core/stconfig"
	"muster/internal/engine/reconcile"
	"muster/internal/fleet"
)

var (
	noNAT  = tmpl(1, fleet.OpSet, "options.natEnabled", "false")
	photos = tmpl(2, fleet.OpMerge, "folders",
		`[{"id": "photos", "path": "/srv/p", "devices": [{"deviceID": "`+string(nora)+`"}]}]`)
)

func TestBringsADaemonToWhatTemplatesAsk(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t, noNAT, photos)
		b.start()
		defer b.stop()
		b.want("options.natEnabled", "false")
		b.want("folders.photos.path", `"/srv/p"`)
		b.want("devices."+string(nora)+".name", `"Nora"`)
		b.wantWrites(3) // devices, options, folders
		b.wantState(fleet.ConfigInSync, "")
		if got := outcomesOf(b.store.outcomes()); got != "[applied]" {
			t.Error(got)
		}
		b.seen() // the echo of our own write
		time.Sleep(time.Hour)
		synctest.Wait()
		b.wantWrites(3)
	})
}

func TestReturnsToBase(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t, noNAT)
		b.start()
		defer b.stop()
		b.want("options.natEnabled", "false")
		b.changed()
		b.want("options.natEnabled", "true")
		b.wantState(fleet.ConfigUnmanaged, "")
		for _, left := range b.store.entries[b.id] {
			if left.MayBeOurs() {
				t.Errorf("Muster's value is still at %v", left.Key)
			}
		}
	})
}

func TestADeletedDeviceIsForgottenAtOnce(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t, noNAT)
		b.start()
		defer b.stop()
		b.register(noNAT)
		b.store.mu.Lock()
		delete(b.store.registry.Devices, b.id)
		b.store.mu.Unlock()
		b.engine.RegistryChanged()
		synctest.Wait()
		b.store.mu.Lock()
		looks := b.store.looks
		b.store.mu.Unlock()
		time.Sleep(time.Hour)
		synctest.Wait()
		b.store.mu.Lock()
		defer b.store.mu.Unlock()
		if b.store.looks != looks {
			t.Errorf("looked at %d times more", b.store.looks-looks)
		}
	})
}

func TestObserveWritesNothing(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t, noNAT)
		b.store.registry.Mode = fleet.ModeObserve
		b.start()
		defer b.stop()
		b.wantWrites(0)
		b.wantState(fleet.ConfigPending, "observe")
		if p := b.plan(); len(p.Changes) != 1 {
			t.Errorf("plan has %d changes", len(p.Changes))
		}
		if _, _, err := b.engine.Apply(t.Context(), b.id, b.plan().Digest, nil); fleet.CodeOf(err) != fleet.CodeConflict {
			t.Errorf("apply while observing: %v", err)
		}
		b.wantWrites(0)
		if b.store.intents != nil {
			t.Error("intents recorded")
		}
	})
}

func TestWaitsForAnOfflineDaemon(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t, noNAT)
		b.daemon.online = false
		b.start()
		defer b.stop()
		b.wantState(fleet.ConfigPending, "reached")
		b.daemon.mu.Lock()
		b.daemon.online = true
		b.daemon.mu.Unlock()
		b.engine.Online(b.id)
		synctest.Wait()
		b.want("options.natEnabled", "false")
		b.wantState(fleet.ConfigInSync, "")
	})
}

func TestUnknownIsNeverShownAsGood(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t, noNAT)
		delete(b.store.observed, b.id)
		b.start()
		defer b.stop()
		b.wantState(fleet.ConfigUnknown, "never read")
		b.daemon.edit("options.natEnabled", "false")
		b.seen()
		b.wantState(fleet.ConfigInSync, "")
		b.daemon.mu.Lock()
		b.daemon.online = false
		b.daemon.mu.Unlock()
		b.engine.Online(b.id)
		synctest.Wait()
		b.wantState(fleet.ConfigUnknown, "cannot be reached")
	})
}

func TestAnUnusableDocumentIsNotPlannedFrom(t *testing.T) {
	for _, gone := range []string{"version", "gui.apiKey", "devices." + string(stconfig.SampleID)} {
		t.Run(gone, func(t *testing.T) {
			in(t, func(t *testing.T) {
				b := newBench(t, noNAT)
				b.daemon.lies = func(doc stconfig.Value) stconfig.Value {
					key := stconfig.Key{}
					for name := range strings.SplitSeq(gone, ".") {
						key = key.Child(name)
					}
					return stconfig.Replace(doc, key, stconfig.Value{})
				}
				if _, err := b.daemon.Config(t.Context(), b.id); err != nil {
					t.Fatal(err)
				}
				b.start()
				defer b.stop()
				b.wantWrites(0)
				b.wantState(fleet.ConfigUnknown, "")
				if len(b.store.intents) > 0 {
					t.Error("an intent was recorded")
				}
			})
		})
	}
}

// Killed at every step of an apply and started again, the daemon ends where it should, no write is sent twice, and
// what was there before is remembered.
func TestCrashAtEveryStep(t *testing.T) {
	steps := []string{reconcile.StepBeforeIntent, reconcile.StepAfterIntent, reconcile.StepAfterRead,
		reconcile.StepBeforeWrite + "1", reconcile.StepAfterWrite + "1", reconcile.StepBeforeWrite + "2",
		reconcile.StepAfterWrite + "2",
		reconcile.StepBeforeWrite + "3", reconcile.StepAfterWrite + "3", reconcile.StepBeforeVerify,
		reconcile.StepBeforeOutcome}
	for _, step := range steps {
		t.Run(step, func(t *testing.T) {
			in(t, func(t *testing.T) {
				b := newBench(t, noNAT, photos)
				before := b.daemon.doc
				reached := false
				b.step = func(name string) {
					if name == step {
						reached = true
						killed()
					}
				}
				b.start()
				b.stop()
				if !reached {
					t.Fatal("step not reached")
				}
				b.step = nil
				b.start()
				defer func() { b.stop() }()
				b.want("options.natEnabled", "false")
				b.want("folders.photos.path", `"/srv/p"`)
				b.wantState(fleet.ConfigInSync, "")
				b.wantWrites(3)
				for _, outcome := range b.store.outcomes() {
					if outcome == fleet.OutcomeOpen {
						t.Error("an intent is still open")
					}
				}
				b.changed()
				p := b.plan()
				for _, c := range p.Changes {
					if c.Class == plan.Held && c.Key.String() == "folders.photos" {
						if _, _, err := b.engine.Apply(t.Context(), b.id, p.Digest, consent("folders.photos")); err != nil {
							t.Fatal(err)
						}
					}
				}
				if left := stconfig.Diff(before, b.daemon.doc); len(left) > 0 {
					t.Errorf("not back at what was there before Muster: %v", left[0].Key)
				}
			})
		})
	}
}

// A person edits at the worst moments. What they write at keys that nobody manages stays, and at managed ones it is
// the new base.
func TestSecondWriter(t *testing.T) {
	for _, step := range []string{reconcile.StepBeforeIntent, reconcile.StepAfterIntent, reconcile.StepAfterRead,
		reconcile.StepBeforeWrite + "1",
		reconcile.StepAfterWrite + "1", reconcile.StepBeforeWrite + "2", reconcile.StepBeforeVerify} {
		t.Run(step, func(t *testing.T) {
			in(t, func(t *testing.T) {
				b := newBench(t, noNAT, tmpl(2, fleet.OpSet, "folders.photos-x4kd.rescanIntervalS", "77"))
				once := true
				b.step = func(name string) {
					if name == step && once {
						once = false
						b.daemon.edit("options.maxSendKbps", "123")
						b.daemon.edit("folders.photos-x4kd.label", `"mine"`)
						b.daemon.edit("gui.theme", `"black"`)
					}
				}
				b.start()
				defer b.stop()
				b.seen()
				if once {
					t.Fatal("step not reached")
				}
				b.want("options.natEnabled", "false")
				b.want("folders.photos-x4kd.rescanIntervalS", "77")
				b.want("options.maxSendKbps", "123")
				b.want("folders.photos-x4kd.label", `"mine"`)
				b.want("gui.theme", `"black"`)
				b.wantState(fleet.ConfigInSync, "")
			})
		})
	}
}

func TestDriftIsCorrectedAndTheEditIsTheNewBase(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t, tmpl(1, fleet.OpSet, "options.maxSendKbps", "100"))
		b.start()
		defer b.stop()
		b.daemon.edit("options.maxSendKbps", "55")
		b.seen()
		b.want("options.maxSendKbps", "100")
		b.changed()
		b.want("options.maxSendKbps", "55")
	})
}

func TestContended(t *testing.T) {
	in(t, func(t *testing.T) {
		send := tmpl(1, fleet.OpSet, "options.maxSendKbps", "100")
		b := newBench(t, send, noNAT)
		b.start()
		defer func() { b.stop() }()
		for range 2 {
			time.Sleep(time.Minute)
			b.daemon.edit("options.maxSendKbps", "55")
			b.seen()
			b.want("options.maxSendKbps", "100")
		}
		b.daemon.edit("options.maxSendKbps", "55")
		b.daemon.edit("options.natEnabled", "true")
		b.seen()
		b.want("options.maxSendKbps", "55")
		b.want("options.natEnabled", "false") // other keys go on
		b.wantState(fleet.ConfigContended, "options.maxSendKbps")
		time.Sleep(2 * time.Hour)
		b.seen()
		b.want("options.maxSendKbps", "55")
		b.stop()
		b.start() // another process does not begin the fight anew
		b.seen()
		b.want("options.maxSendKbps", "55")
		b.wantState(fleet.ConfigContended, "options.maxSendKbps")

		if _, _, err := b.engine.Apply(t.Context(), b.id, b.plan().Digest, nil); err != nil {
			t.Fatal(err)
		}
		b.want("options.maxSendKbps", "100")
		b.wantState(fleet.ConfigInSync, "")
		if got := b.store.stops[b.id]; len(got) > 0 || b.store.puts != 2 {
			t.Errorf("%d stops left after %d writes to the store, want 2", len(got), b.store.puts)
		}
	})
}

// The templates are others when Muster starts again: nothing is stopped any more.
func TestContendedEndsWhenTheTemplatesChangedBeforeAStart(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t, tmpl(1, fleet.OpSet, "options.maxSendKbps", "100"))
		b.start()
		defer func() { b.stop() }()
		for range 3 {
			b.daemon.edit("options.maxSendKbps", "55")
			b.seen()
		}
		b.wantState(fleet.ConfigContended, "")
		b.stop()
		b.register(tmpl(1, fleet.OpSet, "options.maxSendKbps", "200"))
		b.start()
		b.want("options.maxSendKbps", "200")
		b.wantState(fleet.ConfigInSync, "")
	})
}

// A person said yes, the daemon went away before anything was sent, and they were told so. Another process does not
// act on it.
func TestAConsentDoesNotOutliveAnApplyThatFailed(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t, tmpl(1, fleet.OpSet, "folders.photos-x4kd.path", `"/srv/other"`))
		b.step = func(name string) {
			if name == reconcile.StepAfterIntent {
				b.daemon.mu.Lock()
				b.daemon.online = false
				b.daemon.mu.Unlock()
			}
		}
		b.start()
		defer func() { b.stop() }()
		if _, _, err := b.engine.Apply(
			t.Context(),
			b.id,
			b.plan().Digest,
			consent("folders.photos-x4kd.path"),
		); fleet.CodeOf(
			err,
		) != fleet.CodeUnavailable {
			t.Errorf("apply: %v", err)
		}
		b.stop()
		b.step = nil
		b.daemon.online = true
		b.start()
		b.want("folders.photos-x4kd.path", `"/srv/photos"`)
		b.wantState(fleet.ConfigHeld, "")
		b.wantWrites(0)
	})
}

func TestContendedEndsWhenTheTemplatesChange(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t, tmpl(1, fleet.OpSet, "options.maxSendKbps", "100"))
		b.start()
		defer b.stop()
		for range 3 {
			b.daemon.edit("options.maxSendKbps", "55")
			b.seen()
		}
		b.wantState(fleet.ConfigContended, "")
		b.changed(tmpl(1, fleet.OpSet, "options.maxSendKbps", "200"))
		b.want("options.maxSendKbps", "200")
		b.wantState(fleet.ConfigInSync, "")
	})
}

func TestSlowEditsAreNotContended(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t, tmpl(1, fleet.OpSet, "options.maxSendKbps", "100"))
		b.start()
		defer b.stop()
		for range 6 {
			time.Sleep(31 * time.Minute)
			b.daemon.edit("options.maxSendKbps", "55")
			b.seen()
			b.want("options.maxSendKbps", "100")
		}
	})
}

func TestRejectedIsNotRepeated(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t, noNAT, photos)
		b.daemon.before = func(_ *daemon, call string) error {
			if strings.Contains(call, "/folders") {
				b.daemon.calls = append(b.daemon.calls, "refused "+call)
				return rejected("folder has a bad path")
			}
			return nil
		}
		b.start()
		defer b.stop()
		b.want("options.natEnabled", "false") // the rest is applied
		b.wantState(fleet.ConfigFailed, "bad path")
		b.wantWrites(3)
		time.Sleep(24 * time.Hour)
		b.seen()
		b.engine.Online(b.id)
		synctest.Wait()
		b.wantWrites(3)
		if got := outcomesOf(b.store.outcomes()); got != "[rejected]" {
			t.Error(got)
		}

		b.daemon.before = nil
		b.daemon.edit("gui.theme", `"black"`) // the observed document changes
		b.seen()
		b.want("folders.photos.path", `"/srv/p"`)
		b.wantState(fleet.ConfigInSync, "")
	})
}

func TestServerErrorsBackOff(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t, noNAT)
		attempts := 0
		b.daemon.before = func(*daemon, string) error {
			attempts++
			return unreachable()
		}
		b.start()
		defer b.stop()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if attempts < 5 || attempts > 40 {
			t.Errorf("%d attempts in ten minutes", attempts)
		}
		b.daemon.answersWrites(nil)
		b.later(2 * time.Minute)
		b.want("options.natEnabled", "false")
		b.wantState(fleet.ConfigInSync, "")
	})
}

func TestALostAnswerIsVerifiedNotRepeated(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t, noNAT)
		b.daemon.before = func(d *daemon, call string) error { // taken, but the answer is lost and the daemon goes away
			d.before = nil
			d.calls = append(d.calls, call)
			d.editLocked("options.natEnabled", "false")
			d.online = false
			return unreachable()
		}
		b.start()
		defer b.stop()
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := outcomesOf(b.store.outcomes()); got != "[]" {
			t.Errorf("outcomes %s while the daemon is away", got)
		}
		b.daemon.mu.Lock()
		b.daemon.online = true
		b.daemon.mu.Unlock()
		b.engine.Online(b.id)
		synctest.Wait()
		b.wantWrites(1)
		b.wantState(fleet.ConfigInSync, "")
		if got := outcomesOf(b.store.outcomes()); got != "[applied]" {
			t.Error(got)
		}
		b.changed()
		b.want("options.natEnabled", "true")
	})
}

func TestALyingDaemonIsNotWrittenForEver(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t, noNAT)
		b.daemon.lies = func(doc stconfig.Value) stconfig.Value {
			return stconfig.Replace(doc, keyOf("options.natEnabled"), stconfig.Boolean(true))
		}
		b.start()
		defer b.stop()
		time.Sleep(time.Hour)
		b.seen()
		if n := len(b.daemon.written()); n > 3 {
			t.Errorf("%d writes", n)
		}
		b.wantState(fleet.ConfigFailed, "another value")
	})
}

func TestHeldWaitsForConsent(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t, noNAT, tmpl(2, fleet.OpSet, "folders.photos-x4kd.path", `"/srv/other"`))
		b.start()
		defer b.stop()
		b.want("options.natEnabled", "false")
		b.want("folders.photos-x4kd.path", `"/srv/photos"`)
		b.wantState(fleet.ConfigHeld, "folders.photos-x4kd.path")
		digest := b.plan().Digest
		if _, _, err := b.engine.Apply(
			t.Context(),
			b.id,
			"another",
			consent("folders.photos-x4kd.path"),
		); fleet.CodeOf(
			err,
		) != fleet.CodeConflict {
			t.Errorf("with another digest: %v", err)
		}
		if _, _, err := b.engine.Apply(
			t.Context(),
			b.id,
			digest,
			consent("options.natEnabled"),
		); fleet.CodeOf(
			err,
		) != fleet.CodeInvalid {
			t.Errorf("consent to what is not held: %v", err)
		}
		if _, _, err := b.engine.Apply(
			t.Context(),
			b.id,
			digest,
			keep("folders.photos-x4kd.path"),
		); fleet.CodeOf(
			err,
		) != fleet.CodeInvalid {
			t.Errorf("keep what a template asks for: %v", err)
		}
		b.want("folders.photos-x4kd.path", `"/srv/photos"`)
		if _, _, err := b.engine.Apply(t.Context(), b.id, digest, consent("Folders.photos-x4kd.PATH")); err != nil {
			t.Fatal(err)
		}
		b.want("folders.photos-x4kd.path", `"/srv/other"`)
		b.wantState(fleet.ConfigInSync, "")

		b.daemon.edit("folders.photos-x4kd.path", `"/srv/photos"`) // consent was for one time
		b.seen()
		b.want("folders.photos-x4kd.path", `"/srv/photos"`)
		b.wantState(fleet.ConfigHeld, "")
	})
}

func TestKeepMakesWhatIsThereTheBase(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t, photos)
		b.start()
		defer b.stop()
		b.changed()
		b.wantState(fleet.ConfigHeld, "keep it as it is")
		if _, _, err := b.engine.Apply(t.Context(), b.id, b.plan().Digest, keep("folders.photos")); err != nil {
			t.Fatal(err)
		}
		b.want("folders.photos.path", `"/srv/p"`)
		b.want("devices."+string(nora)+".name", `"Nora"`)
		b.wantState(fleet.ConfigUnmanaged, "")
	})
}

func TestPasswordIsSentOnce(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t, tmpl(1, fleet.OpSet, "gui.password", `"${secret:pw}"`))
		b.start()
		defer b.stop()
		if _, _, err := b.engine.Apply(t.Context(), b.id, b.plan().Digest, consent("gui.password")); err != nil {
			t.Fatal(err)
		}
		b.wantState(fleet.ConfigInSync, "")
		b.wantWrites(1)
		b.stop()
		b.start() // another process
		b.seen()
		b.wantState(fleet.ConfigInSync, "")
		b.wantWrites(1)
		for _, e := range b.store.entries[b.id] {
			if strings.Contains(string(e.Sent)+string(e.Written)+string(e.Intended), "horse") {
				t.Error("the password is kept in clear")
			}
		}
		b.changed()
		b.wantWrites(1) // a hash is never put back
		b.wantState(fleet.ConfigHeld, "cannot be written back: keep this one")
	})
}

func TestIgnoresFollowTheirFolder(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t, photos, tmpl(3, fleet.OpSet, "ignores.photos", `["*.tmp"]`))
		b.start()
		defer b.stop()
		if got := fmt.Sprint(b.daemon.ignores["photos"]); got != "[*.tmp]" {
			t.Errorf("ignore patterns %s", got)
		}
		b.wantState(fleet.ConfigInSync, "")
		b.want("folders.photos.paused", "false")
		calls := b.daemon.written() // made paused, so that nothing is offered that is to be ignored
		if len(calls) != 4 || !strings.Contains(calls[1], `"paused":true`) || calls[2] != "ignores photos" ||
			!strings.HasSuffix(calls[3], `{"paused":false}`) {
			t.Errorf("calls:\n%s", strings.Join(calls, "\n"))
		}
		if got := outcomesOf(b.store.outcomes()); got != "[applied applied]" {
			t.Error(got)
		}
		b.daemon.mu.Lock()
		b.daemon.ignores["photos"] = []string{"mine"}
		b.daemon.mu.Unlock()
		time.Sleep(16 * time.Minute) // no event tells of them
		synctest.Wait()
		if got := fmt.Sprint(b.daemon.ignores["photos"]); got != "[*.tmp]" {
			t.Errorf("ignore patterns %s", got)
		}
		b.changed(photos)
		if got := fmt.Sprint(b.daemon.ignores["photos"]); got != "[mine]" {
			t.Errorf("ignore patterns %s", got)
		}
	})
}

// Killed between the making of a folder and its patterns: it is still Muster's, gets them, and starts only then.
func TestAFolderIsNotStartedWithoutItsIgnores(t *testing.T) {
	for _, step := range []string{reconcile.StepAfterWrite + "2", reconcile.StepBeforeOutcome} {
		t.Run(step, func(t *testing.T) {
			in(t, func(t *testing.T) {
				b := newBench(t, photos, tmpl(3, fleet.OpSet, "ignores.photos", `["*.tmp"]`))
				b.step = func(name string) {
					if name == step {
						killed()
					}
				}
				b.start()
				b.stop()
				b.want("folders.photos.paused", "true")
				b.step = nil
				b.daemon.before = func(_ *daemon, call string) error {
					if strings.HasPrefix(call, "ignores") {
						return rejected("bad pattern")
					}
					return nil
				}
				b.start()
				defer func() { b.stop() }()
				b.want("folders.photos.paused", "true")
				b.wantState(fleet.ConfigFailed, "bad pattern")
				b.daemon.before = nil
				if _, _, err := b.engine.Apply(t.Context(), b.id, b.plan().Digest, nil); err != nil {
					t.Fatal(err)
				}
				b.want("folders.photos.paused", "false")
				b.wantState(fleet.ConfigInSync, "")
				b.changed()
				b.wantState(fleet.ConfigHeld, "folders.photos") // it was not there before Muster
			})
		})
	}
}

func TestATemplatesErrorStopsTheDevice(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t, noNAT, tmpl(9, fleet.OpSet, "options.maxSendKbps", `"fast"`))
		b.start()
		defer b.stop()
		b.wantWrites(0)
		b.wantState(fleet.ConfigFailed, "template 9")
		b.changed(noNAT)
		b.want("options.natEnabled", "false")
		b.wantState(fleet.ConfigInSync, "")
	})
}

func TestAWorkerThatIsGoneIsNoTemplatesFault(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t, noNAT)
		b.evals.fails(unreachable())
		b.start()
		defer b.stop()
		b.evals.fails(nil)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		b.want("options.natEnabled", "false")
	})
}

func TestTooOldToManage(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t, noNAT)
		b.daemon.known.TooOld = true
		b.start()
		defer b.stop()
		b.wantWrites(0)
		b.wantState(fleet.ConfigFailed, "too old")
	})
}

func TestTheStoreFailsBeforeTheFirstByte(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t, noNAT)
		b.store.fail = func(string) error { return context.DeadlineExceeded }
		b.start()
		defer b.stop()
		time.Sleep(time.Minute)
		synctest.Wait()
		b.wantWrites(0) // no intent, no write
		b.store.mu.Lock()
		b.store.fail = func(call string) error {
			if call == "finish" {
				return context.DeadlineExceeded
			}
			return nil
		}
		b.store.mu.Unlock()
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		b.wantWrites(1) // the outcome cannot be recorded: verified, not repeated
		b.store.mu.Lock()
		b.store.fail = nil
		b.store.mu.Unlock()
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		b.wantWrites(1)
		b.wantState(fleet.ConfigInSync, "")
	})
}

func TestADeletedDeviceIsForgotten(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t, noNAT)
		b.start()
		defer b.stop()
		b.store.mu.Lock()
		gone := *b.store.registry
		gone.Devices = map[fleet.DeviceID]*fleet.Registered{}
		b.store.registry = &gone
		b.store.mu.Unlock()
		b.engine.RegistryChanged()
		synctest.Wait()
		if _, err := b.engine.Plan(t.Context(), b.id); fleet.CodeOf(err) != fleet.CodeNotFound {
			t.Errorf("plan of a deleted device: %v", err)
		}
		b.daemon.edit("options.natEnabled", "true")
		b.seen()
		b.want("options.natEnabled", "true")
	})
}
