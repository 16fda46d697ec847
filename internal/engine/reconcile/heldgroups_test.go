package reconcile_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"muster/internal/core/plan"
	"muster/internal/engine/reconcile"
	"muster/internal/fleet"
)

// group is the only group that waits.
func (b *bench) group() fleet.HeldGroup {
	b.t.Helper()
	groups, err := b.engine.HeldGroups(b.t.Context())
	if err != nil || len(groups) != 1 {
		b.t.Fatalf("got %d groups, %v, want 1", len(groups), err)
	}
	return groups[0]
}

func (b *bench) wake() {
	b.engine.Wake([]fleet.DeviceID{b.id})
	synctest.Wait()
}

// equal is the digest that group consents name, of the first change of the plan.
func (b *bench) equal() string {
	b.t.Helper()
	registered := func(id fleet.DeviceID) bool { return id == b.id }
	return plan.Grouping{Key: []byte("k"), Registered: registered}.Equal(b.plan().Changes[0])
}

// noGroup checks that no question is left.
func (b *bench) noGroup() {
	b.t.Helper()
	if groups, err := b.engine.HeldGroups(b.t.Context()); err != nil || len(groups) != 0 {
		b.t.Errorf("got %+v, %v, want nothing that waits", groups, err)
	}
}

// allShown are the changes of a group, as an answer names them.
func allShown(g fleet.HeldGroup) (shown []fleet.ShownChange) {
	for _, c := range g.Changes {
		shown = append(shown, fleet.ShownChange{Device: c.Device, Digest: c.Digest})
	}
	return shown
}

// answers gives an answer to everything that the only group shows.
func (b *bench) answers(a fleet.GroupAnswer) {
	b.t.Helper()
	g := b.group()
	a.Digest, a.Shown = g.Digest, allShown(g)
	ctx := fleet.WithActor(b.t.Context(), "nora")
	got, err := b.engine.AnswerGroup(ctx, a)
	if err != nil || !slices.Equal(fleet.DevicesOf(got.Changes), []fleet.DeviceID{b.id}) || len(got.Waiting) > 0 {
		b.t.Fatalf("got %+v, %v", got, err)
	}
}

func TestWhatWaitsIsShownAndAnswered(t *testing.T) {
	in(t, func(t *testing.T) {
		b := askedAboutFolder(t)
		defer func() { b.stop() }()
		g := b.group()
		if g.Key != "folders.made" || !g.Consent || !g.Keep || !g.Removes || len(g.Changes) != 1 {
			t.Fatalf("got %+v", g)
		}
		c := g.Changes[0]
		if c.Device != b.id || string(c.To) != "null" || !strings.Contains(string(c.From), `"/home/one/made"`) ||
			!strings.Contains(c.Reason, "remove it, or keep it") || !slices.Equal(c.Names.Folders, []string{"made"}) ||
			!slices.Equal(c.Names.Paths, []string{"/home/one/made"}) {
			t.Errorf("got %+v", c)
		}
		b.answers(fleet.GroupAnswer{Answer: fleet.AnswerConsent})
		synctest.Wait()
		b.want("folders.made", "absent")
		b.noGroup()
		given := b.store.consents
		if len(given) != 1 || given[0].By != "nora" || given[0].Until.Sub(given[0].At) != 24*time.Hour ||
			len(b.store.closed) != 1 {
			t.Errorf("recorded %+v, %v closed", given, b.store.closed)
		}
	})
}

