package store

import (
	"slices"
	"testing"

	"muster/internal/fleet"
)

// declared is what files of the source "repo" say: one template, and whatever more there is.
func declared(text string) fleet.Declared {
	return fleet.Declared{Source: "repo", Templates: []fleet.DeclaredTemplate{{Name: "nat",
		Template: fleet.Template{Label: "nat", Op: fleet.OpSet, Key: "options.natEnabled", Text: text},
		Tags:     []fleet.Tag{"t"}}}}
}

func applied(t *testing.T, s *Store, d fleet.Declared) fleet.Applied {
	t.Helper()
	registry := must(s.Registry(t.Context()))(t)
	return must(s.applyBased(t.Context(), must(registry.Adjustment(d))(t).Edit, registry.Generation))(t)
}

func TestFilesAreOneGenerationAndNothingTheSecondTime(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		device := deviceN(1)
		must2(s.PutDevice(t.Context(), device, nil))(t)
		must(s.CreateTemplate(t.Context(), fleet.Template{Label: "old", Op: fleet.OpSet, Key: "gui.theme", Text: `"x"`}))(t)
		d := declared("true")
		label, mode, protected := "renamed", fleet.ModeObserve, true
		d.Devices = []fleet.DeclaredDevice{{ID: device.ID, Label: &label, Tags: []fleet.Tag{"t", "u"}, Mode: &mode}}
		d.Roots = []string{"/srv", "~"}
		d.Tags = []fleet.DeclaredTag{{Tag: "u", Mode: &mode, Roots: []string{"/home"}, Protected: &protected}}
		before := must(s.Registry(t.Context()))(t).Generation
		if done := applied(t, s, d); done.Generation != before+1 || len(done.New) != 1 {
			t.Errorf("got %+v after generation %d", done, before)
		}
		now := must(s.Registry(t.Context()))(t)
		is := now.Devices[device.ID]
		if is.Label != label || is.Settings.Mode != mode || !slices.Equal(is.Tags, []fleet.Tag{"t", "u"}) ||
			now.TagModes["u"] != mode || !now.Protected["u"] || !slices.Equal(now.Roots[""], d.Roots) {
			t.Errorf("got %+v, device %+v", now, is)
		}
		if is.APIKey.Reveal() != device.APIKey.Reveal() {
			t.Error("the API key is another")
		}
		if a := must(now.Adjustment(d))(t).Edit; !a.Empty() {
			t.Errorf("left to do: %+v", a)
		}
	})
}

func TestPruneDeletesWhatTheSourceMadeAndNothingElse(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		own := must(
			s.CreateTemplate(t.Context(), fleet.Template{Label: "own", Op: fleet.OpSet, Key: "gui.theme", Text: `"x"`}),
		)(
			t,
		)
		applied(t, s, declared("true"))
		applied(t, s, fleet.Declared{Source: "repo", Prune: true})
		left := must(s.Registry(t.Context()))(t).Templates
		if len(left) != 1 || left[0].ID != own.ID {
			t.Errorf("got %+v", left)
		}
	})
}

func TestAReadOnlySourceIsChangedByItsFilesAlone(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		readOnly := true
		d := declared("true")
		d.ReadOnly = &readOnly
		made := applied(t, s, d).New[0]
		changed := made
		changed.Text = "false"
		edit, now := fleet.Edit{Changed: []fleet.Template{changed}}, must(s.Registry(t.Context()))(t).Generation
		for name, change := range map[string]func() error{
			"put":    func() error { _, err := s.PutTemplate(t.Context(), changed, nil); return err },
			"delete": func() error { return s.DeleteTemplate(t.Context(), made.ID, nil) },
			"untag":  func() error { _, err := s.UntagTemplate(t.Context(), made.ID, "t", nil); return err },
			"tag":    func() error { _, err := s.TagTemplate(t.Context(), made.ID, "v", nil); return err },
			"no tag": func() error { _, err := s.DeleteTag(t.Context(), "t", nil); return err },
			"edit":   func() error { _, err := s.applyBased(t.Context(), edit, now); return err },
			"drop": func() error {
				_, err := s.applyBased(t.Context(), fleet.Edit{Deleted: []int64{made.ID}}, now)
				return err
			},
		} {
			if err := change(); fleet.CodeOf(err) != fleet.CodeConflict {
				t.Errorf("%s: got %v, want a conflict", name, err)
			}
		}
		applied(t, s, declared("false"))
		if text := must(s.Registry(t.Context()))(t).Templates[0].Text; text != "false" {
			t.Errorf("got %q", text)
		}
		if err := s.ForgetSource(t.Context(), "repo"); err != nil {
			t.Fatal(err)
		}
		must(s.PutTemplate(t.Context(), changed, nil))(t)
		if err := s.ForgetSource(t.Context(), "repo"); fleet.CodeOf(err) != fleet.CodeNotFound {
			t.Errorf("got %v", err)
		}
	})
}

func TestFilesDoNotUndoWhatWasChangedSinceTheirPlan(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		device := deviceN(1)
		must2(s.PutDevice(t.Context(), device, nil))(t)
		label, mode := "renamed", fleet.ModeObserve
		for name, test := range map[string]struct {
			declared fleet.Declared
			since    func(t *testing.T)
		}{
			"a tag": {declared("true"), func(t *testing.T) { must(s.TagDevice(t.Context(), device.ID, "late", nil))(t) }},
			"the label": {fleet.Declared{Devices: []fleet.DeclaredDevice{{ID: device.ID, Label: &label}}}, func(t *testing.T) {
				other := device
				other.Label = "by another person"
				must2(s.PutDevice(t.Context(), other, nil))(t)
			}},
			"the mode of a tag": {fleet.Declared{Tags: []fleet.DeclaredTag{{Tag: "u", Mode: &mode}}}, func(t *testing.T) {
				if err := stored(s, s.PutTagMode(t.Context(), "u", fleet.ModePaused)); err != nil {
					t.Fatal(err)
				}
			}},
			"folder roots": {fleet.Declared{Roots: []string{"/a"}}, func(t *testing.T) {
				must(s.PutFolderRoots(t.Context(), "", []string{"/b"}, nil))(t)
			}},
		} {
			registry := must(s.Registry(t.Context()))(t)
			a := must(registry.Adjustment(test.declared))(t).Edit
			test.since(t)
			if _, err := s.applyBased(t.Context(), a, registry.Generation); fleet.CodeOf(err) != fleet.CodePrecondition {
				t.Errorf("%s: got %v, want precondition", name, err)
			}
		}
	})
}
