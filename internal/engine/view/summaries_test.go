package view

import (
	"context"
	"slices"
	"testing"

	"muster/internal/fleet"
)

// playedRollouts are rollouts of a fleet; err: they cannot be read.
type playedRollouts struct {
	all []fleet.Rollout
	err error
}

func (p playedRollouts) Rollouts(context.Context) ([]fleet.Rollout, error) { return p.all, p.err }
func (p playedRollouts) Rollout(_ context.Context, id int64) (fleet.Rollout, error) {
	at := slices.IndexFunc(p.all, func(r fleet.Rollout) bool { return r.ID == id })
	if at < 0 {
		return fleet.Rollout{}, fleet.NotFoundf("there is no rollout %d", id)
	}
	return p.all[at], p.err
}
func (p playedRollouts) Difference(context.Context, []int64) (fleet.Difference, error) {
	return fleet.Difference{}, p.err
}

// notified is of three problems, and of a receiver that is not reached.
var notified = Notifications{Problems: []fleet.DeviceID{idA, idB, ""},
	Receivers: []fleet.Receiver{{Name: "mail", Waiting: 3, Trouble: "refused"}}}

// summed is a fleet of a device inside the scope "in" and one outside, with something of each kind to sum up.
func summed(rollouts playedRollouts) (s *Summaries, scoped context.Context) {
	w, registry := newWorld(), registryOf(idA, idB)
	registry.Devices[idA].Tags = []fleet.Tag{"in"}
	for _, id := range []fleet.DeviceID{idA, idB} {
		w.put(id, fleet.State{Connection: fleet.Online}, fleet.Snapshot{})
	}
	scoped = fleet.WithScope(context.Background(), fleet.ScopeOf([]fleet.Tag{"in"}))
	parts := &fleet.Views{}
	part := func(ctx context.Context) (*fleet.Registry, error) { return parts.Of(ctx, registry), nil }
	return NewSummaries(SummaryOptions{
		Registry: part, View: w.view(), Rollouts: NewRollouts(RolloutOptions{rollouts, part}),
		Pending:     func() []fleet.Pending { return []fleet.Pending{{Device: idA, From: "C"}, {Device: idB, From: "C"}} },
		Impairments: func() []fleet.Impairment { return []fleet.Impairment{{Part: "database", Reason: "2 devices"}} },
		Visited:     func() int { return 7 },
		Enrollments: func(context.Context) ([]fleet.EnrollmentRequest, error) {
			return []fleet.EnrollmentRequest{{Arrival: fleet.Arrival{Device: "D"}, Status: fleet.EnrollmentWaiting}}, nil
		},
	}), scoped
}

func causesOf(w Waiting) (causes []fleet.WaitCause) {
	for _, g := range w.Groups {
		causes = append(causes, g.Cause)
	}
	slices.Sort(causes)
	return causes
}

func TestACallerWithAScopeIsToldNothingOfTheWholeFleet(t *testing.T) {
	s, scoped := summed(playedRollouts{})
	whole, err := s.Overview(t.Context(), nil, notified)
	if err != nil || whole.Devices != 2 || whole.PendingDevices != 2 || whole.Problems != 3 || whole.Visited != 7 ||
		len(whole.Receivers) != 1 || whole.Impairments[0].Reason != "2 devices" {
		t.Errorf("got %+v, %v for the whole fleet", whole, err)
	}
	part, err := s.Overview(scoped, nil, notified)
	if err != nil || part.Devices != 1 || part.PendingDevices != 1 || part.Problems != 1 || part.Visited != 0 ||
		len(part.Receivers) != 0 || len(part.Impairments) != 1 || part.Impairments[0].Reason == "2 devices" {
		t.Errorf("got %+v, %v for a part", part, err)
	}
	all, err := s.Waiting(t.Context(), notified)
	if got := causesOf(all); err != nil || !slices.Contains(got, fleet.WaitReceiver) ||
		!slices.Contains(got, fleet.WaitEnrollment) {
		t.Errorf("got %v, %v for the whole fleet", got, err)
	}
	some, err := s.Waiting(scoped, notified)
	if got := causesOf(some); err != nil || !slices.Equal(got, []fleet.WaitCause{fleet.WaitImpairment,
		fleet.WaitPendingDevice}) {
		t.Errorf("got %v, %v for a part", got, err)
	}
}

