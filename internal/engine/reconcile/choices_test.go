package reconcile_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/crypto/bcrypt"

	"muster/internal/core/plan"
	"muster/internal/core/stconfig"
	"muster/internal/engine/reconcile"
	"muster/internal/fleet"
)

const (
	hers       = `"$2a$10$KxrCbGMSDMIcKnDZgVcTzOZuVWQm7nQcGF0m6K1cYJ3Hq4uB9VwZK"`
	noPassword = "no password"
)

// withdrawnPassword is a daemon that got a password by a template which is gone. before is the password of the time
// before that.
func withdrawnPassword(t *testing.T, before string) *bench {
	b := newBench(t)
	password, err := stconfig.Parse([]byte(before))
	if err != nil {
		t.Fatal(err)
	}
	b.daemon.doc = stconfig.Replace(b.daemon.doc, keyOf("gui.password"), password)
	b.start()
	b.seen()
	b.changed(tmpl(1, fleet.OpSet, "gui.password", `"${secret:pw}"`))
	if _, _, err := b.engine.Apply(t.Context(), b.id, b.plan().Digest, consent("gui.password")); err != nil {
		t.Fatal(err)
	}
	b.changed()
	b.wantState(fleet.ConfigHeld, "gui.password")
	return b
}

// choose has a person choose a value by name, with the plan as it is now.
func (b *bench) choose(key, name string) (done, waiting []plan.Change, err error) {
	ctx := fleet.WithActor(b.t.Context(), "nora")
	return b.engine.Apply(ctx, b.id, b.plan().Digest, map[string]fleet.Answer{key: fleet.AnswerValue(name)})
}

// wantNoPassword checks that the daemon's password is empty, and that Muster leaves it so. A daemon keeps the hash of
// an empty password, too.
func (b *bench) wantNoPassword() {
	b.t.Helper()
	if hash := strings.Trim(b.daemon.at("gui.password"), `"`); bcrypt.CompareHashAndPassword([]byte(hash), nil) != nil {
		b.t.Errorf("gui.password is %q, want the hash of an empty one", hash)
	}
	b.wantState(fleet.ConfigUnmanaged, "")
	b.seen()
	if changes := b.plan().Changes; len(changes) > 0 {
		b.t.Errorf("then the plan has %+v", changes)
	}
}

// Where a password is withdrawn, the hash that the daemon made of it stayed: the one from before cannot be written
// back, and nobody could say that there is to be none.
func TestAPersonChoosesThatADaemonHasNoPassword(t *testing.T) {
	for name, before := range map[string]string{"there was none": `""`, "there was another": hers} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T) {
				b := withdrawnPassword(t, before)
				defer func() { b.stop() }()
				if got := b.plan().Changes[0].Choices(); len(got) != 1 || got[0].Name != noPassword ||
					!strings.Contains(got[0].Does, "everybody who reaches the daemon") {
					t.Fatalf("the hold offers %+v", got)
				}
				done, waiting, err := b.choose("GUI.password", noPassword)
				if err != nil || len(done) != 1 || len(waiting) > 0 {
					t.Fatalf("got %+v, %+v, %v", done, waiting, err)
				}
				b.wantNoPassword()
				given := b.store.consents[len(b.store.consents)-1]
				if given.By != "nora" || given.Answer.Choice() != noPassword || !slices.Contains(b.store.used, given.ID) {
					t.Errorf("recorded %+v, used %v", given, b.store.used)
				}
				b.stop()
				b.start() // It is another process.
				b.seen()
				b.wantNoPassword()
			})
		})
	}
}

// A template that asks for a password decides about it, and the choice of an earlier time does not count.
func TestAChoiceIsOfferedWhereNoTemplateAsks(t *testing.T) {
	in(t, func(t *testing.T) {
		b := withdrawnPassword(t, hers)
		defer func() { b.stop() }()
		if _, _, err := b.choose("gui.password", noPassword); err != nil {
			t.Fatal(err)
		}
		b.changed(tmpl(1, fleet.OpSet, "gui.password", `"${secret:pw}"`))
		if got := b.plan().Changes; len(got) != 1 || got[0].Class != plan.Held || len(got[0].Choices()) > 0 {
			t.Fatalf("got %+v", got)
		}
		if _, _, err := b.choose("gui.password", noPassword); fleet.CodeOf(err) != fleet.CodeInvalid ||
			!strings.Contains(err.Error(), "offers no value") {
			t.Errorf("got %v", err)
		}
		if _, _, err := b.engine.Apply(t.Context(), b.id, b.plan().Digest, consent("gui.password")); err != nil {
			t.Fatal(err)
		}
		b.changed()
		b.wantState(fleet.ConfigHeld, "gui.password") // The base is the choice now, and a person is asked again.
		if _, _, err := b.engine.Apply(t.Context(), b.id, b.plan().Digest, consent("gui.password")); err != nil {
			t.Fatal(err)
		}
		b.wantNoPassword()
	})
}

