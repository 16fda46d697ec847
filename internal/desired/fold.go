package desired

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"muster/internal/fleet"
	"muster/internal/stconfig"
)

// fold is the work in progress of Fold.
type fold struct {
	Input
	records []record
	base    stconfig.Value
	doc     stconfig.Value
	asked   []asked
	skipped []Skipped
	laid    []laid
	doubts  []Doubt
	ignores map[string]bool
	every   []int64                 // templates about the ignore patterns of every folder
	implied map[fleet.DeviceID]bool // devices that are there because a folder is shared with them
	revoked map[fleet.DeviceID]int  // devices that a template removed, with its place in the order of the fold
	budget  stconfig.Budget
}

func newFold(in Input, records []record) *fold {
	base := stconfig.Refit(rewind(in.Observed, records), in.Observed) // bases may be of an earlier version
	f := &fold{Input: in, records: records, base: base, doc: base,
		ignores: map[string]bool{}, implied: map[fleet.DeviceID]bool{}, revoked: map[fleet.DeviceID]int{}}
	f.budget = *f.newBudget()
	return f
}

// template folds one template over the document.
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
	f.laid = append(f.laid, laid{t, to, fragment.Value, skips})
	f.doubt(t, stconfig.Doubts(op, key, fragment.Value), skips)
	changes := stconfig.Diff(f.doc, after)
	if err := errors.Join(f.count(len(changes), len(skips)), f.mayUse(to, changes)); err != nil {
		return inTemplate(t, err)
	}
	if fragment.ReadsConfig && len(changes) > 0 {
		if err := f.settles(t, to, after); err != nil {
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
		f.asked = append(f.asked, asked{key: c.Key, templates: []int64{t.ID}})
	}
	if f.folded != nil {
		f.folded(t, f.doc, after)
	}
	f.doc = after
	f.nameDevices(changes)
	return f.bringAlong()
}

// target is where a template's value goes, and what the template may do there.
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

// settles checks that a program which reads the configuration says the same over its own result: one that adds 1 to
// what it finds would write for ever.
func (f *fold) settles(t fleet.Template, to target, after stconfig.Value) error {
	again, err := f.Evaluate(t, after)
	if err != nil {
		return fmt.Errorf("evaluated over its own result: %w", err)
	}
	to.budget = f.newBudget() // what it brings again counts once
	twice, _, err := f.apply(after, to, again.Value)
	if err != nil {
		return fmt.Errorf("applied to its own result: %w", err)
	}
	if changes := stconfig.Diff(after, twice); len(changes) > 0 {
		return &fleet.Error{
			Code: fleet.CodeInvalid,
			Message: fmt.Sprintf("its result changes when its own result is applied (at %s): it would never come to rest",
				changes[0].Key),
			Hint: "Make the value depend on `device` or on parts of `config` that the template does not change.",
		}
	}
	return nil
}

// nameIgnores notes whose ignore patterns a template is about, or tells that it is about every folder's.
func (f *fold) nameIgnores(key stconfig.Key, value stconfig.Value) (every bool) {
	if folder, ok := ignoresOf(key); ok {
		if key.At(1).Every {
			return true
		}
		f.ignores[folder] = true
		return false
	}
	switch {
	case key.IsRoot():
		value = value.Get("ignores")
	case key.Len() != 1 || key.At(0).Name != "ignores":
		return false
	}
	for folder := range value.Members() {
		f.ignores[folder] = true
	}
	return false
}

// everyIgnores says which folders lack the ignore patterns that a template has for every folder: those that could not
// be read, and those that templates make, whichever of them comes first.
func (f *fold) everyIgnores() {
	for _, template := range f.every {
		for folder := range f.doc.Get("folders").Values() {
			id := folder.Get("id").Str()
			f.ignores[id] = true
			if key := ignores.Child(id); !stconfig.Lookup(f.doc, key).Exists() {
				f.skipped = append(f.skipped, Skipped{Template: template, Key: key,
					Reason: f.reason(stconfig.Skip{Key: key}, f.doc)})
			}
		}
	}
}

// ignoresOf is the folder of a key at or below `ignores.<folder>`.
func ignoresOf(key stconfig.Key) (folder string, ok bool) {
	if key.Len() < 2 || key.At(0).Name != "ignores" {
		return "", false
	}
	return key.At(1).Name, true
}

// reason says why ignore patterns are left out, which only the fold knows; for others what stconfig says.
func (f *fold) reason(s stconfig.Skip, after stconfig.Value) string {
	folder, ok := ignoresOf(s.Key)
	if !ok || f.Observed.Get("ignores").Get(folder).Exists() {
		return s.Reason
	}
	switch {
	case folderOf(f.Observed, folder).Exists():
		text := fmt.Sprintf("the ignore patterns of folder %q could not be read from the daemon", folder)
		if why := f.Unread[folder]; why != "" {
			text += ": " + why
		}
		return text
	case folderOf(after, folder).Exists():
		return fmt.Sprintf("folder %q has to be there first", folder)
	}
	return fmt.Sprintf("the device has no folder %q", folder)
}

func folderOf(doc stconfig.Value, id string) stconfig.Value {
	return stconfig.Lookup(doc, folders.Child(id))
}

// named is how a text names a template.
func named(t fleet.Template) string {
	if t.ID == 0 && t.Label == "" {
		return "this template"
	}
	if t.Label == "" {
		return fmt.Sprintf("template %d", t.ID)
	}
	return fmt.Sprintf("template %d %q", t.ID, t.Label)
}

// inTemplate says which template an error is about. Places in the text and the code stay.
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