// An answer to what was shown was one for all members of the rollout, which nobody had shown.
func TestAnAnswerIsForTheWholeRolloutOnlyWhereThatIsChosen(t *testing.T) {
	for _, whole := range []int64{0, 7} {
		in(t, func(t *testing.T) {
			b := askedAboutFolder(t)
			defer func() { b.stop() }()
			b.store.mu.Lock()
			b.store.rollouts = map[fleet.DeviceID]int64{b.id: 7, nora: 7}
			b.store.mu.Unlock()
			g := b.group()
			done, err := b.engine.AnswerGroup(t.Context(), fleet.GroupAnswer{Digest: g.Digest, Answer: fleet.AnswerConsent,
				Shown: allShown(g), WholeRollout: whole})
			if err != nil || done.NotShown != map[int64]int{0: 0, 7: 1}[whole] {
				t.Errorf("got %+v, %v", done, err)
			}
			synctest.Wait()
			b.want("folders.made", "absent")
			if got := len(b.store.groups) > 0; got != (whole != 0) {
				t.Errorf("recorded for the whole rollout: %+v", b.store.groups)
			}
		})
	}
}

// One deleted device failed the answer for all others of the rollout.
func TestAnAnswerIsForTheDevicesThatAreLeft(t *testing.T) {
	for name, whole := range map[string]int64{"the whole rollout": 7, "what was shown": 0} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T) {
				b := askedAboutFolder(t)
				defer func() { b.stop() }()
				b.store.mu.Lock()
				b.store.rollouts = map[fleet.DeviceID]int64{b.id: 7}
				left := *b.store.registry
				left.Devices = map[fleet.DeviceID]*fleet.Registered{b.id: left.Devices[b.id]}
				b.store.registry = &left
				b.store.mu.Unlock()
				g := b.group()
				shown := append(allShown(g), fleet.ShownChange{Device: nora, Digest: "of a deleted device"})
				done, err := b.engine.AnswerGroup(t.Context(), fleet.GroupAnswer{Digest: g.Digest,
					Answer: fleet.AnswerConsent, Shown: shown, WholeRollout: whole})
				if err != nil || len(done.Changes) != 1 || !slices.Equal(done.Gone, []fleet.DeviceID{nora}) {
					t.Errorf("got %+v, %v", done, err)
				}
				synctest.Wait()
				b.want("folders.made", "absent")
			})
		})
	}
	in(t, func(t *testing.T) {
		b := askedAboutFolder(t)
		g := b.group()
		b.stop()
		b.store.mu.Lock()
		b.store.registry = &fleet.Registry{}
		b.store.mu.Unlock()
		_, err := b.engine.AnswerGroup(t.Context(), fleet.GroupAnswer{Digest: g.Digest, Answer: fleet.AnswerConsent,
			Shown: allShown(g)})
		if fleet.CodeOf(err) != fleet.CodeConflict || !strings.Contains(err.Error(), "deleted") {
			t.Errorf("got %v, want a conflict", err)
		}
	})
}

// A person answered what they had seen, and the daemon's owner changed the folder meanwhile.
func TestAnAnswerIsForTheChangeAsItWasShown(t *testing.T) {
	in(t, func(t *testing.T) {
		b := askedAboutFolder(t)
		defer func() { b.stop() }()
		before := b.group()
		b.daemon.edit("folders.made.label", `"edited"`)
		b.seen()
		synctest.Wait()
		after := b.group()
		if after.Changes[0].Digest == before.Changes[0].Digest {
			t.Fatal("the folder with another label is the same change")
		}
		_, err := b.engine.AnswerGroup(t.Context(), fleet.GroupAnswer{Digest: after.Digest, Answer: fleet.AnswerConsent,
			Shown: allShown(before)})
		if fleet.CodeOf(err) != fleet.CodeConflict {
			t.Errorf("got %v, want a conflict", err)
		}
		synctest.Wait()
		b.want("folders.made.path", `"/home/one/made"`)
	})
}

// The person's answer is all that Muster needs: it may be killed before anything was sent, or before it even began.
func TestAnAnswerToAGroupOutlivesAKill(t *testing.T) {
	for _, answer := range []fleet.Answer{fleet.AnswerConsent, fleet.AnswerKeep} {
		in(t, func(t *testing.T) {
			b := askedAboutFolder(t)
			b.stop() // from here on nothing is done about an answer
			b.answers(fleet.GroupAnswer{Answer: answer})
			b.want("folders.made.path", `"/home/one/made"`)
			b.start()
			defer b.stop()
			b.wantState(fleet.ConfigUnmanaged, "")
			b.want("folders.made.id", map[fleet.Answer]string{fleet.AnswerConsent: "absent",
				fleet.AnswerKeep: `"made"`}[answer])
			if open, _ := b.store.OpenConsents(t.Context()); len(open) != 0 {
				t.Errorf("still open: %+v", open)
			}
		})
	}
}

