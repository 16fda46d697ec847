package store

import (
	"slices"
	"testing"

	"muster/internal/fleet"
)

func TestAnEditIsOneGeneration(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		device := must2(s.PutDevice(t.Context(), deviceN(1), nil))(t)
		old, changed := create(t, s, "old"), create(t, s, "changed")
		must(s.TagTemplate(t.Context(), changed.ID, "before", nil))(t)
		based := must(s.Registry(t.Context()))(t).Generation
		changed.Text = "false"
		edit := fleet.Edit{
			New: []fleet.TaggedTemplate{{Template: fleet.Template{Label: "new", Op: fleet.OpSet, Key: "options.a", Text: "1"},
				Tags: []fleet.Tag{"x", "y"}}},
			Changed: []fleet.Template{changed}, Deleted: []int64{old.ID},
			Tag:   []fleet.Tagging{{Tag: "x", Device: device.ID}, {Tag: "after", Template: changed.ID}},
			Untag: []fleet.Tagging{{Tag: "before", Template: changed.ID}, {Tag: "absent", Device: device.ID}},
		}
		done := must(s.applyBased(t.Context(), edit, based))(t)
		if done.Generation != based+1 || len(done.New) != 1 {
			t.Fatalf("got %+v, want one generation after %d", done, based)
		}
		check := func(s *Store) {
			t.Helper()
			now := must(s.Registry(t.Context()))(t)
			want, _, err := must(s.RegistryAt(t.Context(), based))(t).Edited(edit)
			if err != nil {
				t.Fatal(err)
			}
			for i, template := range want.Templates {
				is := now.Templates[i]
				if is.Label != template.Label || is.Text != template.Text || !slices.Equal(is.Tags, template.Tags) {
					t.Errorf("got %+v, want %+v", is, template)
				}
			}
			if len(now.Templates) != len(want.Templates) || !slices.Equal(now.Devices[device.ID].Tags, []fleet.Tag{"x"}) {
				t.Errorf("got %+v", now)
			}
		}
		check(s)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		check(open(t, options))
	})
}

func TestAnEditThatFailsInTheMiddleChangesNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		kept := create(t, s, "kept")
		must(s.TagTemplate(t.Context(), kept.ID, "there", nil))(t)
		before := must(s.Registry(t.Context()))(t)
		made := []fleet.TaggedTemplate{{Template: fleet.Template{Label: "new", Op: fleet.OpSet, Key: "options.a", Text: "1"}}}
		for name, test := range map[string]struct {
			edit  fleet.Edit
			based int64
			want  fleet.Code
		}{
			"no such template": {fleet.Edit{New: made, Deleted: []int64{99}}, before.Generation, fleet.CodeNotFound},
			"no such device": {fleet.Edit{New: made, Tag: []fleet.Tagging{{Tag: "x", Device: deviceN(9).ID}}},
				before.Generation, fleet.CodeNotFound},
			"an empty server then": {fleet.Edit{New: made}, 0, fleet.CodePrecondition},
			"changed meanwhile":    {fleet.Edit{New: made}, before.Generation - 1, fleet.CodePrecondition},
			"named twice": {fleet.Edit{New: made, Changed: []fleet.Template{kept}, Deleted: []int64{kept.ID}},
				before.Generation, fleet.CodeInvalid},
		} {
			t.Run(name, func(t *testing.T) {
				_, err := s.applyBased(t.Context(), test.edit, test.based)
				wantCode(t, err, test.want)
				if now := must(s.Registry(t.Context()))(t); now.Generation != before.Generation || len(now.Templates) != 1 {
					t.Errorf("got %+v", now)
				}
			})
		}
		nothing := fleet.Edit{Changed: []fleet.Template{kept}, Untag: []fleet.Tagging{{Tag: "absent", Template: kept.ID}}}
		if done := must(s.applyBased(t.Context(), nothing, before.Generation))(t); done.Generation != before.Generation {
			t.Errorf("got generation %d for no difference", done.Generation)
		}
	})
}
