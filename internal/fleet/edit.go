package fleet

import (
	"fmt"
	"maps"
	"slices"
)

// Edit is a change of templates and tags that is only considered.
type Edit struct {
	New     []TaggedTemplate // without ID
	Changed []Template       // as a whole
	Deleted []int64
	Tag     []Tagging
	Untag   []Tagging
}

// Tagging is a tag on a device, or on a template where Device is "".
type Tagging struct {
	Tag      Tag
	Device   DeviceID
	Template int64
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
		r.Templates[at].Template = changed
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
		return &Error{Code: CodeInvalid, Message: fmt.Sprintf("no device %s is registered", tagging.Device),
			Hint: "Name devices by their ID."}
	}
	changed := *device
	changed.Tags = tagsWith(device.Tags, tagging.Tag, attach)
	r.Devices[tagging.Device] = &changed
	return nil
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
