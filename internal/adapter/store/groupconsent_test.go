package store

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"muster/internal/fleet"
)

// groupOf is a rollout with two members and a group consent to one change, given while it runs.
func groupOf(t *testing.T, s *Store, devices ...fleet.DeviceID) (fleet.Rollout, fleet.GroupConsent) {
	t.Helper()
	r := running(fullRollout(s, 3, devices...))
	r.ID = only(s.PutRollouts(t.Context(), fleet.RolloutWrite{Rollouts: []fleet.Rollout{r}}))(t)
	return r, fleet.GroupConsent{
		Rollout: r.ID, Key: "folders.a", Change: "same", Answer: fleet.AnswerConsent, By: "nora", At: seenAt,
	}
}

func running(r fleet.Rollout) fleet.Rollout {
	r.Status, r.EndedAt = fleet.RolloutRunning, time.Time{}
	return r
}

func consentOf(g fleet.GroupConsent, device fleet.DeviceID, key string) fleet.Consent {
	return fleet.Consent{Device: device, Key: key, Answer: g.Answer, Change: "of " + string(device), By: g.By, At: g.At,
		Until: g.At.Add(24 * time.Hour), Group: g.ID}
}

func TestAGroupConsentIsUsedOncePerDeviceAndKey(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := must(Open(t.Context(), options))(t)
		a, b := put(t, s, deviceN(1)).ID, put(t, s, deviceN(2)).ID
		_, g := groupOf(t, s, a, b)
		g.Now = []fleet.Consent{consentOf(g, a, "folders.a")}
		g = must(s.PutGroupConsents(t.Context(), []fleet.GroupConsent{g}))(t)[0]
		now := g.Now
		if g.Now = nil; len(now) != 1 || now[0].Group != g.ID {
			t.Fatalf("got %+v", now)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = open(t, options)
		if got := must(s.OpenConsents(t.Context()))(t); !reflect.DeepEqual(got, now) {
			t.Errorf("got %+v, want %+v", got, now)
		}
		for _, id := range []fleet.DeviceID{a, b} {
			got := must(s.GroupConsents(t.Context(), id))(t)
			if !reflect.DeepEqual(got, []fleet.GroupConsent{g}) {
				t.Errorf("got %+v, want %+v", got, g)
			}
		}

		other := consentOf(g, a, "folders.a")
		other.Change = "names another peer"
		if got := must(s.PutConsents(t.Context(), []fleet.Consent{other}))(t); len(got) != 1 || got[0].ID != now[0].ID {
			t.Errorf("got %+v, want the consent that is there", got)
		}
		if got := must(s.OpenConsents(t.Context()))(t); len(got) != 1 || got[0].Change != "names another peer" {
			t.Errorf("got %+v: the consent did not follow the change", got)
		}
		if err := s.CloseConsents(t.Context(), []int64{now[0].ID}, 7); err != nil {
			t.Fatal(err)
		}
		both := []fleet.Consent{consentOf(g, a, "folders.a"), consentOf(g, b, "folders.a"), consentOf(g, a, "folders.b")}
		if got := must(s.PutConsents(t.Context(), both))(t); len(got) != 2 || got[0].Device != b ||
			got[1].Key != "folders.b" {
			t.Errorf("got %+v, want what the group was not used for", got)
		}
		given := must(s.GivenConsents(t.Context(), 10))(t)
		if len(given) != 3 || given[2].Intent != 7 || !given[2].Used || given[2].Closed.IsZero() ||
			given[2].Rollout != g.Rollout {
			t.Errorf("got %+v", given)
		}
		if got := must(s.GivenConsents(t.Context(), 1))(t); len(got) != 1 || got[0].ID != given[0].ID {
			t.Errorf("got %+v, want the newest", got)
		}
	})
}

// An answer for a whole rollout was one transaction for each different change: a crash left the first of them answered.
func TestTheAnswerForAWholeRolloutIsStoredWholeOrNotAtAll(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		a := put(t, s, deviceN(1)).ID
		_, one := groupOf(t, s, a)
		other := one
		one.Now = []fleet.Consent{consentOf(one, a, "folders.a")}
		other.Change = "another"
		other.Now = []fleet.Consent{consentOf(one, a, strings.Repeat("x", maxBaseKeyBytes+1))}
		_, err := s.PutGroupConsents(t.Context(), []fleet.GroupConsent{one, other})
		if fleet.CodeOf(err) != fleet.CodeInvalid {
			t.Fatalf("got %v, want that the key of the second change is too long", err)
		}
		if got := must(s.GroupConsents(t.Context(), a))(t); len(got) > 0 {
			t.Errorf("half of the answer holds for the rollout: %+v", got)
		}
		if got := must(s.OpenConsents(t.Context()))(t); len(got) > 0 {
			t.Errorf("half of the answer is recorded: %+v", got)
		}
		other.Now = nil
		must(s.PutGroupConsents(t.Context(), []fleet.GroupConsent{one, other}))(t)
		if got := must(s.GroupConsents(t.Context(), a))(t); len(got) != 2 {
			t.Errorf("got %+v, want both", got)
		}
	})
}