func TestAnOverviewOfPickedDevicesCountsNothingOfOthers(t *testing.T) {
	s, _ := summed(playedRollouts{})
	got, err := s.Overview(t.Context(), func(d *fleet.Registered) bool { return d.ID == idB }, notified)
	if err != nil || got.Devices != 1 || got.PendingDevices != 1 || got.Problems != 1 {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestWhatIsInMemoryIsShownWhileRolloutsCannotBeRead(t *testing.T) {
	s, _ := summed(playedRollouts{err: &fleet.Error{Code: fleet.CodeUnavailable, Message: "no database", Hint: "Wait."}})
	overview, err := s.Overview(t.Context(), nil, notified)
	if err != nil || overview.Devices != 2 || len(overview.Impairments) != 2 || overview.Impairments[0].Blocking ||
		overview.Impairments[0].Next != "Wait." {
		t.Errorf("got %+v, %v", overview, err)
	}
	waiting, err := s.Waiting(t.Context(), notified)
	if err != nil || !slices.ContainsFunc(waiting.Groups, func(g *WaitingGroup) bool {
		return g.Subject == "rollouts" && g.Severity == fleet.Critical && g.Reason == "they cannot be read: no database"
	}) {
		t.Errorf("got %+v, %v", waiting, err)
	}
	s, _ = summed(playedRollouts{err: fleet.NotFoundf("a bug")})
	if _, err := s.Overview(t.Context(), nil, notified); err == nil {
		t.Error("any error of rollouts is passed over")
	}
}

func TestNobodySteersARolloutWithMembersThatTheyDoNotSee(t *testing.T) {
	member := func(ids ...fleet.DeviceID) (all []fleet.RolloutMember) {
		for _, id := range ids {
			all = append(all, fleet.RolloutMember{Device: id})
		}
		return all
	}
	s, scoped := summed(playedRollouts{all: []fleet.Rollout{{ID: 1, Members: member(idA)},
		{ID: 2, Members: member(idA, idB)}, {ID: 3, Members: member(idB)}}})
	for id, want := range map[int64]fleet.Code{1: "", 2: fleet.CodeForbidden, 3: fleet.CodeNotFound} {
		if err := s.Rollouts.MaySteer(scoped, id); err == nil && want != "" || err != nil && fleet.CodeOf(err) != want {
			t.Errorf("rollout %d: got %v, want %q", id, err, want)
		}
		if err := s.Rollouts.MaySteer(t.Context(), id); err != nil {
			t.Errorf("rollout %d: got %v for somebody who sees the whole fleet", id, err)
		}
	}
	if seen, err := s.Rollouts.Rollouts(scoped); err != nil || len(seen) != 2 {
		t.Errorf("got %+v, %v", seen, err)
	}
}

func TestHowAnEditWouldGoOutTellsAScopeNothingOfOthers(t *testing.T) {
	whole := Course{
		Broken:   []fleet.BrokenAssertion{{Name: "mine", Device: idA}, {Name: "hidden", Device: idB}, {Name: "all"}},
		Approval: "it is for 300 devices", Waves: []int{1, 299},
	}
	isA := func(id fleet.DeviceID) bool { return id == idA }
	part := NewEffectSum(fleet.ScopeOf([]fleet.Tag{"in"}), isA).Course(whole)
	if len(part.Broken) != 2 || part.Broken[0].Name != "mine" || part.Broken[1].Name != "all" || len(part.Waves) != 0 ||
		part.Approval == "" || part.Approval == whole.Approval {
		t.Errorf("got %+v", part)
	}
	if got := NewEffectSum(fleet.Scope{}, isA).Course(whole); len(got.Broken) != 3 || len(got.Waves) != 2 {
		t.Errorf("got %+v for the whole fleet", got)
	}
}
