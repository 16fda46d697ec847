package notify

import (
	"testing"
	"testing/synctest"
	"time"

	"muster/internal/fleet"
)

func toOncall(match fleet.Match, groupBy string) rules {
	return rules{routes: []fleet.Route{{Name: "all", Match: match, Channels: []string{"oncall"}, GroupBy: groupBy}}}
}

// Changing a route told "Resolved: all of them are over" while all of them lasted.
func TestAGroupIsNotOverWhenItsRouteIsChangedOrDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, d, oncall := newSource(), newDisk(), newReceiver("oncall")
		n, _ := start(t, Options{Source: s, Store: d, Senders: []Sender{channelOf(oncall)}, After: time.Minute})
		n.setRules(toOncall(fleet.Match{}, ""))
		s.beginTagged(unreachable("a"), "x", "site:berlin")
		s.beginTagged(unreachable("b"), "x")
		pass(3 * time.Minute)
		want := []string{"problem: 2 devices of x cannot be reached"}
		wantSummaries(t, oncall, want...)
		n.setRules(rules{}) // It is deleted.
		pass(10 * time.Minute)
		wantSummaries(t, oncall, want...)
		n.setRules(toOncall(fleet.Match{Devices: []fleet.DeviceID{deviceID("b")}}, "")) // a is not told any more
		pass(10 * time.Minute)
		s.end(unreachable("b"))
		pass(10 * time.Minute)
		wantSummaries(t, oncall, want...)
		s.end(unreachable("a"))
		pass(time.Minute)
		wantSummaries(t, oncall, append(want, "resolved: Resolved: 2 problems of the kind unreachable")...)
		if len(d.groups) != 0 {
			t.Errorf("stored: %+v", d.groups)
		}
	})
}

func TestAGroupThatIsToldInAnotherWayEndsWithItsProblems(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, d, oncall := newSource(), newDisk(), newReceiver("oncall")
		n, _ := start(t, Options{Source: s, Store: d, Senders: []Sender{channelOf(oncall)}, After: time.Minute})
		n.setRules(toOncall(fleet.Match{}, ""))
		s.beginTagged(unreachable("a"), "site:berlin")
		pass(3 * time.Minute)
		one := "problem: label of " + deviceID("a").Short() + " cannot be reached"
		n.setRules(toOncall(fleet.Match{}, "site:"))
		pass(3 * time.Minute)
		wantSummaries(t, oncall, one, one)
		s.end(unreachable("a"))
		pass(time.Minute)
		wantSorted(t, oncall, one, one, "resolved: Resolved: 1 problem of the kind unreachable",
			"resolved: Resolved: 1 problem of site:berlin of the kind unreachable")
	})
}

// In doubt no channel counts. The groups that channels were told of were forgotten, so nobody was told of their end.
func TestAGroupIsKeptWhileItsChannelIsUnsure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, d, oncall := newSource(), newDisk(), newReceiver("oncall")
		n, _ := start(t, Options{Source: s, Store: d, Senders: []Sender{channelOf(oncall)}, After: time.Minute})
		n.setRules(toOncall(fleet.Match{}, ""))
		s.begin(unreachable("a"))
		pass(3 * time.Minute)
		n.setRules(rules{})
		n.replace(true, newReceiver("flag"))
		s.end(unreachable("a"))
		pass(3 * time.Minute)
		n.setRules(toOncall(fleet.Match{}, ""))
		n.replace(false, channelOf(oncall))
		pass(time.Minute)
		wantSummaries(t, oncall, "problem: label of "+deviceID("a").Short()+" cannot be reached",
			"resolved: Resolved: 1 problem of the kind unreachable")
	})
}

// The end was lost, or it was told of a problem of which nobody had been told.
func TestTheEndIsToldToThoseWhoWereToldOfTheBeginning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, d, flag := newSource(), newDisk(), newReceiver("flag")
		n, stop := start(t, Options{Source: s, Store: d, Senders: []Sender{flag}, After: time.Minute})
		toDefault := rules{routes: []fleet.Route{{Name: "all", Channels: []string{fleet.DefaultChannel},
			Match: fleet.Match{Severities: []fleet.Severity{fleet.Critical}}}}}
		s.begin(unreachable("told"))
		pass(3 * time.Minute)
		told := deviceID("told").Short()
		wantSummaries(t, flag, "problem: unreachable "+told)
		n.setRules(toDefault)
		s.begin(unreachable("untold"))
		pass(3 * time.Minute)
		s.end(unreachable("told"))
		pass(time.Minute)
		want := []string{"problem: unreachable " + told, "resolved: unreachable " + told}
		wantSummaries(t, flag, want...)
		stop() // Another process knows too who was told.
		n, _ = start(t, Options{Source: s, Store: d, Senders: []Sender{flag}, After: time.Minute})
		n.setRules(rules{})
		pass(time.Minute)
		s.end(unreachable("untold"))
		pass(time.Minute)
		wantSummaries(t, flag, want...)
		if len(d.problems) != 0 {
			t.Errorf("stored: %+v", d.problems)
		}
	})
}

func TestTheFirstRouteRulesAGroupOfTwo(t *testing.T) {
	first, second := fleet.Route{Name: "a", Channels: []string{"oncall"}, Repeat: time.Hour,
		Match: fleet.Match{Tags: []fleet.Tag{"x"}}}, fleet.Route{Name: "b", Channels: []string{"oncall"}}
	r := rules{routes: []fleet.Route{first, second}}
	problem := func(of string, tags ...fleet.Tag) Problem {
		return Problem{Condition: fleet.Condition{ProblemKey: unreachable(of), Tags: tags}}
	}
	for _, all := range [][]Problem{{problem("1", "x"), problem("2")}, {problem("2"), problem("1", "x")}} {
		groups := r.groupsOf(all, time.Now())
		g := groups[fleet.ToldGroupKey{Channel: "oncall", Kind: fleet.WaitUnreachable}]
		if len(groups) != 1 || g.route.Name != "a" || len(g.problems) != 2 {
			t.Errorf("got %+v", g)
		}
	}
}