func TestAGroupConsentCountsWhileItsRolloutSpeaksForTheDevice(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		clock := &stoppedClock{at: seenAt}
		options.Now = clock.now
		s := open(t, options)
		a, b := put(t, s, deviceN(1)).ID, put(t, s, deviceN(2)).ID
		r, g := groupOf(t, s, a, b)
		removals := fleet.GroupConsent{Removals: true, Answer: fleet.AnswerConsent, By: "nora", At: seenAt, Rollout: r.ID,
			Shown: []fleet.ShownChange{{Device: a, Digest: "1"}, {Device: b, Digest: "2"}}}
		must(s.PutRollouts(t.Context(), fleet.RolloutWrite{Consents: []fleet.GroupConsent{removals}}))(t)
		must(s.PutGroupConsents(t.Context(), []fleet.GroupConsent{g}))(t)
		count := func(id fleet.DeviceID) int { return len(must(s.GroupConsents(t.Context(), id))(t)) }

		r.Status, r.EndedAt, r.Members = fleet.RolloutSucceeded, seenAt, nil
		must(s.PutRollouts(t.Context(), fleet.RolloutWrite{Rollouts: []fleet.Rollout{r}}))(t)
		clock.move(fleet.GroupConsentTime - time.Second)
		if got := count(a); got != 2 {
			t.Errorf("got %d of a rollout that has just ended, want 2", got)
		}
		clock.move(time.Second)
		if got := count(a); got != 0 {
			t.Errorf("got %d a day after the end of the rollout", got)
		}

		r, g = groupOf(t, s, a, b)
		must(s.PutGroupConsents(t.Context(), []fleet.GroupConsent{g}))(t)
		removals.Rollout, removals.At = r.ID, clock.now()
		must(s.PutRollouts(t.Context(), fleet.RolloutWrite{Consents: []fleet.GroupConsent{removals}}))(t)
		later, _ := groupOf(t, s, a)
		if got := count(a); got != 0 {
			t.Errorf("got %d of a rollout that another one followed", got)
		}
		if got := count(b); got != 2 {
			t.Errorf("got %d of a device that the later one does not touch, want 2", got)
		}
		want := map[fleet.DeviceID]int64{a: later.ID, b: r.ID}
		if got := must(s.RolloutsOfDevices(t.Context()))(t); !reflect.DeepEqual(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		if got := count(deviceN(3).ID); got != 0 {
			t.Errorf("got %d of a device in no rollout", got)
		}
	})
}

// An undo's consent counted for ever on a device that no later change touched: what a person changed there months later
// was removed without an answer.
func TestTheConsentOfAnUndoEndsAfterADayInWhichTheDeviceCouldBeReached(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		clock := &stoppedClock{at: seenAt}
		options.Now = clock.now
		var told fleet.Committed
		options.Committed = func(c fleet.Committed) { told.Merge(c) }
		s := open(t, options)
		a, b := put(t, s, deviceN(1)).ID, put(t, s, deviceN(2)).ID
		removals := fleet.GroupConsent{Removals: true, Answer: fleet.AnswerConsent, By: "nora", At: seenAt,
			Shown: []fleet.ShownChange{{Device: a, Digest: "1"}, {Device: b, Digest: "2"}}}
		must(s.PutRollouts(t.Context(), fleet.RolloutWrite{Rollouts: []fleet.Rollout{running(fullRollout(s, 3, a, b))},
			Consents: []fleet.GroupConsent{removals}}))(t)
		if !slices.Contains(told.Consented, a) || !slices.Contains(told.Consented, b) {
			t.Errorf("told %+v", told)
		}
		count := func(id fleet.DeviceID) int { return len(must(s.GroupConsents(t.Context(), id))(t)) }
		open := must(s.OpenConsentsOf(t.Context(), b))(t)
		if len(open) != 1 || open[0].Key != "" {
			t.Fatalf("got %+v, want the time in which it counts", open)
		}
		away := open[0].Reachable(false, seenAt.Add(time.Hour))
		if err := s.PutConsentTimes(t.Context(), []fleet.Consent{away}); err != nil {
			t.Fatal(err)
		}
		clock.move(fleet.ConsentTime - time.Second)
		if count(a) != 1 || count(b) != 1 {
			t.Error("it ended within the day")
		}
		clock.move(30 * 24 * time.Hour)
		if got := count(a); got != 0 {
			t.Errorf("got %d after more than a day", got)
		}
		if got := count(b); got != 1 {
			t.Errorf("got %d, want it to count: the device was away", got)
		}
		back := away.Reachable(true, clock.now())
		if err := s.PutConsentTimes(t.Context(), []fleet.Consent{back}); err != nil {
			t.Fatal(err)
		}
		clock.move(fleet.ConsentTime - time.Hour - time.Second)
		if got := count(b); got != 1 {
			t.Errorf("got %d within the day that the device was back", got)
		}
		clock.move(time.Second)
		if got := count(b); got != 0 {
			t.Errorf("got %d after the day", got)
		}
		if given := must(s.GivenConsents(t.Context(), 10))(t); len(given) != 0 {
			t.Errorf("got %+v: no answer of a person to one change", given)
		}
	})
}

