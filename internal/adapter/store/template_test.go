package store

import (
	"testing"
	"time"

	"muster/internal/fleet"
)

func TestTemplateIDsAreNeverUsedAgain(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		var last int64
		for range 3 { // delete the newest, restart, create
			s := must(Open(t.Context(), options))(t)
			first, second := create(t, s, "same label"), create(t, s, "same label")
			if first.ID <= last || second.ID <= first.ID {
				t.Fatalf("got IDs %d, %d after %d", first.ID, second.ID, last)
			}
			last = second.ID
			for _, id := range []int64{first.ID, second.ID} {
				if err := s.DeleteTemplate(t.Context(), id, nil); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestPutTemplateReplacesOnlyWhatIsThere(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		clock := &stoppedClock{at: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
		options.Now = clock.now
		s := open(t, options)
		first := create(t, s, "one")
		must(s.TagTemplate(t.Context(), first.ID, "office", nil))(t)
		change := first
		change.Label, change.Priority, change.Op, change.Key, change.Text = "two", -1<<63, fleet.OpMerge, "", "{a: 1}\n"
		stored := must(s.PutTemplate(t.Context(), change, nil))(t)
		if stored.CreatedAt != first.CreatedAt || !stored.UpdatedAt.After(first.UpdatedAt) {
			t.Errorf("got times %v, %v", stored.CreatedAt, stored.UpdatedAt)
		}
		change.UpdatedAt = stored.UpdatedAt
		if read := must(s.Template(t.Context(), first.ID))(t); stored != change || read != change {
			t.Errorf("got %+v, read %+v, want %+v", stored, read, change)
		}
		if tags := must(s.TemplateTags(t.Context(), first.ID))(t); len(tags) != 1 {
			t.Errorf("got tags %v", tags)
		}

		change.ID = 99
		_, err := s.PutTemplate(t.Context(), change, nil)
		wantCode(t, err, fleet.CodeNotFound)
		wantCode(t, s.DeleteTemplate(t.Context(), 99, nil), fleet.CodeNotFound)
		_, err = s.Template(t.Context(), 99)
		wantCode(t, err, fleet.CodeNotFound)
		_, err = s.TagTemplate(t.Context(), 99, "x", nil)
		wantCode(t, err, fleet.CodeNotFound)
		change.ID, change.Op = first.ID, "replace"
		_, err = s.PutTemplate(t.Context(), change, nil)
		wantCode(t, err, fleet.CodeInvalid)
		_, err = s.CreateTemplate(t.Context(), fleet.Template{Op: fleet.OpSet, Text: "a\x00b"})
		wantCode(t, err, fleet.CodeInvalid)
	})
}

func TestTemplatesComeInTheOrderOfTheFold(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		for _, priority := range []int64{5, -3, 5, 1<<63 - 1, 0} {
			v := must(s.CreateTemplate(t.Context(), fleet.Template{Priority: priority, Op: fleet.OpSet, Text: "1"}))(t)
			must(s.TagTemplate(t.Context(), v.ID, "all", nil))(t)
		}
		for _, list := range [][]fleet.Template{must(s.Templates(t.Context()))(t),
			must(s.TemplatesTagged(t.Context(), "all"))(t)} {
			if len(list) != 5 {
				t.Fatalf("got %d templates", len(list))
			}
			for i := 1; i < len(list); i++ {
				if fleet.CompareTemplates(list[i-1], list[i]) >= 0 {
					t.Errorf("%+v comes before %+v", list[i-1], list[i])
				}
			}
		}
	})
}

func TestOnlyAcceptedChangesMakeGenerations(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		d, v := put(t, s, deviceN(1)), create(t, s, "one")
		for _, step := range []struct {
			name string
			do   func() error
			made int64
		}{
			{"template created", func() error { create(t, s, "two"); return nil }, 1},
			{"template put as it is", func() error { _, err := s.PutTemplate(t.Context(), v, nil); return err }, 0},
			{"template changed", func() error { v.Text = "true"; _, err := s.PutTemplate(t.Context(), v, nil); return err }, 1},
			{"device tagged", func() error { _, err := s.TagDevice(t.Context(), d.ID, "x", nil); return err }, 1},
			{"device tagged again", func() error { _, err := s.TagDevice(t.Context(), d.ID, "x", nil); return err }, 0},
			{"untagged what was not tagged", func() error { _, err := s.UntagDevice(t.Context(), d.ID, "y", nil); return err },
				0},
			{"template tagged", func() error { _, err := s.TagTemplate(t.Context(), v.ID, "x", nil); return err }, 1},
			{"device put", func() error { put(t, s, d); return nil }, 0},
			{"mode of the fleet", func() error { return stored(s, s.PutFleetMode(t.Context(), fleet.ModeObserve)) }, 0},
			{"tag deleted from both", func() error { _, err := s.DeleteTag(t.Context(), "x", nil); return err }, 1},
			{"untagged device deleted", func() error { return s.DeleteDevice(t.Context(), d.ID, nil) }, 0},
			{"template deleted", func() error { return s.DeleteTemplate(t.Context(), v.ID, nil) }, 1},
		} {
			before := must(s.Registry(t.Context()))(t).Generation
			if err := step.do(); err != nil {
				t.Fatalf("%s: %v", step.name, err)
			}
			if made := must(s.Registry(t.Context()))(t).Generation - before; made != step.made {
				t.Errorf("%s: made %d generations, want %d", step.name, made, step.made)
			}
		}
		_, err := s.RegistryAt(t.Context(), 99)
		wantCode(t, err, fleet.CodeNotFound)
	})
}
