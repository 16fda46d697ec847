package change

import (
	"context"
	"testing"

	"muster/internal/core/plan"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// breaking is a planner for which every edit breaks an assertion, and makes a template fail.
type breaking struct {
	foretold
	device fleet.DeviceID
}

func (b breaking) Concerned(_, _ *fleet.Registry) []fleet.DeviceID { return []fleet.DeviceID{b.device} }
func (b breaking) Desired(_ context.Context, r *fleet.Registry, devices []fleet.DeviceID,
	each func(fleet.DeviceID, stconfig.Value, error)) error {
	for _, id := range devices {
		if r.IsRevoked(b.device) || len(r.Devices[b.device].Tags) > 0 {
			each(id, stconfig.Value{}, fleet.Invalidf("", "it fails"))
		} else {
			each(id, stconfig.Obj(), nil)
		}
	}
	return nil
}

// In the middle of an incident, `device revoke` was refused because a source asserts that a folder is shared with the
// device, and because a template fails without it.
func TestARevocationIsNotRefused(t *testing.T) {
	id := fleet.DeviceIDOf([32]byte{1})
	registry := &fleet.Registry{
		Devices: map[fleet.DeviceID]*fleet.Registered{id: {Device: fleet.Device{ID: id}}},
		Sources: map[string]fleet.Source{"repo": {Tests: []fleet.Assertion{{Name: "shared", All: true}}}},
	}
	planner := breaking{foretold{[]plan.Effect{{Device: id, Err: fleet.Invalidf("", "it fails")}}}, id}
	revoke := fleet.Edit{Revoke: []fleet.Revocation{{Device: id}}}
	more := revoke
	more.Tag = []fleet.Tagging{{Device: id, Tag: "x"}}
	ctx := fleet.WithRole(t.Context(), fleet.RoleAdmin)
	for name, test := range map[string]struct {
		edit  fleet.Edit
		wants fleet.Code
	}{"a revocation": {edit: revoke}, "with something else": {more, fleet.CodeInvalid}} {
		store := &keeping{registry: registry}
		changes := New(Options{Store: store, Planner: planner})
		_, err := changes.Apply(ctx, test.edit, fleet.Basis{RefuseFailing: true})
		if fleet.CodeOf(err) != test.wants || (store.tries == 1) != (test.wants == "") {
			t.Errorf("%s: got %v after %d writes", name, err, store.tries)
		}
		f, err := changes.Foresee(ctx, test.edit, func(*fleet.Registry, plan.Effect) {})
		if err != nil || len(f.Broken) == 0 {
			t.Errorf("%s is foreseen with %v, %v", name, f.Broken, err)
		}
	}
}