func TestAChoiceThatIsNotOffered(t *testing.T) {
	in(t, func(t *testing.T) {
		b := withdrawnPassword(t, hers)
		defer func() { b.stop() }()
		hash, recorded := b.daemon.at("gui.password"), len(b.store.consents)
		for key, name := range map[string]string{"gui.password": "no user", "gui.user": noPassword,
			"options.natEnabled": noPassword} {
			if _, _, err := b.choose(key, name); fleet.CodeOf(err) != fleet.CodeInvalid {
				t.Errorf("%s of %s: got %v", name, key, err)
			}
		}
		_, _, err := b.choose("gui.password", "no user")
		if err == nil || !strings.Contains(err.Error(), `it offers "no password"`) {
			t.Errorf("got %v, want what is offered", err)
		}
		_, _, err = b.engine.Apply(t.Context(), b.id, b.plan().Digest, map[string]fleet.Answer{
			"gui.password": fleet.AnswerKeep, "GUI.password": fleet.AnswerValue(noPassword)})
		if fleet.CodeOf(err) != fleet.CodeInvalid {
			t.Errorf("two answers to one key: got %v", err)
		}
		stale := b.plan().Digest
		b.daemon.edit("gui.password", hers) // A person sets another password meanwhile.
		b.seen()
		_, _, err = b.engine.Apply(t.Context(), b.id, stale, map[string]fleet.Answer{
			"gui.password": fleet.AnswerValue(noPassword)})
		if fleet.CodeOf(err) != fleet.CodeConflict {
			t.Errorf("a choice for a plan that is another by now: got %v", err)
		}
		if b.want("gui.password", hers); len(b.store.consents) != recorded || hash == hers {
			t.Errorf("recorded %+v", b.store.consents[recorded:])
		}
	})
}

// The person's choice is carried out where the process is killed before the write.
func TestAChoiceOutlivesAKillBeforeTheWrite(t *testing.T) {
	for _, at := range []string{reconcile.StepBeforeIntent, reconcile.StepAfterIntent} {
		for name, before := range map[string]string{"there was none": `""`, "there was another": hers} {
			t.Run(fmt.Sprint(at, ", ", name), func(t *testing.T) {
				in(t, func(t *testing.T) {
					b := withdrawnPassword(t, before)
					defer func() { b.stop() }()
					hash := b.daemon.at("gui.password")
					b.stop()
					g := b.group()
					_, err := b.engine.AnswerGroup(t.Context(), fleet.GroupAnswer{Digest: g.Digest,
						Answer: fleet.AnswerValue(noPassword), Shown: allShown(g)})
					if err != nil {
						t.Fatal(err)
					}
					b.step = func(name string) {
						if name == at {
							b.store.mu.Lock()
							b.store.fail = func(string) error { return errors.New("killed") }
							b.store.mu.Unlock()
							b.daemon.mu.Lock()
							b.daemon.online = false
							b.daemon.mu.Unlock()
						}
					}
					b.start()
					b.want("gui.password", hash)
					b.stop()
					b.step, b.store.fail, b.daemon.online = nil, nil, true
					b.start()
					b.seen()
					b.wantNoPassword()
				})
			})
		}
	}
}

// A daemon without room on its disk did not save that it has no password: the choice is open until it did.
func TestAChoiceIsCarriedOutOnceTheDaemonCanSave(t *testing.T) {
	in(t, func(t *testing.T) {
		b := withdrawnPassword(t, hers)
		defer func() { b.stop() }()
		hash := b.daemon.at("gui.password")
		freed := b.fullDisk()
		b.answers(fleet.GroupAnswer{Answer: fleet.AnswerValue(noPassword)})
		synctest.Wait()
		b.want("gui.password", hash)
		freed()
		b.later(5 * time.Minute)
		b.wantNoPassword()
	})
}

// A choice in an answer to a group is for what was shown or, where a person says so, for the whole rollout.
func TestAChoiceForAGroup(t *testing.T) {
	for _, whole := range []int64{0, 7} {
		in(t, func(t *testing.T) {
			b := withdrawnPassword(t, hers)
			defer func() { b.stop() }()
			b.store.mu.Lock()
			b.store.rollouts = map[fleet.DeviceID]int64{b.id: 7}
			b.store.mu.Unlock()
			g := b.group()
			if g.Consent || !g.Keep || len(g.Choices) != 1 {
				t.Fatalf("got %+v", g)
			}
			a := fleet.GroupAnswer{Digest: g.Digest, Answer: fleet.AnswerValue("no user"), Shown: allShown(g),
				WholeRollout: whole}
			if _, err := b.engine.AnswerGroup(t.Context(), a); fleet.CodeOf(err) != fleet.CodeInvalid {
				t.Errorf("got %v", err)
			}
			a.Answer = fleet.AnswerValue(noPassword)
			if done, err := b.engine.AnswerGroup(t.Context(), a); err != nil || len(done.Changes) != 1 {
				t.Fatalf("got %+v, %v", done, err)
			}
			synctest.Wait()
			b.wantNoPassword()
		})
	}
}

