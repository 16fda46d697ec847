package store

import (
	"testing"

	"muster/internal/fleet"
)

func TestTheHistoryOfATemplateHasEveryTextWithWhoAndWhen(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		anna := fleet.WithRole(fleet.WithActor(t.Context(), "anna"), fleet.RoleAdmin)
		bert := fleet.WithRole(fleet.WithActor(t.Context(), "bert"), fleet.RoleAuthor)
		first := must(s.CreateTemplate(anna, fleet.Template{Label: "one", Op: fleet.OpSet, Key: "options.natEnabled",
			Text: "false\n"}))(t)
		create(t, s, "another template")
		change := first
		change.Text, change.Priority = "true\n", 7
		must(s.PutTemplate(bert, change, nil))(t)
		must(s.TagTemplate(bert, first.ID, "office", nil))(t) // a generation without a text of its own

		versions := must(s.TemplateHistory(t.Context(), first.ID))(t)
		if len(versions) != 2 {
			t.Fatalf("got %+v", versions)
		}
		newest, oldest := versions[0], versions[1]
		if newest.By != "bert" || newest.SavedRole != fleet.RoleAuthor || newest.Priority != 7 ||
			newest.Generation <= oldest.Generation || oldest.By != "anna" || oldest.Label != "one" || oldest.At.IsZero() {
			t.Errorf("got %+v", versions)
		}
		for generation, text := range map[int64]string{newest.Generation: "true\n", oldest.Generation: "false\n"} {
			if got := must(s.TemplateVersion(t.Context(), first.ID, generation))(t); got.Text != text {
				t.Errorf("generation %d: got %q, want %q", generation, got.Text, text)
			}
		}
		_, err := s.TemplateVersion(t.Context(), first.ID, newest.Generation+1)
		wantCode(t, err, fleet.CodeNotFound)
	})
}
