package view

import (
	"slices"
	"testing"

	"muster/internal/core/plan"
	"muster/internal/fleet"
)

func TestAFolderThatIsSharedWithNobodyIsWarnedOf(t *testing.T) {
	alone := func(device string, change plan.Change, dropped bool) plannedText {
		return plannedText{device: device, key: "folders.team", to: teamFolder("", device), change: change, dropped: dropped}
	}
	got := summaryOf(t, alone("nas", plan.Change{}, false), alone("oslo", plan.Change{}, false),
		alone("berlin-1", plan.Change{Class: plan.Refused}, false), alone("berlin-2", plan.Change{}, true),
		plannedText{device: "berlin-3", key: "folders.team", to: teamFolder("", "nas", "berlin-3")})
	if want := []string{"Team (~/Team) would be shared with nobody on 2 devices"}; !slices.Equal(got.Warnings, want) {
		t.Errorf("got %q, want %q", got.Warnings, want)
	}
}

func TestATemplateThatAppliesToNoDeviceIsWarnedOf(t *testing.T) {
	template := func(id int64, tags ...fleet.Tag) fleet.TaggedTemplate {
		return fleet.TaggedTemplate{Template: fleet.Template{ID: id, Label: string(rune('a' + id))}, Tags: tags}
	}
	registry := registryOf(idA)
	registry.Devices[idA].Tags = []fleet.Tag{"office"}
	registry.Templates = []fleet.TaggedTemplate{template(1, "office"), template(2, "ofice"), template(3, "ofice", "x"),
		template(4), template(5, "ofice")}
	got := EditWarnings(
		fleet.Edit{Changed: []fleet.Template{{ID: 2}, {ID: 4}}, Tag: []fleet.Tagging{{Tag: "x", Template: 3},
			{Tag: "x", Device: idA}}},
		registry,
		[]int64{1, 2},
	)
	if want := []string{`the template "c" applies to no device: no device has the tag "ofice"`,
		`the template "d" applies to no device: no device has one of the tags "ofice", "x"`}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A program that asked for devices(tag="taem") got an empty list, and shared its folder with no device. No warning
// named the tag.
func TestATagInDevicesThatNoDeviceHasIsWarnedOf(t *testing.T) {
	registry := registryOf(idA)
	registry.Devices[idA].Tags = []fleet.Tag{"office", "team"}
	const text = `def template():
    # devices(tag="commented")
    a = devices(tag="taem") + devices( 'taem' ) + devices("team") + devices()
    b = devices(tag = "remote") + devices(tag="of" + "fice")
    return [d.label for d in a + b]`
	registry.Templates = []fleet.TaggedTemplate{
		{Template: fleet.Template{ID: 1, Label: "b", Text: text, Reads: fleet.Inputs{Known: true, Devices: true}},
			Tags: []fleet.Tag{"office"}},
		{Template: fleet.Template{ID: 2, Label: "hjson", Text: `{label: "devices(tag=\"taem\")"}`,
			Reads: fleet.Inputs{Known: true}}, Tags: []fleet.Tag{"office"}},
	}
	want := []string{`the template "b" asks for devices(tag="taem"), and no device has that tag (did you mean "team"?)`,
		`the template "b" asks for devices(tag="remote"), and no device has that tag`}
	if got := EditWarnings(fleet.Edit{}, registry, []int64{1, 2}); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Taking the tag off the second of two devices left the folder of the first without a share.
func TestAFolderThatLosesItsLastShareIsWarnedOf(t *testing.T) {
	const idC = fleet.DeviceID("C")
	registry := registryOf(idA, idB, idC)
	registry.Devices[idA].Label = "nas"
	sum := NewEffectSum(fleet.Scope{}, func(fleet.DeviceID) bool { return true })
	sum.Add(registry, plan.Effect{Device: idA, Alone: []string{"team", "photos"}})
	sum.Add(registry, plan.Effect{Device: idB, Alone: []string{"team"}})
	sum.Add(registry, plan.Effect{Device: idC})
	want := []string{"Folder photos would be shared with nobody any more on nas",
		"Folder team would be shared with nobody any more on 2 devices"}
	if got := sum.Effects().Summary.Warnings; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
