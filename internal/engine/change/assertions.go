package change

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"muster/internal/core/fleetfiles"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// A source (a set of files in a repository) may bring assertions: statements about the fleet that must stay true. An
// edit is refused when it would break an assertion that is true now. An assertion that is already broken stops no
// edit, because the edit may be a step of the repair. Only devices that the edit gives another input are checked, so
// without assertions an edit costs nothing more. Assertions that come with the edit itself must be true of all
// devices. An undo is exempt, because it is the way back, and so is a revocation, because it must not wait.

// maxShownBroken is how many broken assertions a refusal names.
const maxShownBroken = 20

// assertions refuses an edit that would break an assertion.
func (j *judgement) assertions(ctx context.Context) error {
	if j.o.Planner == nil || j.edit.Undo != nil || j.edit.OnlyRevokes() || j.appliesToNothing() || !j.asserts() {
		return nil
	}
	if _, err := j.afterwards(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, judgeTime)
	defer cancel()
	broken, err := j.brokenByFiles(ctx)
	if err != nil {
		return err
	}
	if len(broken) > 0 {
		return j.refused(broken, "the change would break assertions", "Mend the templates, or change the assertions in "+
			"the files that they come from.", func(b fleet.BrokenAssertion) string { return b.Text(j.label(b.Device)) })
	}
	if broken, err = j.newlyBroken(ctx); err != nil || len(broken) == 0 {
		return err
	}
	return j.refused(
		broken,
		"the change would break what is asserted: "+j.brokenText(broken[0]),
		"Change something else, "+
			"or change the assertion in the files of its source and apply them with `muster apply -f DIR`. An admin gives the "+
			"assertions of a source up with `muster source forget SOURCE`.",
		j.brokenText,
	)
}

// appliesToNothing reports whether the edit only creates templates without tags, which apply to no device.
func (j *judgement) appliesToNothing() bool {
	rest := j.edit
	rest.New = nil
	tagged := func(t fleet.TaggedTemplate) bool { return len(t.Tags) > 0 }
	return len(j.edit.New) > 0 && rest.Empty() && len(rest.Files.Tests) == 0 && !slices.ContainsFunc(j.edit.New, tagged)
}

// enrolment refuses an enrolment that the store would refuse: the device is already registered or rejected, or its
// enrol key is used up. Such a refusal takes precedence over a broken assertion. Without assertions this step is not
// needed, because the write itself returns the refusal.
func (j *judgement) enrolment(ctx context.Context) error {
	if j.edit.Enroll == nil || j.o.Planner == nil || !j.asserts() {
		return nil
	}
	_, err := j.o.Store.ApplyEdit(ctx, j.edit, fleet.Basis{Trial: true})
	if fleet.CodeOf(err) == fleet.CodePrecondition { // Another edit was made at the same moment.
		return nil
	}
	return err
}

// asserts reports whether there is any assertion to check.
func (j *judgement) asserts() bool {
	kept := j.edit.Files.Kept
	if len(j.edit.Files.Tests) > 0 || kept != nil && len(kept.To.Tests) > 0 {
		return true
	}
	for _, source := range j.now.Sources {
		if len(source.Tests) > 0 {
			return true
		}
	}
	return false
}

func (j *judgement) refused(broken []fleet.BrokenAssertion, message, hint string,
	text func(fleet.BrokenAssertion) string) error {
	refused := &fleet.Error{Code: fleet.CodeInvalid, Message: message, Hint: hint}
	for _, b := range broken[:min(len(broken), maxShownBroken)] {
		refused.Details = append(refused.Details, fleet.Detail{Message: text(b)})
	}
	return refused
}

// brokenText describes a broken assertion: its source, its text, the device, and what was found. It does not name a
// device that the caller may not see. The holder of an enrol key may see the device that the key registers.
func (j *judgement) brokenText(b fleet.BrokenAssertion) string {
	text := b.Text(j.label(b.Device))
	switch {
	case b.Device == "":
	case j.enrollsByKey():
		if b.Device != j.edit.Enroll.Device.ID {
			text = b.Name + ": another device"
		}
	case !j.sees(b.Device):
		text = b.Name + ": a device outside of the token's tags"
	}
	return fmt.Sprintf("source %q: %s", b.Source, text)
}

func (j *judgement) label(id fleet.DeviceID) string {
	if device := j.then.Devices[id]; device != nil {
		return device.Label
	}
	return ""
}

