package rollout

import (
	"context"
	"slices"
	"testing"

	"muster/internal/fleet"
	"muster/internal/plan"
	"muster/internal/stconfig"
)

// onlineFleet are devices that were read and are online.
type onlineFleet struct{ quietFleet }

func (onlineFleet) Standing(fleet.DeviceID) Standing {
	return Standing{Tried: true, Online: true, Mode: fleet.ModeOn, Configuration: fleet.ConfigHeld, Digest: "seen", Summarised: true}
}

func waits(t *testing.T, key string) plan.Change {
	t.Helper()
	parsed, err := stconfig.ParseKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return plan.Change{Key: parsed, From: stconfig.Obj(), Class: plan.Held, Reason: "a folder would be taken away", Returns: true}
}

// Decided per change: what waited before a rollout is no gate, what the rollout makes wait is one, and an undo consents to
// the removal of what the rollout brought, and of nothing else.
func TestWhatWaitedBeforeARolloutIsNotItsOwn(t *testing.T) {
	old, brought := waits(t, "folders.old"), waits(t, "folders.brought")
	r := New(Options{Fleet: onlineFleet{}, DigestKey: []byte("k")})
	for name, one := range map[string]struct {
		member  fleet.RolloutMember
		changes []plan.Change
		want    factKind
	}{
		"first wave, waited before":    {fleet.RolloutMember{Wave: 1, Held: []string{r.sameWish(old.Wish())}}, []plan.Change{old}, factGood},
		"second wave, waited before":   {fleet.RolloutMember{Wave: 2, Held: []string{r.sameWish(old.Wish())}}, []plan.Change{old}, factGood},
		"second wave, something new":   {fleet.RolloutMember{Wave: 2, Was: fleet.ConfigHeld, Held: []string{r.sameWish(old.Wish())}}, []plan.Change{old, brought}, factHeld},
		"first wave, nothing before":   {fleet.RolloutMember{Wave: 1}, []plan.Change{brought}, factHeld},
		"nothing waits now any longer": {fleet.RolloutMember{Wave: 1, Held: []string{r.sameWish(old.Wish())}}, nil, factGood},
	} {
		if got, _ := r.judge(one.member, plan.Plan{Observed: "seen", Changes: one.changes}, 0, false); got.kind != one.want {
			t.Errorf("%s: got %+v", name, got)
		}
	}

	member := fleet.RolloutMember{Wave: 1, Held: []string{r.sameWish(old.Wish())}}
	undone := plan.Plan{Observed: "seen", Changes: []plan.Change{brought, old}}
	_, held := r.judge(member, undone, 0, true)
	if got := r.answerTo(member, undone, held, nil, true); !slices.Equal(got.consent, []string{"folders.brought"}) || got.keep != nil {
		t.Errorf("an undo answers %v", got)
	}
}

// observed are devices of which Muster may read only; it notes what is answered for them.
type observed struct {
	onlineFleet
	answers []answer
}

func (o *observed) Standing(id fleet.DeviceID) Standing {
	stands := o.onlineFleet.Standing(id)
	stands.Mode = fleet.ModeObserve
	return stands
}

func (o *observed) Apply(_ context.Context, _ fleet.DeviceID, _ string, consent, keep []string) error {
	o.answers = append(o.answers, answer{consent, keep})
	return nil
}

// To keep what is there writes nothing: no mode is in its way.
func TestWhatIsKeptWaitsForNoMode(t *testing.T) {
	devices := &observed{}
	r, l := New(Options{Fleet: devices}), newLive(fleet.Rollout{}, t0)
	for _, a := range []answer{{keep: []string{"folders.a"}}, {consent: []string{"folders.b"}}, {consent: []string{"folders.b"}, keep: []string{"folders.a"}}} {
		r.give(t.Context(), l, &check{}, plan.Plan{}, a, fact{kind: factHeld})
	}
	if len(devices.answers) != 1 || !slices.Equal(devices.answers[0].keep, []string{"folders.a"}) {
		t.Errorf("given while Muster observes: %v", devices.answers)
	}
}