// The day of an answer does not run while the device cannot be reached, nor does it run out before it began.
func TestAnAnswerToAGroupWaitsForADeviceThatIsAway(t *testing.T) {
	in(t, func(t *testing.T) {
		b := askedAboutFolder(t)
		defer func() { b.stop() }()
		b.daemon.online = false
		b.answers(fleet.GroupAnswer{Answer: fleet.AnswerConsent})
		synctest.Wait()
		b.noGroup()
		<-time.After(72 * time.Hour)
		b.want("folders.made.path", `"/home/one/made"`)
		b.daemon.online = true
		b.engine.Online(b.id)
		synctest.Wait()
		b.want("folders.made", "absent")
	})
}

// The time in which an undo's consent counts for a device is a record of its own, which no plan ends.
func TestTheTimeOfAnUndosConsentRunsWhileTheDeviceCanBeReached(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t, madeFolder)
		b.start()
		defer func() { b.stop() }()
		b.want("folders.made.path", `"/home/one/made"`)
		given := time.Now()
		b.store.consents = []fleet.Consent{{ID: 1, Device: b.id, Answer: fleet.AnswerConsent, At: given,
			Until: given.Add(fleet.ConsentTime), Group: 1}}
		b.engine.ConsentsGiven([]fleet.DeviceID{b.id})
		b.changed()
		b.wantState(fleet.ConfigHeld, "remove it, or keep it")
		b.daemon.online = false
		b.engine.Offline(b.id)
		synctest.Wait()
		if b.store.consents[0].UnreachableSince.IsZero() {
			t.Error("its time runs while the device is away")
		}
		<-time.After(72 * time.Hour)
		b.daemon.online = true
		b.engine.Online(b.id)
		synctest.Wait()
		c := b.store.consents[0]
		if want := given.Add(72*time.Hour + fleet.ConsentTime); !c.Until.Equal(want) || !c.UnreachableSince.IsZero() {
			t.Errorf("got until %v, want %v", c.Until, want)
		}
		if len(b.store.closed) != 0 {
			t.Errorf("%v closed", b.store.closed)
		}
		<-time.After(fleet.ConsentTime)
		b.wake()
		if !slices.Contains(b.store.closed, 1) {
			t.Error("it is open after a day in which the device could be reached")
		}
	})
}

func TestAnAnswerToAGroupOutlivesAKillBeforeTheIntent(t *testing.T) {
	in(t, func(t *testing.T) {
		b := askedAboutFolder(t)
		b.store.fail = func(string) error { return errors.New("killed") }
		b.answers(fleet.GroupAnswer{Answer: fleet.AnswerConsent})
		synctest.Wait()
		b.want("folders.made.path", `"/home/one/made"`)
		b.stop()
		b.store.fail = nil
		b.start()
		defer b.stop()
		b.want("folders.made", "absent")
	})
}

// A member that gets the change after the answer uses it, once for the key.
func TestALaterMemberUsesAGroupConsentOnce(t *testing.T) {
	in(t, func(t *testing.T) {
		b := askedAboutFolder(t)
		defer func() { b.stop() }()
		b.store.groups = []fleet.GroupConsent{
			{ID: 1, Rollout: 7, Key: "folders.made", Change: b.equal(), Answer: fleet.AnswerConsent, By: "nora"},
		}
		b.wake()
		b.wantState(fleet.ConfigHeld, "remove it, or keep it")
		b.store.rollouts = map[fleet.DeviceID]int64{b.id: 7} // it is a member only now
		b.wake()
		b.want("folders.made", "absent")
		if given := b.store.consents; len(given) != 1 || given[0].Group != 1 || given[0].By != "nora" {
			t.Errorf("recorded %+v", given)
		}
		b.changed(madeFolder)
		b.want("folders.made.path", `"/home/one/made"`)
		b.changed()
		b.wantState(fleet.ConfigHeld, "remove it, or keep it")
		if g := b.group(); g.Rollout != 7 || b.equal() != b.store.groups[0].Change {
			t.Errorf("got %+v, want the same question again", g)
		}
	})
}

