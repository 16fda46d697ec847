package fleet

import (
	"slices"
	"testing"
)

func editable() *Registry {
	return &Registry{
		Devices: map[DeviceID]*Registered{"A": {Device: Device{ID: "A"}, Tags: []Tag{"b", "d"}},
			"B": {Device: Device{ID: "B"}}},
		Templates: []TaggedTemplate{
			{Template: Template{ID: 7, Priority: 1, Text: "seven"}, Tags: []Tag{"b"}},
			{Template: Template{ID: 3, Priority: 5, Text: "three"}, Tags: []Tag{"b"}},
		},
	}
}

func TestEditedLeavesTheRegistryItCameFromAlone(t *testing.T) {
	before := editable()
	after, ids, err := before.Edited(Edit{
		New: []TaggedTemplate{{Template: Template{Priority: 1, Text: "new"}, Tags: []Tag{"x"}},
			{Template: Template{Priority: 9, Text: "newer"}, Tags: nil}},
		Changed: []Template{{ID: 3, Priority: 0, Text: "changed"}},
		Deleted: []int64{7},
		Tag:     []Tagging{{Tag: "c", Device: "A"}, {Tag: "a", Template: 3}},
		Untag:   []Tagging{{Tag: "b", Device: "A"}, {Tag: "never there", Device: "B"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(ids, []int64{8, 9}) {
		t.Errorf("new templates are %v, want 8 and 9", ids)
	}
	var order []int64
	for _, template := range after.Templates {
		order = append(order, template.ID)
	}
	if !slices.Equal(order, []int64{3, 8, 9}) || after.Templates[0].Text != "changed" ||
		!slices.Equal(after.Templates[0].Tags, []Tag{"a", "b"}) {
		t.Errorf("got templates %+v", after.Templates)
	}
	if got := after.Devices["A"].Tags; !slices.Equal(got, []Tag{"c", "d"}) {
		t.Errorf("got tags %v, want c and d", got)
	}
	want := editable()
	if !slices.Equal(before.Devices["A"].Tags, want.Devices["A"].Tags) || len(before.Templates) != 2 ||
		before.Templates[0].Text != "seven" || before.Templates[1].Text != "three" ||
		!slices.Equal(before.Templates[1].Tags, []Tag{"b"}) {
		t.Errorf("the registry itself changed: %+v", before)
	}
}

func TestEditedNamesWhatIsNotThere(t *testing.T) {
	for name, edit := range map[string]Edit{
		"changed template":      {Changed: []Template{{ID: 1}}},
		"deleted template":      {Deleted: []int64{1}},
		"deleted twice":         {Deleted: []int64{3, 3}},
		"tag of a deleted one":  {Deleted: []int64{3}, Tag: []Tagging{{Tag: "x", Template: 3}}},
		"tag on unknown device": {Tag: []Tagging{{Tag: "x", Device: "C"}}},
		"tag off unknown one":   {Untag: []Tagging{{Tag: "x", Device: "C"}}},
		"label of unknown one":  {Labels: []LabelChange{{Device: "C", To: "x"}}},
		"settings of unknown":   {Settings: []SettingsChange{{Device: "C"}}},
	} {
		t.Run(name, func(t *testing.T) {
			if _, _, err := editable().Edited(edit); CodeOf(err) != CodeNotFound {
				t.Errorf("got %v, want not found", err)
			}
		})
	}
}

func TestADigestIsOfTheEditAndOfTheGenerationThatItWasMadeFor(t *testing.T) {
	seen := map[string]string{}
	for name, one := range map[string]struct {
		generation int64
		edit       Edit
	}{
		"an edit":                {7, Edit{Deleted: []int64{3}}},
		"of a later generation":  {8, Edit{Deleted: []int64{3}}},
		"of another template":    {7, Edit{Deleted: []int64{7}}},
		"the same with a source": {7, Edit{Deleted: []int64{3}, Files: FilesChange{Source: "office"}}},
	} {
		digest, err := one.edit.Digest(one.generation)
		if again, _ := one.edit.Digest(one.generation); err != nil || digest == "" || again != digest {
			t.Errorf("%s: %q, then %q, %v", name, digest, again, err)
		}
		if other := seen[digest]; other != "" {
			t.Errorf("%s and %s have one digest", name, other)
		}
		seen[digest] = name
	}
}