// A member of the rollout that gets the change later uses the choice, too.
func TestALaterMemberUsesTheChoiceForTheRollout(t *testing.T) {
	in(t, func(t *testing.T) {
		b := withdrawnPassword(t, hers)
		defer func() { b.stop() }()
		given := fleet.GroupConsent{ID: 1, Rollout: 7, Key: "gui.password", Change: b.equal(),
			Answer: fleet.AnswerValue(noPassword), By: "nora"}
		b.store.mu.Lock()
		b.store.rollouts, b.store.groups = map[fleet.DeviceID]int64{b.id: 7}, []fleet.GroupConsent{given}
		b.store.mu.Unlock()
		b.wake()
		b.wantNoPassword()
	})
}

// A user and a password come and go together, so the choice waits for the answer about the user.
func TestAChoiceWaitsForTheUserOfThePassword(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t)
		b.start()
		defer func() { b.stop() }()
		b.daemon.edit("gui.user", `"alice"`)
		b.daemon.edit("gui.password", hers)
		b.seen()
		b.changed(tmpl(1, fleet.OpMerge, "gui", `{"user": "admins", "password": "${secret:pw}"}`))
		_, _, err := b.engine.Apply(t.Context(), b.id, b.plan().Digest, consent("gui.user", "gui.password"))
		if err != nil {
			t.Fatal(err)
		}
		b.changed()
		hash := b.daemon.at("gui.password")
		done, waiting, err := b.choose("gui.password", noPassword)
		if err != nil || len(done) > 0 || !strings.Contains(waiting[0].Reason, "left out together with gui.user") {
			t.Fatalf("got %+v, %+v, %v", done, waiting, err)
		}
		b.want("gui.password", hash)
		if _, _, err := b.engine.Apply(t.Context(), b.id, b.plan().Digest, consent("gui.user")); err != nil {
			t.Fatal(err)
		}
		b.want("gui.user", `"alice"`)
		b.wantNoPassword()
	})
}

// The choice is another answer than keep, which a person may still give while the choice waits.
func TestKeepReplacesAChoiceThatWaits(t *testing.T) {
	in(t, func(t *testing.T) {
		b := withdrawnPassword(t, hers)
		defer func() { b.stop() }()
		hash := b.daemon.at("gui.password")
		b.daemon.online = false
		b.engine.Offline(b.id)
		synctest.Wait()
		b.answers(fleet.GroupAnswer{Answer: fleet.AnswerValue(noPassword)})
		synctest.Wait()
		if c := b.plan().Changes[0]; !c.Consented || !c.IsChosen() {
			t.Fatalf("the choice is not planned: %+v", c)
		}
		if _, _, err := b.engine.Apply(t.Context(), b.id, b.plan().Digest, keep("gui.password")); err != nil {
			t.Fatal(err)
		}
		b.daemon.online = true
		b.engine.Online(b.id)
		synctest.Wait()
		b.want("gui.password", hash)
		b.wantState(fleet.ConfigUnmanaged, "")
	})
}

// The path of a folder was moved at the daemon, and keep was refused without a way on.
func TestToKeepAPathAgainstItsTemplateTheErrorSaysHow(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t, madeFolder)
		b.start()
		defer b.stop()
		b.daemon.edit("folders.made.path", `"/home/one/elsewhere"`)
		b.seen()
		b.wantState(fleet.ConfigHeld, "folders.made.path")
		_, _, err := b.engine.Apply(t.Context(), b.id, b.plan().Digest, keep("folders.made.path"))
		var refused *fleet.Error
		if !errors.As(err, &refused) || refused.Code != fleet.CodeInvalid ||
			!strings.Contains(refused.Message, "template 1") || !strings.Contains(refused.Hint, "muster template put FILE") {
			t.Fatalf("got %v", err)
		}
		writes := len(b.daemon.written())
		ofItsOwn := tmpl(2, fleet.OpSet, "folders.made.path", `"/home/one/elsewhere"`)
		ofItsOwn.Priority = madeFolder.Priority + 1
		b.changed(madeFolder, ofItsOwn)
		b.wantState(fleet.ConfigInSync, "")
		b.want("folders.made.path", `"/home/one/elsewhere"`)
		b.wantWrites(writes)
	})
}
