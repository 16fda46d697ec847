package store

import (
	"context"
	"testing"

	"muster/internal/fleet"
)

func TestWhatATemplateReadsIsKeptWithIt(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := must(Open(t.Context(), options))(t)
		reads := fleet.Inputs{Known: true, Device: "label", Devices: true}
		made := must(s.CreateTemplate(t.Context(), fleet.Template{Op: fleet.OpSet, Text: "1", Reads: reads}))(t)
		// as before inputs were kept
		old := must(s.CreateTemplate(t.Context(), fleet.Template{Op: fleet.OpSet, Text: "2"}))(t)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}

		s = open(t, options)
		describe := func(_ context.Context, text string) (fleet.Inputs, error) {
			if text != "2" {
				t.Errorf("%q is described again", text)
			}
			return fleet.Inputs{Known: true, Tags: true}, nil
		}
		for range 2 {
			if err := s.DescribeTemplates(t.Context(), describe); err != nil {
				t.Fatal(err)
			}
		}
		now := must(s.Registry(t.Context()))(t)
		for name, registry := range map[string]*fleet.Registry{"now": now,
			"history": must(s.RegistryAt(t.Context(), 2))(t)} {
			for _, template := range registry.Templates {
				want := map[int64]fleet.Inputs{made.ID: reads, old.ID: {Known: true, Tags: true}}[template.ID]
				if template.Reads != want {
					t.Errorf("%s: template %d reads %+v, want %+v", name, template.ID, template.Reads, want)
				}
			}
		}
		changes := must(s.GenerationChanges(t.Context(), 0))(t)
		if got := changes[0].Templates[0].Template.Reads; len(changes) != 2 || got != reads {
			t.Errorf("got %d generations, and inputs %+v", len(changes), got)
		}
		old.Reads = fleet.Inputs{}
		must(s.PutTemplate(t.Context(), old, nil))(t) // says the same
		if got := must(s.Registry(t.Context()))(t).Generation; got != 2 {
			t.Errorf("got generation %d", got)
		}
	})
}
