package store

import (
	"testing"

	"muster/internal/fleet"
)

// TestWhoLetATemplateGo covers the person whose change took a template from a device. A later change by another person
// does not count.
func TestWhoLetATemplateGo(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		d, other := put(t, s, deviceN(1)).ID, put(t, s, deviceN(2)).ID
		tag := func(role fleet.Role, id fleet.DeviceID, tag fleet.Tag) {
			must(s.TagDevice(as(t, role), id, tag, nil))(t)
		}
		template := func(tags ...fleet.Tag) int64 {
			id := must(
				s.CreateTemplate(as(t, fleet.RoleAdmin), fleet.Template{Op: fleet.OpSet, Key: "options.x", Text: "1"}),
			)(
				t,
			).ID
			for _, tag := range tags {
				must(s.TagTemplate(as(t, fleet.RoleAdmin), id, tag, nil))(t)
			}
			return id
		}
		is := func(what string, id int64, want fleet.Role) {
			t.Helper()
			if got := must(s.LetGoBy(t.Context(), d, id, must(s.Registry(t.Context()))(t).Generation))(t); got != want {
				t.Errorf("%s: got %q, want %q", what, got, want)
			}
		}
		tag(fleet.RoleAdmin, d, "a")
		tag(fleet.RoleAdmin, other, "b")
		deleted, untagged, elsewhere, stays := template("a"), template("a"), template("b"), template("a")
		must(0, s.DeleteTemplate(as(t, fleet.RoleAuthor), deleted, nil))(t)
		is("deleted by an author", deleted, fleet.RoleAuthor)
		must(s.UntagTemplate(as(t, fleet.RoleAuthor), untagged, "a", nil))(t)
		must(s.TagTemplate(as(t, fleet.RoleAdmin), untagged, "c", nil))(t)
		must(0, s.DeleteTemplate(as(t, fleet.RoleAdmin), untagged, nil))(t)
		is("untagged by an author, then deleted by an admin", untagged, fleet.RoleAuthor)
		is("never applied", elsewhere, "")
		is("applies", stays, "")
		is("not known", 4711, "")
		must(s.UntagDevice(as(t, fleet.RoleOperator), d, "a", nil))(t)
		is("its device untagged by an operator", stays, fleet.RoleOperator)
		tag(fleet.RoleOperator, d, "a")
		is("applies again", stays, "")
		must(0, s.DeleteTemplate(as(t, fleet.RoleAdmin), stays, nil))(t)
		is("deleted by an admin", stays, fleet.RoleAdmin)
	})
}
