package fleet

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// maxTitleParts is how many things a title names one by one. More are counted.
const maxTitleParts = 3

// Titled returns the edit with its title: what a person wrote about it, or a text made from what it changes in the
// registry now.
func (e Edit) Titled(now *Registry) Edit {
	e.Title = cmp.Or(e.Message, OneLine(e.madeTitle(now)))
	return e
}

// TitleOfUndo returns the title of the undo of a rollout for which nobody wrote one.
func TitleOfUndo(rollout Rollout) string {
	return OneLine(fmt.Sprintf("rollout %d undone: %s", rollout.ID, rollout.Cause))
}

// madeTitle describes what the edit changes, for people. Templates and tags have their names. Devices have their IDs,
// which are shown as labels to those who may see the device; a device that is deleted has its label, too.
func (e Edit) madeTitle(now *Registry) string {
	if e.Undo != nil {
		return TitleOfUndo(e.Undo.Rollout)
	}
	if e.Enroll != nil {
		return fmt.Sprintf("%s: enrolled%s", e.Enroll.Device.ID, tagNames(" with ", e.Enroll.Tags))
	}
	t := title{now: now, did: map[string][]string{}}
	t.templates(e)
	t.tags(e)
	for _, c := range e.Vars {
		if c.Device != "" {
			t.add(string(c.Device), "devices", "vars changed")
		} else {
			t.add("tag "+string(c.Tag), "tags", "vars changed")
		}
	}
	for _, tag := range e.Drop {
		t.add("tag "+string(tag), "tags", "deleted")
	}
	for _, id := range e.Remove {
		t.add(t.deletedDevice(id), "devices", "deleted")
	}
	for _, one := range e.Revoke {
		t.add(string(one.Device), "devices", "revoked")
	}
	for _, id := range e.Readmit {
		t.add(string(id), "devices", "revocation ended")
	}
	return t.text()
}

// title collects what an edit does, by the name of the thing.
type title struct {
	now   *Registry
	names []string            // things in the order in which the edit names them
	kinds []string            // kind of each name, in the plural
	did   map[string][]string // acts of the edit on each name
}

func (t *title) add(name, kind, what string) {
	if len(t.did[name]) == 0 {
		t.names, t.kinds = append(t.names, name), append(t.kinds, kind)
	}
	if !slices.Contains(t.did[name], what) {
		t.did[name] = append(t.did[name], what)
	}
}

func (t *title) templates(e Edit) {
	for _, made := range e.New {
		t.add(cmp.Or(made.Label, "a template at "+cmp.Or(made.Key, "the whole configuration")), "templates",
			"created"+tagNames(" for ", made.Tags))
	}
	for _, changed := range e.Changed {
		what := "changed"
		if is := t.now.Template(changed.ID); is != nil {
			what = changedFields(is.Template, changed)
		}
		t.add(t.template(changed.ID), "templates", what)
	}
	for _, id := range e.Deleted {
		t.add(t.template(id), "templates", "deleted")
	}
}

// tags adds what the edit does to the tags of templates and devices. One tag on many devices is about the tag.
func (t *title) tags(e Edit) {
	for i, all := range [][]Tagging{e.Tag, e.Untag} {
		did, preposition := "added", "to"
		if i == 1 {
			did, preposition = "removed", "from"
		}
		devices := map[Tag]int{}
		for _, one := range all {
			if one.Device == "" {
				t.add(t.template(one.Template), "templates", string(one.Tag)+" "+did)
			} else {
				devices[one.Tag]++
			}
		}
		for _, one := range all {
			if one.Device != "" && devices[one.Tag] == 1 {
				t.add(string(one.Device), "devices", string(one.Tag)+" "+did)
			}
		}
		for _, tag := range slices.Sorted(maps.Keys(devices)) {
			if n := devices[tag]; n > 1 {
				t.add(string(tag), "tags", fmt.Sprintf("%s %s %s devices", did, preposition, NumberText(n)))
			}
		}
	}
}

func (t *title) template(id int64) string {
	if is := t.now.Template(id); is != nil && is.Label != "" {
		return is.Label
	}
	return fmt.Sprintf("template %d", id)
}

// deletedDevice names a device by label and ID, because the label is not registered any more when the title is read.
func (t *title) deletedDevice(id DeviceID) string {
	if is := t.now.Devices[id]; is != nil && is.Label != "" {
		return fmt.Sprintf("%s (%s)", is.Label, id)
	}
	return string(id)
}

// text names the first things one by one and counts the others by their kind.
func (t *title) text() string {
	var parts []string
	rest, kinds := map[string]int{}, []string{}
	for i, name := range t.names {
		if len(t.names) <= maxTitleParts || i < maxTitleParts-1 {
			parts = append(parts, name+": "+strings.Join(t.did[name], ", "))
			continue
		}
		if kind := t.kinds[i]; rest[kind] == 0 {
			kinds = append(kinds, kind)
		}
		rest[t.kinds[i]]++
	}
	for _, kind := range kinds {
		text := NumberText(rest[kind]) + " more " + kind
		if rest[kind] == 1 {
			text = "1 more " + strings.TrimSuffix(kind, "s")
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

// changedFields names the fields in which a template differs from what it was.
func changedFields(is, to Template) string {
	var fields []string
	for _, field := range []struct {
		name    string
		differs bool
	}{
		{"priority", is.Priority != to.Priority}, {"op", is.Op != to.Op}, {"key", is.Key != to.Key},
		{"text", is.Text != to.Text},
	} {
		if field.differs {
			fields = append(fields, field.name)
		}
	}
	var parts []string
	if len(fields) > 0 {
		parts = append(parts, strings.Join(fields, ", ")+" changed")
	}
	if is.Label != to.Label {
		parts = append(parts, "renamed to "+cmp.Or(to.Label, "nothing"))
	}
	return cmp.Or(strings.Join(parts, ", "), "saved again")
}

func tagNames(before string, tags []Tag) string {
	if len(tags) == 0 {
		return ""
	}
	names := make([]string, len(tags))
	for i, tag := range tags {
		names[i] = string(tag)
	}
	return before + strings.Join(names, ", ")
}
