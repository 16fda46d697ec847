package change

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"muster/internal/fleet"
)

// Part describes one part of an edit to people.
type Part struct {
	Kind string // "template", "device", "tag", "fleet" or "source"
	Name string
	What string // "create", "change" or "delete"
	Text string
}

// Described describes the parts of an edit that came from files: templates by name, then devices by label, then the
// rest. now and then are the registries without and with the edit.
func Described(edit fleet.Edit, now, then *fleet.Registry) []Part {
	x := description{edit: edit, now: now, then: then}
	for i, t := range x.edit.New {
		x.add("template", x.edit.Files.NewNames[i], "create", "%s at %s, tags: %s", t.Op, keyName(t.Key), tagList(t.Tags))
	}
	names := x.now.TemplateNames()
	for _, t := range x.edit.Changed {
		x.add("template", names[t.ID], "change", "%s", differences(x.now.Template(t.ID).Template, t))
	}
	for _, id := range x.edit.Deleted {
		x.add("template", names[id], "delete", "%s at %s", x.now.Template(id).Op, keyName(x.now.Template(id).Key))
	}
	for _, id := range slices.Sorted(maps.Keys(x.edit.Files.Origins)) {
		from, to := x.now.Origins[id], x.edit.Files.Origins[id]
		if from.Source != to.Source {
			x.add("template", names[id], "change", "belongs to the source %q", to.Source)
		}
		if from.Name != "" && from.Name != to.Name {
			x.add("template", names[id], "change", "file renamed to %s", to.Name)
		}
	}
	x.addTagging(names)
	x.addVars()
	x.addSettings()
	return x.parts
}

// description collects the parts while Described runs.
type description struct {
	edit      fleet.Edit
	now, then *fleet.Registry
	parts     []Part
}

func (x *description) add(kind, name, what, format string, args ...any) {
	x.parts = append(x.parts, Part{Kind: kind, Name: name, What: what, Text: fmt.Sprintf(format, args...)})
}

func (x *description) addTagging(names map[int64]string) {
	for i, tagging := range slices.Concat(x.edit.Tag, x.edit.Untag) {
		verb := "tag"
		if i >= len(x.edit.Tag) {
			verb = "untag"
		}
		if tagging.Device == "" {
			x.add("template", names[tagging.Template], "change", "%s %s", verb, tagging.Tag)
		} else {
			x.add("device", deviceName(x.then, tagging.Device), "change", "%s %s", verb, tagging.Tag)
		}
	}
}

func (x *description) addVars() {
	for _, c := range x.edit.Vars {
		kind, name := "tag", string(c.Tag)
		if c.Device != "" {
			kind, name = "device", deviceName(x.then, c.Device)
		}
		x.add(kind, name, "change", "vars %s", c.Vars.Differences(x.now.VarsOwnedBy(c.VarsOwner).Vars))
	}
}

func (x *description) addSettings() {
	for _, c := range x.edit.Labels {
		x.add("device", string(c.Device), "change", "label %q -> %q", c.From, c.To)
	}
	for _, c := range x.edit.Settings {
		x.add("device", deviceName(x.then, c.Device), "change", "%s", settingsText(c.From, c.To))
	}
	for _, c := range x.edit.Modes {
		x.add("tag", string(c.Tag), "change", "mode %s -> %s", c.From, c.To)
	}
	for _, c := range x.edit.Roots {
		kind := "tag"
		if c.Tag == "" {
			kind = "fleet"
		}
		x.add(
			kind,
			string(c.Tag),
			"change",
			"folder roots [%s] -> [%s]",
			strings.Join(c.From, ", "),
			strings.Join(c.To, ", "),
		)
	}
	for _, c := range x.edit.Protect {
		x.add("tag", string(c.Tag), "change", "protected: %t", c.To)
	}
	if c := x.edit.Files.Kept; c != nil {
		what := "change"
		if c.New {
			what = "create"
		}
		x.add(
			"source",
			x.edit.Files.Source,
			what,
			"read-only elsewhere: %t, assertions kept: %d",
			c.To.ReadOnly,
			len(c.To.Tests),
		)
	}
}

func deviceName(then *fleet.Registry, id fleet.DeviceID) string {
	if label := then.Devices[id].Label; label != "" {
		return label
	}
	return string(id)
}

func keyName(key string) string {
	if key == "" {
		return "the whole configuration"
	}
	return key
}

func tagList(tags []fleet.Tag) string {
	if len(tags) == 0 {
		return "none"
	}
	names := make([]string, len(tags))
	for i, tag := range tags {
		names[i] = string(tag)
	}
	return strings.Join(names, ", ")
}

// differences describes the fields in which a template differs from another.
func differences(is, to fleet.Template) string {
	var all []string
	for _, field := range []struct{ name, is, to string }{
		{"label", strconv.Quote(is.Label), strconv.Quote(to.Label)},
		{"priority", strconv.FormatInt(is.Priority, 10), strconv.FormatInt(to.Priority, 10)},
		{"op", string(is.Op), string(to.Op)}, {"key", keyName(is.Key), keyName(to.Key)},
	} {
		if field.is != field.to {
			all = append(all, field.name+" "+field.is+" -> "+field.to)
		}
	}
	if is.Text != to.Text {
		all = append(all, "text")
	}
	return strings.Join(all, ", ")
}

func settingsText(from, to fleet.DeviceSettings) string {
	var all []string
	for _, field := range []struct{ name, is, to string }{
		{"mode", string(from.Mode.OrOn()), string(to.Mode.OrOn())},
		{"allowPlain", strconv.FormatBool(from.AllowPlain), strconv.FormatBool(to.AllowPlain)},
		{"restart", strconv.FormatBool(from.Restart), strconv.FormatBool(to.Restart)},
		{"way", from.Way.String(), to.Way.String()},
	} {
		if field.is != field.to {
			all = append(all, field.name+" "+field.is+" -> "+field.to)
		}
	}
	return strings.Join(all, ", ")
}
