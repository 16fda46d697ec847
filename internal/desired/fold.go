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
	base    stconfig.Value
	doc     stconfig.Value
	asked   []asked
	skipped []Skipped
	ignores map[string]bool
	every   []int64 // templates about the ignore patterns of every folder
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
	after, skips, err := f.apply(f.doc, op, key, fragment.Value)
	if err != nil {
		return inTemplate(t, err)
	}
	changes := stconfig.Diff(f.doc, after)
	if fragment.ReadsConfig && len(changes) > 0 {
		if err := f.settles(t, op, key, after); err != nil {
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
	f.doc = after
	return nil
}

func (f *fold) apply(doc stconfig.Value, op fleet.Op, key stconfig.Key, value stconfig.Value) (stconfig.Value, []stconfig.Skip, error) {
	if stconfig.NamesConfigSecret(value) {
		if err := f.keepsSecrets(doc, op, key, value); err != nil {
			return stconfig.Value{}, nil, err
		}
	}
	value, err := stconfig.ResolveConfig(value, doc)
	if err != nil {
		return stconfig.Value{}, nil, err
	}
	if err := f.knowsSecrets(value); err != nil {
		return stconfig.Value{}, nil, err
	}
	return stconfig.Apply(doc, op, key, value, f.Device)
}

// keepsSecrets checks that the secrets of the configuration that a value passes on stay secrets: at another place they could
// be read in the plan, and at the daemon.
func (f *fold) keepsSecrets(doc stconfig.Value, op fleet.Op, key stconfig.Key, value stconfig.Value) error {
	after, _, err := stconfig.Apply(doc, op, key, value, f.Device)
	if err != nil {
		return err
	}
	if stray := stconfig.StraySecrets(after); len(stray) > 0 {
		return &fleet.Error{
			Code:    fleet.CodeInvalid,
			Message: fmt.Sprintf("a secret of the configuration would stand at %s, where it could be read", stray[0]),
			Hint:    "Pass it on to a field that holds a secret itself, such as an encryptionPassword, or leave it out.",
		}
	}
	return nil
}

// settles checks that a program which reads the configuration says the same over its own result: one that adds 1 to
// what it finds would write for ever.
func (f *fold) settles(t fleet.Template, op fleet.Op, key stconfig.Key, after stconfig.Value) error {
	again, err := f.Evaluate(t, after)
	if err != nil {
		return fmt.Errorf("evaluated over its own result: %w", err)
	}
	twice, _, err := f.apply(after, op, key, again.Value)
	if err != nil {
		return fmt.Errorf("applied to its own result: %w", err)
	}
	if changes := stconfig.Diff(after, twice); len(changes) > 0 {
		return &fleet.Error{
			Code:    fleet.CodeInvalid,
			Message: fmt.Sprintf("its result changes when its own result is applied (at %s): it would never come to rest", changes[0].Key),
			Hint:    "Make the value depend on `device` or on parts of `config` that the template does not change.",
		}
	}
	return nil
}

// knowsSecrets checks that every secret that the value names is there.
func (f *fold) knowsSecrets(v stconfig.Value) error {
	if f.Secret == nil {
		return nil
	}
	if v.Kind() == stconfig.Handle {
		if name, ok := strings.CutPrefix(v.Str(), "secret:"); ok && !f.Secret(name) {
			return &fleet.Error{Code: fleet.CodeInvalid, Message: fmt.Sprintf("there is no secret %q", name),
				Hint: "Store a secret of that name, or correct the name in the template."}
		}
		return nil
	}
	for i := range v.Len() {
		if err := f.knowsSecrets(v.At(i)); err != nil {
			return err
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

// everyIgnores says which folders lack the ignore patterns that a template has for every folder: those that could not be
// read, and those that templates make, whichever of them comes first.
func (f *fold) everyIgnores() {
	for _, template := range f.every {
		for folder := range f.doc.Get("folders").Values() {
			id := folder.Get("id").Str()
			f.ignores[id] = true
			if key := ignores.Child(id); !stconfig.Lookup(f.doc, key).Exists() {
				f.skipped = append(f.skipped, Skipped{Template: template, Key: key, Reason: f.reason(stconfig.Skip{Key: key}, f.doc)})
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
		return fmt.Sprintf("the ignore patterns of folder %q could not be read from the daemon", folder)
	case folderOf(after, folder).Exists():
		return fmt.Sprintf("folder %q has to be there first", folder)
	}
	return fmt.Sprintf("the device has no folder %q", folder)
}

func folderOf(doc stconfig.Value, id string) stconfig.Value {
	return stconfig.Lookup(doc, folders.Child(id))
}

// inTemplate says which template an error is about. Places in the text and the code stay.
func inTemplate(t fleet.Template, err error) error {
	named := fmt.Sprintf("template %d", t.ID)
	if t.Label != "" {
		named = fmt.Sprintf("template %d %q", t.ID, t.Label)
	}
	var e *fleet.Error
	if !errors.As(err, &e) {
		return fmt.Errorf("%s: %w", named, err)
	}
	copied := *e
	copied.During = named
	if len(e.Details) > 0 && e.Details[0].Line > 0 && !strings.Contains(e.Message, "line") {
		copied.During = fmt.Sprintf("%s, line %d, column %d", named, e.Details[0].Line, e.Details[0].Column)
	}
	if e.During != "" && e.During != named {
		copied.Message = e.During + ": " + e.Message
	}
	return &copied
}

func sortedNames(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }
