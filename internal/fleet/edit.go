package fleet

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Edit is a change of templates, tags and vars, which is planned, or made in one generation.
type Edit struct {
	New     []TaggedTemplate // without ID
	Changed []Template       // as a whole
	Deleted []int64
	Tag     []Tagging
	Untag   []Tagging
	Vars    []VarsChange
}

// Tagging is a tag on a device, or on a template where Device is "".
type Tagging struct {
	Tag      Tag
	Device   DeviceID
	Template int64
}

// Cause says what the edit changes, as the history of generations has it.
func (e Edit) Cause() string {
	var parts []string
	for _, part := range []struct {
		n    int
		what string
	}{
		{len(e.New), "templates created"}, {len(e.Changed), "templates changed"}, {len(e.Deleted), "templates deleted"},
		{len(e.Tag), "tags added"}, {len(e.Untag), "tags removed"},
		{len(e.Vars), "vars changed"},
	} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprintf("%s: %d", part.what, part.n))
		}
	}
	return strings.Join(parts, ", ")
}

// Check refuses an edit that names one thing twice: which of the two would count is not to be guessed.
func (e Edit) Check() error {
	ids := map[int64]bool{}
	for _, changed := range e.Changed {
		if ids[changed.ID] {
			return Invalidf("templates", "template %d is named twice", changed.ID)
		}
		ids[changed.ID] = true
	}
	for _, id := range e.Deleted {
		if ids[id] {
			return Invalidf("templates", "template %d is named twice", id)
		}
		ids[id] = true
	}
	tags := map[Tagging]bool{}
	for _, tagging := range slices.Concat(e.Tag, e.Untag) {
		if tags[tagging] {
			return Invalidf("tags", "the tag %q is named twice for the same device or template", tagging.Tag)
		}
		tags[tagging] = true
	}
	owners := map[VarsOwner]bool{}
	for _, c := range e.Vars {
		if owners[c.VarsOwner] {
			return Invalidf("vars", "the vars of %v are named twice", c.VarsOwner)
		}
		owners[c.VarsOwner] = true
	}
	return nil
}

// SavedBy is the edit with its templates and vars saved by one person or token. The edit itself stays as it is.
func (e Edit) SavedBy(name string, role Role) Edit {
	e.New, e.Changed, e.Vars = slices.Clone(e.New), slices.Clone(e.Changed), slices.Clone(e.Vars)
	for i := range e.Vars {
		e.Vars[i].SavedBy, e.Vars[i].SavedRole = name, role
	}
	for i := range e.New {
		e.New[i].SavedBy, e.New[i].SavedRole = name, role
	}
	for i := range e.Changed {
		e.Changed[i].SavedBy, e.Changed[i].SavedRole = name, role
	}
	return e
}

// Applied is what became of an edit.
type Applied struct {
	Generation int64      // in force then; the one before where the edit changed nothing
	New        []Template // in the order of the edit, with their IDs
}

// Edited is the registry as the edit would leave it, and the IDs that the new templates have in it, in order: they
// come after all others, as those that the service assigns do. Errors name what is not there.
func (r *Registry) Edited(edit Edit) (*Registry, []int64, error) {
	edited := *r
	edited.Templates, edited.Devices = slices.Clone(r.Templates), maps.Clone(r.Devices)
	if err := edited.changeTemplates(edit); err != nil {
		return nil, nil, err
	}
	for i, tagging := range slices.Concat(edit.Tag, edit.Untag) {
		if err := edited.change(tagging, i < len(edit.Tag)); err != nil {
			return nil, nil, err
		}
	}
	if err := edited.changeVars(edit.Vars); err != nil {
		return nil, nil, err
	}
	var last int64
	for _, t := range r.Templates {
		last = max(last, t.ID)
	}
	var ids []int64
	for _, t := range edit.New {
		last++
		t.ID = last
		ids = append(ids, last)
		edited.Templates = append(edited.Templates, t)
	}
	slices.SortFunc(edited.Templates, func(a, b TaggedTemplate) int { return CompareTemplates(a.Template, b.Template) })
	return &edited, ids, nil
}

func (r *Registry) changeTemplates(edit Edit) error {
	for _, changed := range edit.Changed {
		at := r.templateAt(changed.ID)
		if at < 0 {
			return noSuchTemplate(changed.ID)
		}
		r.Templates[at].Template = changed.SavedOver(r.Templates[at].Template)
	}
	for _, id := range edit.Deleted {
		at := r.templateAt(id)
		if at < 0 {
			return noSuchTemplate(id)
		}
		r.Templates = slices.Delete(r.Templates, at, at+1)
	}
	return nil
}

// change attaches or takes off one tag. What is shared with the registry it came from is copied.
func (r *Registry) change(tagging Tagging, attach bool) error {
	if tagging.Device == "" {
		at := r.templateAt(tagging.Template)
		if at < 0 {
			return noSuchTemplate(tagging.Template)
		}
		r.Templates[at].Tags = tagsWith(r.Templates[at].Tags, tagging.Tag, attach)
		return nil
	}
	device := r.Devices[tagging.Device]
	if device == nil {
		return noSuchDevice(tagging.Device)
	}
	changed := *device
	changed.Tags = tagsWith(device.Tags, tagging.Tag, attach)
	r.Devices[tagging.Device] = &changed
	return nil
}

// changeVars puts other vars in place. Who saved vars that stay the same stays, too.
func (r *Registry) changeVars(changes []VarsChange) error {
	r.TagVars = maps.Clone(r.TagVars)
	if r.TagVars == nil {
		r.TagVars = map[Tag]SavedVars{}
	}
	for _, c := range changes {
		if r.VarsOwnedBy(c.VarsOwner).Vars == c.Vars {
			continue
		}
		if c.Device == "" {
			r.TagVars[c.Tag] = c.SavedVars
			continue
		}
		device := r.Devices[c.Device]
		if device == nil {
			return noSuchDevice(c.Device)
		}
		changed := *device
		changed.Vars = c.SavedVars
		r.Devices[c.Device] = &changed
	}
	return nil
}

func noSuchDevice(id DeviceID) error {
	return &Error{Code: CodeInvalid, Message: fmt.Sprintf("no device %s is registered", id),
		Hint: "Name devices by their ID."}
}

// tagsWith is a new, sorted set with the tag, or without it.
func tagsWith(tags []Tag, tag Tag, attach bool) []Tag {
	others := slices.DeleteFunc(slices.Clone(tags), func(t Tag) bool { return t == tag })
	if attach {
		others = append(others, tag)
		slices.Sort(others)
	}
	return others
}

func (r *Registry) templateAt(id int64) int {
	return slices.IndexFunc(r.Templates, func(t TaggedTemplate) bool { return t.ID == id })
}

func noSuchTemplate(id int64) error {
	return &Error{Code: CodeInvalid, Message: fmt.Sprintf("there is no template %d", id),
		Hint: "Name templates by their id; one that is new, or deleted by the same edit, has none."}
}
