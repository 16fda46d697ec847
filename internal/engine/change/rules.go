package change

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"muster/internal/fleet"
)

// protection allows only an admin to put a protected tag on a device, to take it off, or to delete it. Muster itself
// is not an admin. Only an author or admin may change the other tags of a template with a protected tag, because
// another tag gives the template's content to devices without the protected tag. An enrol key may use the tags that an
// admin gave it.
func (j *judgement) protection(context.Context) error {
	if j.role == fleet.RoleAdmin || j.enrollsByKey() || !j.mayTouchProtected() {
		return nil
	}
	then, err := j.afterwards()
	if err != nil {
		return err
	}
	changed := map[fleet.Tag]bool{}
	for _, tag := range j.edit.Drop { // Deleting a tag also takes it off templates.
		changed[tag] = true
	}
	for id, device := range then.Devices {
		if was := j.now.Devices[id]; was != nil {
			addDifferences(changed, was.Tags, device.Tags)
		}
	}
	if tag, found := j.firstProtected(changed); found {
		return &fleet.Error{Code: fleet.CodeForbidden,
			Message: fmt.Sprintf("the tag %q is protected: only an admin puts it on a device or takes it off", tag),
			Hint:    "Ask an admin, or use a token with the role admin."}
	}
	if j.role.Includes(fleet.RoleAuthor) {
		return nil
	}
	if tag, found := j.firstProtected(retaggedTemplates(j.now, then)); found {
		return &fleet.Error{Code: fleet.CodeForbidden,
			Message: fmt.Sprintf("the tag %q is protected: only an author or admin changes the tags of a template with it", tag),
			Hint:    "Ask one of them, or use a token with the role author or higher."}
	}
	return nil
}

func (j *judgement) enrollsByKey() bool { return j.edit.Enroll != nil && j.edit.Enroll.KeyHash != "" }

// mayTouchProtected reports whether the edit can change anything about protected tags. Only then must protection
// compare the registries.
func (j *judgement) mayTouchProtected() bool {
	if len(j.now.Protected) == 0 {
		return false
	}
	return j.edit.Undo != nil || len(j.edit.Drop) > 0 ||
		slices.ContainsFunc(slices.Concat(j.edit.Tag, j.edit.Untag), func(t fleet.Tagging) bool {
			return t.Device == "" || j.now.Protected[t.Tag]
		})
}

func (j *judgement) firstProtected(tags map[fleet.Tag]bool) (fleet.Tag, bool) {
	for _, tag := range slices.Sorted(maps.Keys(tags)) {
		if j.now.Protected[tag] {
			return tag, true
		}
	}
	return "", false
}

// retaggedTemplates returns the tags, before and after the edit, of all templates whose tags the edit changes.
func retaggedTemplates(now, then *fleet.Registry) map[fleet.Tag]bool {
	tags := map[fleet.Tag]bool{}
	for _, template := range now.Templates {
		if after := then.Template(template.ID); after != nil && !slices.Equal(template.Tags, after.Tags) {
			for _, tag := range slices.Concat(template.Tags, after.Tags) {
				tags[tag] = true
			}
		}
	}
	return tags
}

// addDifferences adds the tags that are in exactly one of two sorted sets.
func addDifferences(to map[fleet.Tag]bool, a, b []fleet.Tag) {
	if slices.Equal(a, b) {
		return
	}
	for _, sides := range [][2][]fleet.Tag{{a, b}, {b, a}} {
		for _, tag := range sides[0] {
			if !slices.Contains(sides[1], tag) {
				to[tag] = true
			}
		}
	}
}

// readOnlySources refuses to change a template that belongs to a read-only source, unless the edit comes from the
// files of that source. An undo is exempt, because it may take back what those files changed.
func (j *judgement) readOnlySources(context.Context) error {
	if j.edit.Undo != nil || !j.changesTemplates() || !readOnly(j.now) {
		return nil
	}
	then, err := j.afterwards()
	if err != nil {
		return err
	}
	for _, template := range j.now.Templates {
		source := j.now.Origins[template.ID].Source
		if !j.now.Sources[source].ReadOnly || source == j.edit.Files.Source {
			continue
		}
		if after := then.Template(template.ID); after == nil || !sameTemplate(template, *after) {
			return &fleet.Error{Code: fleet.CodeConflict,
				Message: fmt.Sprintf("template %d belongs to the source %q, which is read-only elsewhere", template.ID, source),
				Hint: "Change its file, and apply the files of that source with `muster apply -f DIR`. If they are gone, an " +
					"admin gives the source up with `muster source forget " + source + "`."}
		}
	}
	return nil
}

// changesTemplates reports whether the edit may change existing templates.
func (j *judgement) changesTemplates() bool {
	return len(j.edit.Changed)+len(j.edit.Deleted)+len(j.edit.Drop) > 0 ||
		slices.ContainsFunc(slices.Concat(j.edit.Tag, j.edit.Untag),
			func(t fleet.Tagging) bool { return t.Device == "" })
}

func readOnly(r *fleet.Registry) bool {
	for _, source := range r.Sources {
		if source.ReadOnly {
			return true
		}
	}
	return false
}

// sameTemplate reports whether two templates are equal in the fields that people write and in their tags.
func sameTemplate(a, b fleet.TaggedTemplate) bool {
	return a.SaysTheSame(b.Template) && a.Label == b.Label && a.Priority == b.Priority && slices.Equal(a.Tags, b.Tags)
}
