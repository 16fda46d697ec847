package view

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"muster/internal/fleet"
)

// EditWarnings names templates with tags that no device has, and those whose program shares a folder with devices that
// do not get it, among the templates that the edit makes or changes, and those of the tags that it puts on or takes off. then is the registry with the edit, as the caller sees it; made are
// the IDs of the new templates in it.
func EditWarnings(edit fleet.Edit, then *fleet.Registry, made []int64) []string {
	ids := slices.Clone(made)
	for _, changed := range edit.Changed {
		ids = append(ids, changed.ID)
	}
	for _, tagging := range slices.Concat(edit.Tag, edit.Untag) {
		if tagging.Template != 0 {
			ids = append(ids, tagging.Template)
			continue
		}
		for _, t := range then.Templates {
			if slices.Contains(t.Tags, tagging.Tag) {
				ids = append(ids, t.ID)
			}
		}
	}
	slices.Sort(ids)
	var warnings []string
	for _, id := range slices.Compact(ids) {
		t := then.Template(id)
		switch {
		case t == nil || len(t.Tags) == 0:
		case !appliesToAny(t, then):
			warnings = append(warnings, fmt.Sprintf("the template %q applies to no device: no device has %s", t.Label,
				tagsText(t.Tags)))
		default:
			if text := unreachedWarning(t, then); text != "" {
				warnings = append(warnings, text)
			}
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

// LeftAlone adds folders that lose their last share on a device.
func (sum *SentenceSum) LeftAlone(id fleet.DeviceID, folders []string) {
	for _, folder := range folders {
		sum.alone[folder] = append(sum.alone[folder], id)
	}
}

// aloneWarnings are the warnings about folders that lose their last share, at most some.
func (sum *SentenceSum) aloneWarnings(most int) (warnings []string) {
	for _, folder := range slices.Sorted(maps.Keys(sum.alone)) {
		if len(warnings) == most {
			break
		}
		devices := sum.alone[folder]
		on := nameOf(devices[0], sum.label)
		if len(devices) > 1 {
			on = fleet.Counted(len(devices), "device", "devices")
		}
		warnings = append(warnings, fmt.Sprintf("Folder %s would be shared with nobody any more on %s", word(folder), on))
	}
	return warnings
}
