package httpapi

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"

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
	d.Name = name
	if d.Template, err = completeTemplate(api.PutTemplate{Label: body.Label, Priority: body.Priority, Op: body.Op,
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
	tags, err := each(names, "tags", fleet.ParseTag)
	if err != nil {
		return nil, err
	}
	slices.Sort(tags)
	return append([]fleet.Tag{}, slices.Compact(tags)...), nil
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

// unfiled describes templates without a file.
func (x adjusting) unfiled(ids []int64) []api.UnfiledTemplate {
	out, names := []api.UnfiledTemplate{}, x.now.TemplateNames()
	for _, id := range ids {
		t := x.now.Template(id)
		out = append(out, api.UnfiledTemplate{ID: id, Name: names[id], Op: string(t.Op), Key: t.Key, Tags: wireTags(t.Tags)})
	}
	return out
}
