package view

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"muster/internal/fleet"
)

// EditWarnings names templates with tags that no device has, those whose program asks devices() for such a tag, and
// those whose program shares a folder with devices that do not get it. It looks at the templates that the edit makes or
// changes, and at those of the tags that it puts on or takes off. then is the registry with the edit, as the caller
// sees it; made are the IDs of the new templates in it.
func EditWarnings(edit fleet.Edit, then *fleet.Registry, made []int64) []string {
	var warnings []string
	for _, t := range concerned(edit, then, made) {
		if !appliesToAny(t, then) {
			warnings = append(warnings, fmt.Sprintf("the template %s applies to no device: no device has %s", nameOfTemplate(t),
				tagsText(t.Tags)))
		} else if text := unreachedWarning(t, then); text != "" {
			warnings = append(warnings, text)
		}
		warnings = append(warnings, askedTagWarnings(t, then)...)
	}
	return warnings
}

var (
	// askedTag matches a call of devices with a tag that is written out.
	askedTag = regexp.MustCompile(`\bdevices\(\s*(?:tag\s*=\s*)?(?:"([^"\\\n]+)"|'([^'\\\n]+)')\s*\)`)
	// comments matches the lines of a program that are comments.
	comments = regexp.MustCompile(`(?m)^[ \t]*#.*$`)
)

// askedTagWarnings names the tags that a program gives to devices() and no device has. It looks at the text alone, and
// so misses a tag that the program puts together.
func askedTagWarnings(t *fleet.TaggedTemplate, r *fleet.Registry) (warnings []string) {
	if !t.Reads.OrAll().Devices {
		return nil
	}
	var known []string
	for _, device := range r.Devices {
		for _, tag := range device.Tags {
			known = append(known, string(tag))
		}
	}
	var named []string
	for _, call := range askedTag.FindAllStringSubmatch(comments.ReplaceAllString(t.Text, ""), -1) {
		tag := call[1] + call[2]
		if slices.Contains(known, tag) || slices.Contains(named, tag) {
			continue
		}
		named = append(named, tag)
		warnings = append(warnings, fmt.Sprintf("the template %s asks for devices(tag=%q), and no device has that tag%s",
			nameOfTemplate(t), tag, fleet.DidYouMean(tag, known)))
	}
	return warnings
}

// SavedWarnings are those of EditWarnings that a single write gives. Whether a template applies to a device is left
// out, because a script tags templates before devices.
func SavedWarnings(edit fleet.Edit, now *fleet.Registry, made []int64) []string {
	var warnings []string
	for _, t := range concerned(edit, now, made) {
		if text := unreachedWarning(t, now); text != "" && appliesToAny(t, now) {
			warnings = append(warnings, text)
		}
	}
	return warnings
}

// concerned returns the tagged templates that an edit is about, by ID.
func concerned(edit fleet.Edit, then *fleet.Registry, made []int64) []*fleet.TaggedTemplate {
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
	var all []*fleet.TaggedTemplate
	for _, id := range slices.Compact(ids) {
		if t := then.Template(id); t != nil && len(t.Tags) > 0 {
			all = append(all, t)
		}
	}
	return all
}

func nameOfTemplate(t *fleet.TaggedTemplate) string {
	if t.Label == "" {
		return strconv.FormatInt(t.ID, 10)
	}
	return strconv.Quote(t.Label)
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
