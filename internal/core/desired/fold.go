package desired

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// fold is the work in progress of Fold.
type fold struct {
	Input
	records  []record
	base     stconfig.Value
	doc      stconfig.Value
	requests []request
	skipped  []Skipped
	applied  []applied
	mistakes []Mistake
	ignores  map[string]bool
	every    []int64                 // templates with the key `ignores.*`
	implied  map[fleet.DeviceID]bool // devices that are there only because a folder is shared with them
	revoked  map[fleet.DeviceID]int  // devices that a template removes, with the position of that template in the fold
	budget   stconfig.Budget
}

func newFold(in Input, records []record) *fold {
	base := stconfig.Refit(rewind(in.Observed, records), in.Observed) // Records may be of an earlier version.
	base, _ = WithoutAway(base, in.Away)
	f := &fold{Input: in, records: records, base: base, doc: base,
		ignores: map[string]bool{}, implied: map[fleet.DeviceID]bool{}, revoked: map[fleet.DeviceID]int{}}
	f.budget = *f.newBudget()
	return f
}

// template evaluates one template and folds its value over the document.
func (f *fold) template(t fleet.Template) error {
	key, err := stconfig.ParseKey(t.Key)
	if err != nil {
		return inTemplate(t, err)
	}
	op, err := fleet.ParseOp(string(t.Op))
	if err != nil {
		return inTemplate(t, err)
	}
	fragment, err := f.Evaluate(t, f.doc)
	if err != nil {
		return inTemplate(t, err)
	}
	if err := f.readable(op, key, fragment); err != nil {
		return inTemplate(t, err)
	}
	to := target{op: op, key: key, adminSaved: f.AdminSaved != nil && f.AdminSaved(t), budget: &f.budget}
	after, skips, err := f.apply(f.doc, to, fragment.Value)
	if err != nil {
		return inTemplate(t, err)
	}
	f.applied = append(f.applied, applied{t, to, fragment.Value, skips})
	f.noteMistakes(t, stconfig.Mistakes(op, key, fragment.Value), skips)
	changes := stconfig.Diff(f.doc, after)
	if err := errors.Join(f.count(len(changes), len(skips)), f.mayUse(to, changes)); err != nil {
		return inTemplate(t, err)
	}
	if fragment.ReadsConfig && len(changes) > 0 {
		if err := f.checkIdempotent(t, to, after); err != nil {
			return inTemplate(t, err)
		}
	}
	if every := f.nameIgnores(key, fragment.Value); every {
		f.every, skips = append(f.every, t.ID), nil
	}
	for _, s := range skips {
		f.skipped = append(f.skipped, Skipped{Template: t.ID, Key: s.Key, Reason: f.reason(s, after)})
	}
	for _, c := range changes {
		f.requests = append(f.requests, request{key: c.Key, templates: []int64{t.ID}})
	}
	if f.folded != nil {
		f.folded(t, f.doc, after)
	}
	f.doc = after
	f.nameDevices(changes)
	f.takeAway()
	return f.addImplied()
}

// target is the key at which a template's value is applied, and what the template may do there.
type target struct {
	op         fleet.Op
	key        stconfig.Key
	adminSaved bool
	budget     *stconfig.Budget
}

func (f *fold) apply(doc stconfig.Value, t target, value stconfig.Value) (stconfig.Value, []stconfig.Skip, error) {
	if !t.adminSaved {
		value = stconfig.ConcealLiterals(t.key, value)
	}
	value, err := f.resolved(doc, t, value)
	if err != nil {
		return stconfig.Value{}, nil, err
	}
	return stconfig.Application{Op: t.op, Key: t.key, Value: value, Own: f.Device, From: f.start,
		Budget: t.budget}.To(doc)
}

// checkIdempotent refuses a program that reads the configuration and gives another value once its own result is in
// that configuration. For example, a program that adds 1 to a value that it reads would make Muster write for ever.
// after is the document with the program's result.
func (f *fold) checkIdempotent(t fleet.Template, to target, after stconfig.Value) error {
	again, err := f.Evaluate(t, after)
	if err != nil {
		return fmt.Errorf("evaluated over its own result: %w", err)
	}
	to.budget = f.newBudget() // What the second application adds must not count against the budget of the fold.
	twice, _, err := f.apply(after, to, again.Value)
	if err != nil {
		return fmt.Errorf("applied to its own result: %w", err)
	}
	if changes := stconfig.Diff(after, twice); len(changes) > 0 {
		return &fleet.Error{
			Code: fleet.CodeInvalid,
			Message: fmt.Sprintf(
				"its result changes when its own result is applied (at %s): it would never come to rest",
				changes[0].Key,
			),
			Hint: "Make the value depend on `device` or on parts of `config` that the template does not change.",
		}
	}
	return nil
}

// named returns the text by which messages name a template.
func named(t fleet.Template) string {
	if t.ID == 0 && t.Label == "" {
		return "this template"
	}
	if t.Label == "" {
		return fmt.Sprintf("template %d", t.ID)
	}
	return fmt.Sprintf("template %d %q", t.ID, t.Label)
}

// inTemplate adds the template's name to an error. The code, the line and the column in the error stay.
func inTemplate(t fleet.Template, err error) error {
	named := named(t)
	var e *fleet.Error
	if !errors.As(err, &e) {
		return fmt.Errorf("%s: %w", named, err)
	}
	if strings.HasPrefix(e.Message, named) {
		return err
	}
	if len(e.Details) > 0 && e.Details[0].Line > 0 && !strings.Contains(e.Message, "line") {
		named = fmt.Sprintf("%s, line %d, column %d", named, e.Details[0].Line, e.Details[0].Column)
	}
	if e.During != "" && e.During != stconfig.DuringApply {
		named += ": " + e.During
	}
	copied := *e
	copied.During, copied.Message = "", named+": "+fleet.Reason(e)
	return &copied
}

func sortedNames(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }

// These limits are for all templates of one device together. A template's text is small, but its key may select many
// places.
const (
	MaxValues  = 60_000  // values that templates add: enough for 1,300 folders, or 3,300 devices
	MaxText    = 2 << 20 // bytes of text in the values that templates add, secrets included
	MaxChanges = 10_000
	MaxSkips   = 2_000

	changeBytes = 600 // memory that a changed key takes until its plan is made
)

func (f *fold) newBudget() *stconfig.Budget {
	return &stconfig.Budget{Values: MaxValues, Text: MaxText, Skips: MaxSkips, SecretText: f.secretText, Take: f.Take}
}

// secretText returns the length of the secret that a handle names.
func (f *fold) secretText(handle string) int {
	name, own := strings.CutPrefix(handle, "secret:")
	if !own || f.SecretBytes == nil {
		return len(handle)
	}
	return f.SecretBytes(name)
}

// count returns an error if so many changes and skips of one more template are too many, together with those of the
// templates before it, or need more memory than Input.Take allows.
func (f *fold) count(changes, skips int) error {
	what, most := "change more than %d keys", MaxChanges
	switch {
	case len(f.requests)+changes > MaxChanges:
	case len(f.skipped)+skips > MaxSkips:
		what, most = "leave out more than %d keys", MaxSkips
	case f.Take != nil:
		return f.Take(int64(changes+skips) * changeBytes)
	default:
		return nil
	}
	return &fleet.Error{Code: fleet.CodeInvalid, Hint: "Have the key name fewer places.",
		Message: fmt.Sprintf("the templates would "+what+" of the device, this one and those before it counted", most)}
}
