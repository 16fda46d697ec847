package httpapi

import (
	"fmt"
	"net/http"
	"testing"

	"muster/api"
	"muster/internal/fleet"
)

// The audit of 2,000 devices that were registered at once had nothing else on its first page.
func TestRecentChangesAreThoseOfPeopleAndEqualOnesAreOne(t *testing.T) {
	w := newWorld(t)
	w.template(`{"op":"set","key":"","template":"{}"}`)
	for i := range 600 {
		ctx := fleet.WithActor(t.Context(), "night shift")
		if err := w.store.Record(ctx, "device.create", fmt.Sprint(i), ""); err != nil {
			t.Fatal(err)
		}
		if err := w.store.Record(t.Context(), "device.pinned", "D", ""); err != nil {
			t.Fatal(err)
		}
	}
	all := read[[]api.RecentChange](w, Prefix+"/audit/changes")
	if len(all) != 2 || all[0].Who != "night shift" || all[0].Parts[0].Text != "600 devices created" || all[0].More {
		t.Fatalf("got %+v", all)
	}
	if all[1].Who != "admin" || all[1].Parts[0].Text != "template created" || all[1].Parts[0].Subject != "1" {
		t.Errorf("got %+v", all[1])
	}
	if one := read[[]api.RecentChange](w, Prefix+"/audit/changes?limit=1"); len(one) != 1 {
		t.Errorf("got %d changes, want 1", len(one))
	}
	w.problem(http.StatusForbidden, call{method: http.MethodGet, path: Prefix + "/audit/changes",
		role: fleet.RoleViewer})
}

// Who wanted to take back what somebody did last night had to look for the rollout by its title.
func TestARecentChangeHasTheRolloutThatBringsIt(t *testing.T) {
	w, f := rolling(t)
	w.template(`{"op":"set","key":"","template":"{}"}`)
	generation := read[api.Overview](w, Prefix+"/overview").Generation
	for _, test := range []struct {
		rollout  fleet.Rollout
		id       int64
		undoable bool
	}{
		{fleet.Rollout{ID: 7, Before: generation - 1, Generation: generation}, 7, true},
		{fleet.Rollout{ID: 7, Before: generation - 1, Generation: generation, Status: fleet.RolloutUndone}, 7, false},
		{fleet.Rollout{ID: 7, Before: generation - 1, Generation: generation, Undoes: 3}, 7, false},
		{fleet.Rollout{ID: 7, Before: generation, Generation: generation + 1}, 0, false},
	} {
		f.all = []fleet.Rollout{test.rollout}
		all := read[[]api.RecentChange](w, Prefix+"/audit/changes")
		if len(all) == 0 || all[0].Rollout != test.id || all[0].Undoable != test.undoable {
			t.Errorf("%+v: got %+v", test.rollout, all)
		}
	}
}