// sourceAssertion is an assertion and the name of the source that it belongs to. The name is "" when the assertion came
// with the edit.
type sourceAssertion struct {
	source string
	fleet.Assertion
}

// assertionsIn returns the assertions of all sources, ordered by the sources' names.
func assertionsIn(r *fleet.Registry) (tests []sourceAssertion) {
	for _, name := range slices.Sorted(maps.Keys(r.Sources)) {
		for _, test := range r.Sources[name].Tests {
			tests = append(tests, sourceAssertion{name, test})
		}
	}
	return tests
}

// brokenByFiles returns the assertions that came with the edit and that any device would break.
func (j *judgement) brokenByFiles(ctx context.Context) ([]fleet.BrokenAssertion, error) {
	var tests []sourceAssertion
	for _, test := range j.edit.Files.Tests {
		tests = append(tests, sourceAssertion{"", test})
	}
	return j.brokenIn(ctx, j.then, tests, func(sourceAssertion, fleet.DeviceID) bool { return true })
}

// newlyBroken returns the assertions of sources that are true now and that the edit would break.
func (j *judgement) newlyBroken(ctx context.Context) ([]fleet.BrokenAssertion, error) {
	tests := assertionsIn(j.then)
	if len(tests) == 0 {
		return nil, nil
	}
	touched := map[fleet.DeviceID]bool{}
	for _, id := range j.o.Planner.Concerned(j.now, j.then) {
		touched[id] = true
	}
	gone := slices.ContainsFunc(slices.Collect(maps.Keys(j.now.Devices)), func(id fleet.DeviceID) bool {
		return j.then.Devices[id] == nil
	})
	broken, err := j.brokenIn(ctx, j.then, tests, func(t sourceAssertion, id fleet.DeviceID) bool {
		// A device that is removed also concerns the devices that share with it.
		return touched[id] || gone && t.NoUnregisteredShares
	})
	if err != nil || len(broken) == 0 {
		return nil, err
	}
	suspects := map[fleet.DeviceID]bool{}
	for _, b := range broken {
		suspects[b.Device] = true
	}
	before, err := j.brokenIn(ctx, j.now, tests, func(_ sourceAssertion, id fleet.DeviceID) bool { return suspects[id] })
	return slices.DeleteFunc(broken, func(b fleet.BrokenAssertion) bool {
		return slices.ContainsFunc(before, func(was fleet.BrokenAssertion) bool {
			return was.Source == b.Source && was.Name == b.Name && was.Device == b.Device && was.Key == b.Key
		})
	}), err
}

// brokenIn returns the assertions that the fleet would break under a registry. A device whose daemon was never read
// breaks nothing. about reports whether an assertion is to be checked on a device.
func (j *judgement) brokenIn(ctx context.Context, under *fleet.Registry, tests []sourceAssertion,
	about func(sourceAssertion, fleet.DeviceID) bool) (broken []fleet.BrokenAssertion, err error) {
	if len(tests) == 0 {
		return nil, nil
	}
	var all []fleetfiles.Subject
	for id, d := range under.Devices {
		all = append(all, fleetfiles.Subject{ID: id, Label: d.Label, Tags: d.Tags})
	}
	add := func(test sourceAssertion, found ...fleet.BrokenAssertion) {
		for _, b := range found {
			b.Source = test.source
			broken = append(broken, b)
		}
	}
	asserted, subjects := map[fleet.DeviceID][]sourceAssertion{}, map[fleet.DeviceID]fleetfiles.Subject{}
	for _, test := range tests {
		selected, wrong := fleetfiles.Selected(test.Assertion, all)
		add(test, wrong...)
		for _, of := range selected {
			if about(test, of.ID) {
				asserted[of.ID], subjects[of.ID] = append(asserted[of.ID], test), of
			}
		}
	}
	registered := func(id fleet.DeviceID) bool { return under.Devices[id] != nil }
	ids := slices.Sorted(maps.Keys(asserted))
	err = j.o.Planner.Desired(ctx, under, ids, func(id fleet.DeviceID, desired stconfig.Value, failed error) {
		for _, test := range asserted[id] {
			if failed != nil {
				add(test, fleet.BrokenAssertion{Name: test.Name, Device: id, Expected: "a plan",
					Got: fleet.ShortReason(failed)})
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
