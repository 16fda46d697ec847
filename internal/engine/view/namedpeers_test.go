package view

import (
	"slices"
	"testing"

	"muster/internal/fleet"
)

// A program named a device that never got the folder, and nobody was told.
func TestADeviceThatAProgramNamesAndNoTemplateReachesIsWarnedOf(t *testing.T) {
	const oslo = fleet.DeviceID("P56IOI7-MZJNU2Y-IQGDREY-DM2MGTI-MGL3BXN-PQ6W5BM-TBBZ4TJ-XZWICQ2")
	const warning = `the template "Team" names oslo, which lacks the tag "team", and may share with it: ` +
		`no template gives it the folder`
	team := fleet.TaggedTemplate{Template: fleet.Template{ID: 1, Label: "Team", Op: fleet.OpSet, Key: "folders.team",
		Text: `{"devices": [{"deviceID": "` + string(oslo) + `"}]}`}, Tags: []fleet.Tag{"team"}}
	for name, test := range map[string]struct {
		change func(template *fleet.TaggedTemplate, r *fleet.Registry)
		want   []string
	}{
		"it lacks the tag": {func(*fleet.TaggedTemplate, *fleet.Registry) {},
			[]string{warning}},
		"it has the tag": {func(_ *fleet.TaggedTemplate, r *fleet.Registry) {
			r.Devices[oslo].Tags = []fleet.Tag{"team"}
		}, nil},
		"another template gives it the folder": {func(_ *fleet.TaggedTemplate, r *fleet.Registry) {
			r.Devices[oslo].Tags = []fleet.Tag{"hub"}
			r.Templates = append(r.Templates, fleet.TaggedTemplate{Tags: []fleet.Tag{"hub"},
				Template: fleet.Template{ID: 2, Op: fleet.OpSet, Key: "folders.team"}})
		}, nil},
		"another template gives it another folder": {func(_ *fleet.TaggedTemplate, r *fleet.Registry) {
			r.Devices[oslo].Tags = []fleet.Tag{"hub"}
			r.Templates = append(r.Templates, fleet.TaggedTemplate{Tags: []fleet.Tag{"hub"},
				Template: fleet.Template{ID: 2, Op: fleet.OpSet, Key: "folders.other"}})
		}, []string{warning}},
		"the program names its tag": {func(template *fleet.TaggedTemplate, r *fleet.Registry) {
			template.Text = `{"devices": [{"deviceID": d.deviceID} for d in devices(tag = "copies")]}`
			r.Devices[oslo].Tags = []fleet.Tag{"copies"}
		}, []string{warning}},
		"a comment names it": {func(template *fleet.TaggedTemplate, _ *fleet.Registry) {
			template.Text = "# not " + string(oslo) + "\n{}"
		}, nil},
		"the template removes": {func(template *fleet.TaggedTemplate, _ *fleet.Registry) {
			template.Op = fleet.OpRemove
		}, nil},
		"the template is about another section": {func(template *fleet.TaggedTemplate, _ *fleet.Registry) {
			template.Key = "devices"
		}, nil},
		"the device is not registered": {func(_ *fleet.TaggedTemplate, r *fleet.Registry) {
			delete(r.Devices, oslo)
		}, nil},
	} {
		registry := registryOf(idA, oslo)
		registry.Devices[idA].Tags, registry.Devices[oslo].Label = []fleet.Tag{"team"}, "oslo"
		template := team
		test.change(&template, registry)
		registry.Templates = append([]fleet.TaggedTemplate{template}, registry.Templates...)
		got := EditWarnings(fleet.Edit{Changed: []fleet.Template{{ID: 1}}}, registry, nil)
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}
