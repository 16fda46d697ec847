package view

import (
	"fmt"
	"slices"
	"strings"

	"muster/internal/fleet"
)

// EditWarnings names new, changed and newly tagged templates with tags that no device has. then is the registry with
// the edit, as the caller sees it; made are the IDs of the new templates in it.
func EditWarnings(edit fleet.Edit, then *fleet.Registry, made []int64) []string {
	ids := slices.Clone(made)
	for _, changed := range edit.Changed {
		ids = append(ids, changed.ID)
	}
	for _, tagging := range slices.Concat(edit.Tag, edit.Untag) {
		if tagging.Template != 0 {
			ids = append(ids, tagging.Template)
		}
	}
	slices.Sort(ids)
	var warnings []string
	for _, id := range slices.Compact(ids) {
		if t := then.Template(id); t != nil && len(t.Tags) > 0 && !appliesToAny(t, then) {
			warnings = append(warnings, fmt.Sprintf("the template %q applies to no device: no device has %s", t.Label,
				tagsText(t.Tags)))
		}
	}
	return warnings
}

func appliesToAny(t *fleet.TaggedTemplate, r *fleet.Registry) bool {
	for _, device := range r.Devices {
		if t.AppliesTo(device) {
			return true
		}
	}
	return false
}

func tagsText(tags []fleet.Tag) string {
	quoted := make([]string, len(tags))
	for i, tag := range tags {
		quoted[i] = fmt.Sprintf("%q", tag)
	}
	if len(tags) == 1 {
		return "the tag " + quoted[0]
	}
	return "one of the tags " + strings.Join(quoted, ", ")
}

// aloneText is the warning about a folder that would be added and shared with nobody; "" for other sentences.
func (d *sentenceDraft) aloneText(on string) string {
	w := d.group.words
	if w.form != formFolder || w.kind != SentenceAdded || d.first.peers > 0 || !w.isMade {
		return ""
	}
	return w.subject + " would be shared with nobody on " + on
}
