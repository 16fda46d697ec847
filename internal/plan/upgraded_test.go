package plan_test

import (
	"testing"

	"muster/internal/fleet"
	"muster/internal/stconfig"
)

// Entries as an earlier release kept them (internal/store/testdata has the same) are read as the kinds of now: a
// folder that it had taken for the person's is the templates' again, the label in it stays the person's, and
// everything returns.
func TestEntriesOfAnEarlierReleaseAreConverted(t *testing.T) {
	s := newStory(t)
	made := func(id string) fleet.Template {
		return fleet.Template{ID: 1, Op: fleet.OpMerge, Key: "folders", Text: `[{"id": "` + id + `", "path": "/srv/` + id +
			`"}]`}
	}
	natOff := fleet.Template{ID: 2, Op: fleet.OpSet, Key: "options.natEnabled", Text: "false"}
	templates := []fleet.Template{made("photos"), natOff}
	s.write(templates)
	folder := stconfig.Lookup(s.observed, keyOf(t, "folders.photos"))
	s.edit(fleet.OpSet, "folders.photos.label", `"mine"`)
	s.entries = []fleet.BaseEntry{
		{Key: "folders.photos", Base: stconfig.Lookup(s.observed, keyOf(t, "folders.photos")).JSON(), Written: folder.JSON(),
			Templates: []int64{1}, State: fleet.BaseTheirs},
		{Key: "options.natEnabled", Base: []byte("true"), Written: []byte("false"), Templates: []int64{2}},
	}
	if p := s.write(templates); len(p.Changes) > 0 {
		t.Errorf("got %v", p.Changes)
	}
	s.has("folders.photos.label", `"mine"`)
	for _, e := range s.entries {
		if e.Kind == "" {
			t.Errorf("%s has no kind", e.Key)
		}
	}
	s.write(nil)
	s.asBefore()
}

// What an earlier release was sending when it ended is found out as ever.
func TestEntriesThatAnEarlierReleaseWasSendingAreConverted(t *testing.T) {
	for name, arrived := range map[string]bool{"it arrived": true, "it did not": false} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t)
			if arrived {
				s.edit(fleet.OpSet, "options.natEnabled", "false")
			}
			s.entries = []fleet.BaseEntry{{Key: "options.natEnabled", Base: []byte("true"), Written: []byte("true"),
				Intended: []byte("false"), State: fleet.BaseSending}}
			s.write(nil)
			s.asBefore()
		})
	}
}
