package httpapi

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"muster/api"
	"muster/internal/fleet"
	"muster/internal/fleetfiles"
	"muster/internal/stconfig"
)

// maxBroken is as many broken assertions as a person reads.
const maxBroken = 100

// brokenIn are assertions that would not be true of the fleet under a registry. What is not known of a device because
// its daemon was never read is not asserted.
// about tells which devices an assertion is to be looked at for.
func (s *server) brokenIn(ctx context.Context, then *fleet.Registry, tests []keptTest,
	about func(keptTest, fleet.DeviceID) bool) (broken []fleet.BrokenAssertion, err error) {
	if len(tests) == 0 {
		return nil, nil
	}
	var all []fleetfiles.Subject
	for id, d := range then.Devices {
		all = append(all, fleetfiles.Subject{ID: id, Label: d.Label, Tags: d.Tags})
	}
	asserted := map[fleet.DeviceID][]keptTest{}
	add := func(test keptTest, found ...fleet.BrokenAssertion) {
		for _, b := range found {
			b.Source = test.source
			broken = append(broken, b)
		}
	}
	subjects := map[fleet.DeviceID]fleetfiles.Subject{}
	for _, test := range tests {
		selected, wrong := fleetfiles.Selected(test.Assertion, all)
		add(test, wrong...)
		for _, of := range selected {
			if about(test, of.ID) {
				asserted[of.ID], subjects[of.ID] = append(asserted[of.ID], test), of
			}
		}
	}
	ids := make([]fleet.DeviceID, 0, len(asserted))
	for id := range asserted {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	registered := func(id fleet.DeviceID) bool { return then.Devices[id] != nil }
	err = s.WhatIf.Desired(ctx, then, ids, func(id fleet.DeviceID, desired stconfig.Value, failed error) {
		for _, test := range asserted[id] {
			if failed != nil {
				add(test, fleet.BrokenAssertion{Name: test.Name, Device: id, Expected: "a plan",
					Got: shortened(fleet.Reason(failed))})
				continue
			}
			add(test, fleetfiles.Broken(test.Assertion, subjects[id], desired, registered)...)
		}
	})
	slices.SortFunc(broken, func(a, b fleet.BrokenAssertion) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Device, b.Device), cmp.Compare(a.Key, b.Key))
	})
	return broken, err
}

func wireBroken(broken []fleet.BrokenAssertion, r *fleet.Registry) []api.BrokenAssertion {
	out := make([]api.BrokenAssertion, 0, min(len(broken), maxBroken))
	for _, b := range broken[:cap(out)] {
		one := api.BrokenAssertion{Source: b.Source, Name: b.Name, DeviceID: string(b.Device), Key: b.Key,
			Expected: b.Expected, Got: b.Got}
		if device := r.Devices[b.Device]; device != nil {
			one.Label = device.Label
		}
		out = append(out, one)
	}
	return out
}

// brokenError refuses a change that would break assertions.
func brokenError(broken []fleet.BrokenAssertion, r *fleet.Registry) error {
	err := &fleet.Error{Code: fleet.CodeInvalid, Message: "the change would break assertions",
		Hint: "Mend the templates, or change the assertions in the files that they come from."}
	for _, b := range wireBroken(broken[:min(len(broken), 20)], r) {
		err.Details = append(err.Details, fleet.Detail{Message: brokenText(b)})
	}
	return err
}

func brokenText(b api.BrokenAssertion) string {
	of := cmp.Or(b.Label, b.DeviceID)
	if of != "" {
		of += ": "
	}
	if b.Key != "" {
		of += b.Key + ": "
	}
	return fmt.Sprintf("%s: %sexpected %s, got %s", b.Name, of, b.Expected, b.Got)
}
