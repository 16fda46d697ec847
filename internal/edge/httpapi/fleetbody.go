package httpapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"muster/api"
	"muster/internal/core/fleetfiles"
	"muster/internal/fleet"
)

// declaredFrom reads what a body says of a fleet.
func declaredFrom(body api.PlanFleet) (d fleet.Declared, err error) {
	d = fleet.Declared{Source: body.Source, ReadOnly: body.ReadOnly, Prune: body.Prune}
	if err := fleet.ValidateLabel(body.Source); err != nil {
		return d, at("source", err)
	}
	if body.FolderRoots != nil {
		if d.Roots, err = fleet.ParseFolderRoots(body.FolderRoots); err != nil {
			return d, at("folderRoots", err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(body.Templates)) {
		one, err := declaredTemplate(name, body.Templates[name])
		if err != nil {
			return d, inside("templates."+name, err)
		}
		d.Templates = append(d.Templates, one)
	}
	for _, name := range slices.Sorted(maps.Keys(body.Devices)) {
		one, err := declaredDevice(name, body.Devices[name])
		if err != nil {
			return d, inside("devices."+name, err)
		}
		d.Devices = append(d.Devices, one)
	}
	for _, name := range slices.Sorted(maps.Keys(body.Tags)) {
		one, err := declaredTag(name, body.Tags[name])
		if err != nil {
			return d, inside("tags."+name, err)
		}
		d.Tags = append(d.Tags, one)
	}
	return d, declareTests(&d, body)
}

func declareTests(d *fleet.Declared, body api.PlanFleet) error {
	tests := []fleet.Assertion{}
	for i, one := range body.Assertions {
		a := fleet.Assertion(one)
		if err := fleetfiles.CheckAssertion(a); err != nil {
			return inside("assertions."+strconv.Itoa(i), err)
		}
		tests = append(tests, a)
	}
	if body.Keep {
		d.Tests = &tests
	} else if d.Source != "" {
		d.Tests = &[]fleet.Assertion{}
	}
	return nil
}

func declaredTemplate(name string, body api.PlanFleetTemplate) (d fleet.DeclaredTemplate, err error) {
	if name == "" {
		return d, fleet.Invalidf("", "a template has the name of its file, which is not blank")
	}
	if err := missing(map[string]bool{"op": body.Op == nil, "key": body.Key == nil,
		"template": body.Template == nil}); err != nil {
		return d, err
	}
	d.Name = name
	if d.Template, err = templateFrom(api.PutTemplate{Label: body.Label, Priority: body.Priority, Op: body.Op,
		Key: body.Key, Template: body.Template}); err != nil {
		return d, err
	}
	d.Tags, err = parseTags(body.Tags)
	return d, err
}

// parseTags gives a sorted set; nil stays nil.
func parseTags(names []string) ([]fleet.Tag, error) {
	if names == nil {
		return nil, nil
	}
	tags := []fleet.Tag{}
	for _, name := range names {
		tag, err := fleet.ParseTag(name)
		if err != nil {
			return nil, at("tags", err)
		}
		tags = append(tags, tag)
	}
	slices.Sort(tags)
	return slices.Compact(tags), nil
}

func declaredDevice(name string, body api.PlanFleetDevice) (d fleet.DeclaredDevice, err error) {
	if d.ID, err = fleet.ParseDeviceID(name); err != nil {
		return d, at("", err)
	}
	d.Label = body.Label
	if d.Vars, err = declaredVars(body.Vars); err != nil {
		return d, err
	}
	if d.Tags, err = parseTags(body.Tags); err != nil || body.Settings == nil {
		return d, err
	}
	d.AllowPlain, d.Restart = body.Settings.AllowPlain, body.Settings.Restart
	if d.Mode, err = parsed(body.Settings.Mode, fleet.ParseMode); err != nil {
		return d, at("settings.mode", err)
	}
	d.Way, err = parsed(body.Settings.Way, fleet.ParseWay)
	return d, at("settings.way", err)
}

// declaredVars reads vars; nil: the file says nothing of them.
func declaredVars(values map[string]json.RawMessage) (*fleet.Vars, error) {
	if values == nil {
		return nil, nil
	}
	vars, err := fleet.ParseVars(values)
	return &vars, err
}

// parsed reads a text where there is one.
func parsed[T any](text *string, parse func(string) (T, error)) (*T, error) {
	if text == nil {
		return nil, nil
	}
	value, err := parse(*text)
	return &value, err
}

func declaredTag(name string, body api.PlanFleetTag) (d fleet.DeclaredTag, err error) {
	if d.Tag, err = fleet.ParseTag(name); err != nil {
		return d, at("", err)
	}
	d.Protected = body.Protected
	if d.Vars, err = declaredVars(body.Vars); err != nil {
		return d, err
	}
	if d.Mode, err = parsed(body.Mode, fleet.ParseMode); err != nil {
		return d, at("mode", err)
	}
	if body.FolderRoots != nil {
		d.Roots, err = fleet.ParseFolderRoots(body.FolderRoots)
	}
	return d, at("folderRoots", err)
}

// wire lists what would be changed in Muster: templates by name, then devices by label, then the rest.
func (x adjusting) wire(then *fleet.Registry) []api.FleetChange {
	changes := []api.FleetChange{}
	add := func(kind, name, what, format string, args ...any) {
		changes = append(changes, api.FleetChange{Kind: kind, Name: name, What: what, Text: fmt.Sprintf(format, args...)})
	}
	for i, t := range x.edit.New {
		add("template", x.edit.Files.NewNames[i], "create", "%s at %s, tags: %s", t.Op, keyName(t.Key), tagList(t.Tags))
	}
	names := x.now.TemplateNames()
	for _, t := range x.edit.Changed {
		add("template", names[t.ID], "change", "%s", differences(x.template(t.ID).Template, t))
	}
	for _, id := range x.edit.Deleted {
		add("template", names[id], "delete", "%s at %s", x.template(id).Op, keyName(x.template(id).Key))
	}
	for _, id := range slices.Sorted(maps.Keys(x.edit.Files.Origins)) {
		from, to := x.now.Origins[id], x.edit.Files.Origins[id]
		if from.Source != to.Source {
			add("template", names[id], "change", "belongs to the source %q", to.Source)
		}
		if from.Name != "" && from.Name != to.Name {
			add("template", names[id], "change", "file renamed to %s", to.Name)
		}
	}
	x.wireTagging(then, names, add)
	x.wireVars(then, add)
	x.wireSettings(then, add)
	return changes
}

func (x adjusting) template(id int64) fleet.TaggedTemplate {
	return x.now.Templates[slices.IndexFunc(x.now.Templates, func(t fleet.TaggedTemplate) bool { return t.ID == id })]
}

// unfiled describes templates without a file.
func (x adjusting) unfiled(ids []int64) []api.UnfiledTemplate {
	out, names := []api.UnfiledTemplate{}, x.now.TemplateNames()
	for _, id := range ids {
		t := x.template(id)
		out = append(out, api.UnfiledTemplate{ID: id, Name: names[id], Op: string(t.Op), Key: t.Key, Tags: wireTags(t.Tags)})
	}
	return out
}

// mayPrune refuses to delete many templates of the source unless the caller says that it means that.
func (x adjusting) mayPrune(many bool) error {
	if !x.files.PrunesMany || many {
		return nil
	}
	return &fleet.Error{Code: fleet.CodeConflict,
		Message: fmt.Sprintf("%d templates have no file any more, more than a tenth of those of the source %q",
			len(x.edit.Deleted), x.edit.Files.Source),
		Hint: "Look whether the directory is complete. To delete them, type `muster apply -f DIR --prune --prune-many`."}
}

func (x adjusting) wireTagging(
	then *fleet.Registry,
	names map[int64]string,
	add func(kind, name, what, format string, args ...any),
) {
	for i, tagging := range slices.Concat(x.edit.Tag, x.edit.Untag) {
		verb := "tag"
		if i >= len(x.edit.Tag) {
			verb = "untag"
		}
		if tagging.Device == "" {
			add("template", names[tagging.Template], "change", "%s %s", verb, tagging.Tag)
		} else {
			add("device", deviceName(then, tagging.Device), "change", "%s %s", verb, tagging.Tag)
		}
	}
}

func (x adjusting) wireVars(then *fleet.Registry, add func(kind, name, what, format string, args ...any)) {
	for _, c := range x.edit.Vars {
		kind, name := "tag", string(c.Tag)
		if c.Device != "" {
			kind, name = "device", deviceName(then, c.Device)
		}
		add(kind, name, "change", "vars %s", c.Vars.Differences(x.now.VarsOwnedBy(c.VarsOwner).Vars))
	}
}

func (x adjusting) wireSettings(then *fleet.Registry, add func(kind, name, what, format string, args ...any)) {
	for _, c := range x.edit.Labels {
		add("device", string(c.Device), "change", "label %q -> %q", c.From, c.To)
	}
	for _, c := range x.edit.Settings {
		add("device", deviceName(then, c.Device), "change", "%s", settingsText(c.From, c.To))
	}
	for _, c := range x.edit.Modes {
		add("tag", string(c.Tag), "change", "mode %s -> %s", c.From, c.To)
	}
	for _, c := range x.edit.Roots {
		kind := "tag"
		if c.Tag == "" {
			kind = "fleet"
		}
		add(kind, string(c.Tag), "change", "folder roots [%s] -> [%s]", strings.Join(c.From, ", "), strings.Join(c.To, ", "))
	}
	for _, c := range x.edit.Protect {
		add("tag", string(c.Tag), "change", "protected: %t", c.To)
	}
	if c := x.edit.Files.Kept; c != nil {
		what := "change"
		if c.New {
			what = "create"
		}
		add(
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
	return strings.Join(wireTags(tags), ", ")
}

// differences names the fields of a template that differ.
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
		{"mode", string(orOn(from.Mode)), string(orOn(to.Mode))},
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
