package view

import (
	"testing"
	"time"

	"muster/internal/fleet"
)

func TestWhatARolloutStillDoesIsKeptForAShortTimeAndItsReaders(t *testing.T) {
	rests, now := NewRolloutRests(), time.Unix(1_000_000, 0)
	of := RestKey{Rollout: 2, Status: fleet.RolloutRunning, Generation: 7, Scope: fleet.ScopeOf([]fleet.Tag{"site"})}
	rests.Put(of, RolloutRest{Devices: 3}, now)
	if rest, isKept := rests.Get(of, now.Add(restKept-1)); !isKept || rest.Devices != 3 {
		t.Errorf("got %+v, %t", rest, isKept)
	}
	later, other, over, whole := of, of, of, of
	later.Generation, other.Rollout, over.Status, whole.Scope = 8, 3, fleet.RolloutSucceeded, fleet.Scope{}
	for _, key := range []RestKey{later, other, over, whole} {
		if rest, isKept := rests.Get(key, now); isKept {
			t.Errorf("%+v gets %+v of another key", key, rest)
		}
	}
	if _, isKept := rests.Get(of, now.Add(restKept)); isKept {
		t.Error("an old answer is kept")
	}
	for id := range int64(2 * maxRests) {
		rests.Put(RestKey{Rollout: id}, RolloutRest{}, now)
	}
	if len(rests.kept) != maxRests {
		t.Errorf("%d answers are kept", len(rests.kept))
	}
	rests.Put(other, RolloutRest{}, now.Add(restKept))
	if len(rests.kept) != 1 {
		t.Errorf("%d answers are kept, and all but one are old", len(rests.kept))
	}
}
