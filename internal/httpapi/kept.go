package httpapi

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"muster/internal/fleet"
)

// Sources may keep assertions: what files said must be true of the fleet. Every write of a person that changes what
// devices get is judged against them before it is made, whichever route it comes by: what the handlers write with is
// wrapped. Where no source keeps any, nothing is judged and nothing costs.
//
// A change is refused for an assertion that was true and would be broken. One that is broken already stops nothing: the
// change may be on the way to mending it. Only devices that are planned from something else are looked at.

// keeper judges changes.
type keeper struct{ *server }

// keep wraps what the handlers write with.
func (s *server) keep() {
	if s.WhatIf == nil {
		return
	}
	k := keeper{s}
	if s.Devices != nil {
		s.Devices = keptDevices{s.Devices, k}
	}
	if s.Templates != nil {
		s.Templates = keptTemplates{s.Templates, k}
	}
	if s.Tags != nil {
		s.Tags = keptTags{s.Tags, k}
	}
	if s.Vars != nil {
		s.Vars = keptVars{s.Vars, k}
	}
	if s.Edits != nil {
		s.Edits = keptEdits{s.Edits, k}
	}
}

// judged makes a change that leaves no assertion newly broken. then is the registry as the change would leave it; where
// it cannot be made, the write itself says why. The change is made in the generation in which it was judged.
func (k keeper) judged(ctx context.Context, then func(now *fleet.Registry) (*fleet.Registry, error),
	change func(context.Context) error) error {
	for tries := 0; ; tries++ {
		now, err := k.wholeRegistry(ctx)
		if err != nil {
			return err
		}
		next, wrong := then(now)
		if wrong != nil || !asserts(next) {
			return change(ctx)
		}
		if err := k.judge(ctx, now, next); err != nil {
			return err
		}
		err = change(fleet.WithBase(ctx, now.Generation))
		if !errors.Is(err, fleet.ErrAnotherGeneration) || tries == maxEditAttempts {
			return err
		}
	}
}

// edited is judged for an edit.
func (k keeper) edited(ctx context.Context, edit fleet.Edit, change func(context.Context) error) error {
	return k.judged(ctx, func(now *fleet.Registry) (*fleet.Registry, error) {
		next, _, err := now.Edited(edit)
		return next, err
	}, change)
}

func asserts(r *fleet.Registry) bool {
	for _, source := range r.Sources {
		if len(source.Tests) > 0 {
			return true
		}
	}
	return false
}

// judge is the error of the assertions that a change would break.
func (k keeper) judge(ctx context.Context, now, then *fleet.Registry) error {
	broken, err := k.newlyBroken(ctx, now, then)
	if err != nil || len(broken) == 0 {
		return err
	}
	inside, err := k.insideOf(ctx)
	if err != nil {
		return err
	}
	shown := broken[:min(len(broken), 20)]
	refused := &fleet.Error{Code: fleet.CodeInvalid,
		Message: "the change would break what is asserted: " + keptText(shown[0], then, inside),
		Hint: "Change something else, or change the assertion in the files of its source and apply them with " +
			"`muster apply -f DIR`. An admin gives the assertions of a source up with `muster source forget SOURCE`."}
	for _, b := range shown {
		refused.Details = append(refused.Details, fleet.Detail{Message: keptText(b, then, inside)})
	}
	return refused
}

// keptText names source, assertion, device and what was found. Devices that the caller does not see are not named.
func keptText(b fleet.BrokenAssertion, r *fleet.Registry, inside func(fleet.DeviceID) bool) string {
	text := brokenText(wireBroken([]fleet.BrokenAssertion{b}, r)[0])
	if b.Device != "" && !inside(b.Device) {
		text = b.Name + ": a device outside of the token's tags"
	}
	return fmt.Sprintf("source %q: %s", b.Source, text)
}

// newlyBroken are the assertions of sources that are true now and would not be.
func (k keeper) newlyBroken(ctx context.Context, now, then *fleet.Registry) ([]fleet.BrokenAssertion, error) {
	if !asserts(then) {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, whatIfTime)
	defer cancel()
	touched := map[fleet.DeviceID]bool{}
	for _, id := range k.WhatIf.Concerned(now, then) {
		touched[id] = true
	}
	gone := slices.ContainsFunc(slices.Collect(maps.Keys(now.Devices)), func(id fleet.DeviceID) bool {
		return then.Devices[id] == nil
	})
	broken, err := k.brokenIn(ctx, then, keptIn(then), func(t keptTest, id fleet.DeviceID) bool {
		return touched[id] || gone && t.NoUnregisteredShares // a share with a device that goes
	})
	if err != nil || len(broken) == 0 {
		return nil, err
	}
	suspects := map[fleet.DeviceID]bool{}
	for _, b := range broken {
		suspects[b.Device] = true
	}
	before, err := k.brokenIn(ctx, now, keptIn(then), func(_ keptTest, id fleet.DeviceID) bool { return suspects[id] })
	return slices.DeleteFunc(broken, func(b fleet.BrokenAssertion) bool {
		return slices.ContainsFunc(before, func(was fleet.BrokenAssertion) bool {
			return was.Source == b.Source && was.Name == b.Name && was.Device == b.Device && was.Key == b.Key
		})
	}), err
}

// keptTest is an assertion, and the source that keeps it; "": it came with the request.
type keptTest struct {
	source string
	fleet.Assertion
}

// keptIn are the assertions that sources keep, by the sources' names.
func keptIn(r *fleet.Registry) (tests []keptTest) {
	for _, name := range slices.Sorted(maps.Keys(r.Sources)) {
		for _, test := range r.Sources[name].Tests {
			tests = append(tests, keptTest{name, test})
		}
	}
	return tests
}
