package change

import (
	"context"
	"errors"
	"strings"
	"testing"

	"muster/internal/core/plan"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// foretold is a planner that says the same of every edit.
type foretold struct{ effects []plan.Effect }

func (f foretold) WhatIf(_ context.Context, _, _ *fleet.Registry, each func(plan.Effect)) error {
	for _, e := range f.effects {
		each(e)
	}
	return nil
}
func (f foretold) Concerned(_, _ *fleet.Registry) []fleet.DeviceID { return nil }
func (f foretold) Altered(context.Context, *fleet.Registry, *fleet.Registry) ([]fleet.DeviceID, error) {
	return nil, nil
}
func (f foretold) Desired(context.Context, *fleet.Registry, []fleet.DeviceID,
	func(fleet.DeviceID, stconfig.Value, error)) error {
	return nil
}

// keeping is a store that counts what it stores.
type keeping struct {
	moving
	registry *fleet.Registry
}

func (k *keeping) Registry(context.Context) (*fleet.Registry, error) { return k.registry, nil }
func (k *keeping) ApplyEdit(context.Context, fleet.Edit, fleet.Basis) (fleet.Applied, error) {
	k.tries++
	return fleet.Applied{Generation: 2}, nil
}

// `maxSendKbps: "500"` was saved, with exit code 0, and stopped three devices.
func TestWhatIsCertainToFailIsRefused(t *testing.T) {
	nas, attic, shed, other := fleet.DeviceIDOf([32]byte{1}), fleet.DeviceIDOf([32]byte{2}), fleet.DeviceIDOf([32]byte{3}),
		fleet.DeviceIDOf([32]byte{4})
	registry := &fleet.Registry{Devices: map[fleet.DeviceID]*fleet.Registered{}}
	for id, label := range map[fleet.DeviceID]string{nas: "nas", attic: "attic", shed: "shed"} {
		registry.Devices[id] = &fleet.Registered{Device: fleet.Device{ID: id, Label: label}, Tags: []fleet.Tag{"in"}}
	}
	registry.Devices[attic].Tags = []fleet.Tag{"out"}
	broken := fleet.Invalidf("", "options.maxSendKbps takes a number, not a text")
	edit := fleet.Edit{Tag: []fleet.Tagging{{Device: nas, Tag: "in"}}}
	for name, test := range map[string]struct {
		effects []plan.Effect
		allow   bool
		scope   fleet.Scope
		names   []string // nil: it is stored
	}{
		"two have a plan now": {
			effects: []plan.Effect{{Device: nas, Err: broken}, {Device: shed, Err: broken}}, names: []string{"nas", "shed"},
		},
		"it is allowed":    {effects: []plan.Effect{{Device: nas, Err: broken}}, allow: true},
		"it fails already": {effects: []plan.Effect{{Device: nas, Err: broken, FailsNow: true}}},
		"it only changes": {
			effects: []plan.Effect{{Device: nas, Brings: []plan.Change{{}}}, {Device: shed, Unread: true}},
		},
		"it is not registered yet": {effects: []plan.Effect{{Device: other, Err: broken}}},
		"the device outside is not named": {
			effects: []plan.Effect{{Device: attic, Err: broken}}, scope: fleet.ScopeOf([]fleet.Tag{"in"}),
		},
		"the device inside is, for a part": {
			effects: []plan.Effect{{Device: attic, Err: broken}, {Device: nas, Err: broken}},
			scope:   fleet.ScopeOf([]fleet.Tag{"in"}), names: []string{"nas"},
		},
	} {
		store := &keeping{registry: registry}
		ctx := fleet.WithScope(t.Context(), test.scope)
		_, err := New(Options{Store: store, Planner: foretold{test.effects}}).Apply(ctx, edit,
			fleet.Basis{RefuseFailing: !test.allow})
		if test.names == nil {
			if err != nil || store.tries != 1 {
				t.Errorf("%s: got %v after %d writes, want it stored", name, err, store.tries)
			}
			continue
		}
		var refused *fleet.Error
		if !errors.As(err, &refused) || refused.Code != fleet.CodeInvalid || store.tries != 0 ||
			len(refused.Details) != len(test.names) || !strings.Contains(refused.Hint, "allowFailing") ||
			!refused.Allowable {
			t.Errorf("%s: got %v after %d writes, want %v refused", name, err, store.tries, test.names)
			continue
		}
		for _, d := range refused.Details {
			if !strings.Contains(d.Message, "takes a number") || strings.Contains(d.Message, "attic") {
				t.Errorf("%s: got %q", name, d.Message)
			}
		}
	}
	// A single write of the contract is stored as before.
	store := &keeping{registry: registry}
	if _, err := New(
		Options{Store: store, Planner: foretold{[]plan.Effect{{Device: nas, Err: broken}}}},
	).Apply(t.Context(),
		edit, fleet.Basis{}); err != nil ||
		store.tries != 1 {
		t.Errorf("got %v after %d writes", err, store.tries)
	}
}
