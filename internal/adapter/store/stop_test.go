package store

import (
	"reflect"
	"testing"
	"time"

	"muster/internal/fleet"
)

func TestStopsAreKeptUntilTheyAreReplaced(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := must(Open(t.Context(), options))(t)
		one, two := put(t, s, deviceN(1)), put(t, s, deviceN(2))
		since := time.UnixMilli(1_700_000_000_000).UTC()
		stops := []fleet.Stop{
			{Key: `folders."a.b".label`, Kind: fleet.StopContended, Reason: "somebody", Templates: "t", Since: since},
			{Key: "options.natEnabled", Kind: fleet.StopRejected, Reason: "no", Observed: "o", Templates: "t", Since: since},
			{Key: "unsaved", Kind: fleet.StopUnsaved, Reason: "disk full", Templates: "t", Since: since, Answers: 3},
		}
		for _, id := range []fleet.DeviceID{one.ID, two.ID} {
			if err := s.PutStops(t.Context(), id, stops); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.PutStops(t.Context(), two.ID, nil); err != nil {
			t.Fatal(err)
		}
		wantCode(t, s.PutStops(t.Context(), one.ID, []fleet.Stop{{Key: "nul\x00"}}), fleet.CodeInvalid)
		wantCode(t, s.PutStops(t.Context(), deviceN(3).ID, nil), fleet.CodeNotFound)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}

		s = open(t, options)
		want := map[fleet.DeviceID][]fleet.Stop{one.ID: stops}
		if got := must(s.Stops(t.Context()))(t); !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, want %+v", got, want)
		}
		if err := s.DeleteDevice(t.Context(), one.ID, nil); err != nil {
			t.Fatal(err)
		}
		if got := must(s.Stops(t.Context()))(t); len(got) != 0 {
			t.Errorf("the stops of a deleted device are left: %+v", got)
		}
	})
}