func TestADeviceThatIsOnlyObservedUsesNoGroupConsent(t *testing.T) {
	in(t, func(t *testing.T) {
		b := askedAboutFolder(t)
		defer func() { b.stop() }()
		b.store.rollouts = map[fleet.DeviceID]int64{b.id: 7}
		b.store.groups = []fleet.GroupConsent{{ID: 1, Rollout: 7, Change: b.equal(), Answer: fleet.AnswerConsent}}
		b.switchTo(fleet.ModeObserve)
		b.engine.RegistryChanged()
		synctest.Wait()
		b.want("folders.made.path", `"/home/one/made"`)
		if len(b.store.consents) != 0 {
			t.Errorf("got %+v used up", b.store.consents)
		}
		b.noGroup() // The answer covers it, so nobody is asked.
		if s := b.state(); s.Configuration == fleet.ConfigHeld {
			t.Errorf("the state says that an answered change waits: %+v", s)
		}
		b.switchTo(fleet.ModeOn)
		b.engine.RegistryChanged()
		synctest.Wait()
		b.want("folders.made", "absent")
	})
}

// The day of a consent ran while the device was only observed, where the consent cannot be used.
func TestTheTimeOfAConsentStandsStillWhileADeviceIsOnlyObserved(t *testing.T) {
	in(t, func(t *testing.T) {
		b := askedAboutFolder(t)
		defer func() { b.stop() }()
		b.switchTo(fleet.ModeObserve)
		b.engine.RegistryChanged()
		synctest.Wait()
		g := b.group()
		if _, err := b.engine.AnswerGroup(t.Context(), fleet.GroupAnswer{Digest: g.Digest, Answer: fleet.AnswerConsent,
			Shown: allShown(g)}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		b.noGroup()
		time.Sleep(3 * fleet.ConsentTime)
		b.wake()
		b.want("folders.made.path", `"/home/one/made"`)
		b.switchTo(fleet.ModeOn)
		b.engine.RegistryChanged()
		synctest.Wait()
		b.want("folders.made", "absent")
	})
}

// An undo consented to every removal on its devices, by a rule, also to those that nobody had been shown.
func TestAnUndoConsentsOnlyToWhatWasShown(t *testing.T) {
	for name, of := range map[string]func(b *bench) fleet.ShownChange{
		"shown":          func(b *bench) fleet.ShownChange { return allShown(b.group())[0] },
		"another change": func(b *bench) fleet.ShownChange { return fleet.ShownChange{Device: b.id, Digest: "x"} },
		"shown of another device": func(b *bench) fleet.ShownChange {
			return fleet.ShownChange{Device: nora, Digest: allShown(b.group())[0].Digest}
		},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T) {
				b := askedAboutFolder(t)
				defer func() { b.stop() }()
				undo := fleet.GroupConsent{ID: 1, Rollout: 7, Removals: true, Answer: fleet.AnswerConsent, By: "nora",
					Shown: []fleet.ShownChange{of(b)}}
				want := `"made"`
				if name == "shown" {
					want = "absent"
				}
				b.store.groups, b.store.rollouts = []fleet.GroupConsent{undo}, map[fleet.DeviceID]int64{b.id: 7}
				b.wake()
				b.want("folders.made.id", want)
			})
		})
	}
}