// An undo and its consent are one write: either both are there or none.
func TestARolloutAndItsGroupConsentAreOneWrite(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		a, other := put(t, s, deviceN(1)).ID, put(t, s, deviceN(2)).ID
		shown := []fleet.ShownChange{{Device: a, Digest: "1"}, {Device: other, Digest: "2"}, {Device: a, Digest: "3"}}
		removals := fleet.GroupConsent{Removals: true, Answer: fleet.AnswerConsent, By: "nora", At: time.Now(), Shown: shown}
		id := only(s.PutRollouts(t.Context(), fleet.RolloutWrite{
			Rollouts: []fleet.Rollout{fullRollout(s, 3, a)}, Consents: []fleet.GroupConsent{removals},
		}))(t)
		got := must(s.GroupConsents(t.Context(), a))(t)
		if len(got) != 1 || got[0].Rollout != id || !slices.Equal(got[0].Shown, []fleet.ShownChange{shown[0], shown[2]}) {
			t.Errorf("got %+v, want what was shown of this device", got)
		}
		if got := must(s.GroupConsents(t.Context(), other))(t); len(got) > 0 {
			t.Errorf("got %+v of a device that is no member", got)
		}
		removals.Rollout = 99
		_, err := s.PutRollouts(t.Context(), fleet.RolloutWrite{Rollouts: []fleet.Rollout{fullRollout(s, 3, a)},
			Consents: []fleet.GroupConsent{removals}})
		wantCode(t, err, fleet.CodeNotFound)
		if got := must(s.Rollouts(t.Context()))(t); len(got) != 1 {
			t.Errorf("got %d rollouts: half of a write that failed was kept", len(got))
		}
	})
}

// The audit had the number of removals to which an undo consented, and named no device and no key.
func TestTheAuditNamesWhatAnUndoConsentedTo(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		a, b, other := put(t, s, deviceN(1)).ID, put(t, s, deviceN(2)).ID, put(t, s, deviceN(3)).ID
		g := fleet.GroupConsent{Removals: true, Answer: fleet.AnswerConsent, By: "nora", At: time.Now(),
			Keys: map[fleet.ShownChange]string{}}
		for i, one := range []struct {
			device fleet.DeviceID
			key    string
		}{{a, "folders.p"}, {a, "folders.q"}, {b, "folders.p"}, {other, "folders.p"}} {
			shown := fleet.ShownChange{Device: one.device, Digest: strconv.Itoa(i)}
			g.Shown = append(g.Shown, shown)
			g.Keys[shown] = one.key
		}
		id := only(s.PutRollouts(t.Context(), fleet.RolloutWrite{
			Rollouts: []fleet.Rollout{fullRollout(s, 3, a, b)}, Consents: []fleet.GroupConsent{g},
		}))(t)
		both := []fleet.DeviceID{a, b}
		slices.Sort(both)
		var got []string
		for _, e := range must(s.Audit(t.Context(), fleet.AuditQuery{Limit: 100}))(t) {
			if e.What == "rollout.consent" && e.Subject == strconv.FormatInt(id, 10) {
				got = append(got, e.Detail)
			}
		}
		slices.Sort(got)
		want := []string{fmt.Sprintf("consent to folders.p on %s, %s", both[0], both[1]),
			fmt.Sprintf("consent to folders.q on %s", a)}
		if !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// One device that was deleted meanwhile failed the answer for the whole rollout, which then nobody could give.
func TestOneDeletedDeviceFailedTheAnswerOfAWholeRollout(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		a, gone := put(t, s, deviceN(1)).ID, put(t, s, deviceN(2)).ID
		_, g := groupOf(t, s, a, gone)
		g.Now = []fleet.Consent{consentOf(g, a, "folders.a"), consentOf(g, gone, "folders.a")}
		if err := s.DeleteDevice(t.Context(), gone, nil); err != nil {
			t.Fatal(err)
		}
		kept := must(s.PutGroupConsents(t.Context(), []fleet.GroupConsent{g}))(t)
		if len(kept) != 1 || len(kept[0].Now) != 1 || kept[0].Now[0].Device != a {
			t.Errorf("got %+v, want the answer of the device that is left", kept)
		}
		if open := must(s.OpenConsents(t.Context()))(t); len(open) != 1 || open[0].Device != a {
			t.Errorf("recorded %+v", open)
		}
		alone := consentOf(g, gone, "folders.a")
		alone.Group = 0
		if kept := must(s.PutConsents(t.Context(), []fleet.Consent{alone}))(t); len(kept) > 0 {
			t.Errorf("recorded for a deleted device: %+v", kept)
		}
	})
}