// An undo consents to no removal that a template asks for.
func TestAnUndoConsentsToNoRemovalOfATemplate(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t)
		b.store.groups = []fleet.GroupConsent{{ID: 1, Rollout: 7, Removals: true, Answer: fleet.AnswerConsent}}
		b.store.rollouts = map[fleet.DeviceID]int64{b.id: 7}
		b.start()
		defer b.stop()
		b.daemon.edit("folders.own", `{"id": "own", "path": "/home/one/own"}`)
		b.seen()
		b.changed(tmpl(1, fleet.OpRemove, "folders.own", "true"))
		b.want("folders.own.path", `"/home/one/own"`)
		b.wantState(fleet.ConfigHeld, "folders.own")
		b.store.groups[0].Shown = allShown(b.group())
		b.wake()
		b.want("folders.own.path", `"/home/one/own"`)
		if g := b.group(); g.Keep || !g.Removes {
			t.Errorf("got %+v: what a template asks for is not kept by an answer", g)
		}
	})
}

func TestAnswersThatAreForNothing(t *testing.T) {
	in(t, func(t *testing.T) {
		b := askedAboutFolder(t)
		defer func() { b.stop() }()
		g := b.group()
		shown := allShown(g)
		other := []fleet.ShownChange{{Device: nora, Digest: shown[0].Digest}, {Device: b.id, Digest: "x"}, {Device: b.id}}
		for name, a := range map[string]fleet.GroupAnswer{
			"another digest":  {Digest: "x", Answer: fleet.AnswerConsent, Shown: shown},
			"another rollout": {Digest: g.Digest, Answer: fleet.AnswerConsent, Shown: shown, WholeRollout: 8},
			"nothing shown":   {Digest: g.Digest, Answer: fleet.AnswerConsent},
			"another change":  {Digest: g.Digest, Answer: fleet.AnswerConsent, Shown: other},
		} {
			_, err := b.engine.AnswerGroup(t.Context(), a)
			var known *fleet.Error
			if !errors.As(err, &known) || known.Code != fleet.CodeConflict ||
				!strings.Contains(known.Hint, "muster consent list") {
				t.Errorf("%s: got %v", name, err)
			}
		}
		if len(b.store.consents)+len(b.store.groups) != 0 {
			t.Errorf("recorded %+v, %+v", b.store.consents, b.store.groups)
		}
	})
}

// No value is shown that is a secret, nor one that is large.
func TestWhatWaitsShowsNoSecretAndNothingLarge(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t)
		b.start()
		defer b.stop()
		const canary = "correct horse"
		large := `"` + strings.Repeat("x", 70_000) + `"`
		b.changed(tmpl(1, fleet.OpMerge, "gui", `{"user": `+large+`, "password": "${secret:pw}"}`),
			tmpl(2, fleet.OpSet, "gui.apiKey", `"another canary"`))
		groups, err := b.engine.HeldGroups(t.Context())
		if err != nil || len(groups) < 2 {
			t.Fatalf("got %+v, %v", groups, err)
		}
		apiKey := b.daemon.key
		for _, g := range groups {
			shown := string(g.Changes[0].From) + string(g.Changes[0].To) + g.Changes[0].Reason
			for _, secret := range []string{canary, "another canary", apiKey} {
				if strings.Contains(shown, secret) {
					t.Errorf("%s shows %s", g.Key, shown)
				}
			}
			if len(shown) > 4<<10 {
				t.Errorf("%s has %d bytes", g.Key, len(shown))
			}
		}
	})
}

// After a change that cannot be planned, nothing is asked that no plan has.
func TestADeviceWithoutAPlanAsksNothing(t *testing.T) {
	in(t, func(t *testing.T) {
		b := askedAboutFolder(t)
		defer func() { b.stop() }()
		b.group()
		b.evals.fails(&fleet.Error{Code: fleet.CodeInvalid, Message: "broken"})
		b.changed(tmpl(2, fleet.OpSet, "options.natEnabled", "def template(): return True"))
		b.wantState(fleet.ConfigFailed, "broken")
		b.noGroup()
	})
}

var _ reconcile.ConsentStore = (*store)(nil)
