package plan_test

import (
	"strings"
	"testing"

	"muster/internal/fleet"
	"muster/internal/plan"
	"muster/internal/stconfig"
)

// TestIncludesAreHeldForAuthors covers #include in ignore patterns: 1.19.2 follows a symbolic link that another device
// sent, and `..`, and quotes lines of what it reads in the folder's error.
func TestIncludesAreHeldForAuthors(t *testing.T) {
	const anybodys, admins, nobodys = "free, free", "held, free", "held, held"
	for line, want := range map[string]string{
		"*.tmp": anybodys, "x #include y": anybodys, "#Include x": anybodys, "!#include x": anybodys,
		"#include known":  anybodys,
		"#include shared": admins, " #include shared ": admins, "#includefoo shared": admins, "#include ./shared": admins,
		"#include .stglobalignore": admins, "#include /etc/passwd": admins, `#include C:\\secret`: admins,
		"#include a..b":  admins,
		"#include ../up": nobodys, "#include sub/../../up": nobodys, `#include sub\\..\\..\\up`: nobodys,
		"#include ..": nobodys,
	} {
		for _, form := range []fleet.Template{
			{Op: fleet.OpSet, Key: "ignores.photos-x4kd", Text: `["<line>"]`},
			{Op: fleet.OpAppend, Key: "Ignores.photos-x4kd", Text: `["<line>"]`},
			{Op: fleet.OpMerge, Key: "", Text: `{"ignores": {"photos-x4kd": ["a", "<line>"]}}`},
			{Op: fleet.OpMerge, Key: "defaults", Text: `{"ignores": {"lines": ["<line>"]}}`},
		} {
			form.ID, form.Text = 3, strings.Replace(form.Text, "<line>", line, 1)
			var got []string
			for _, role := range []fleet.Role{fleet.RoleAuthor, fleet.RoleAdmin} {
				c := guardScene(t)
				c.edit(fleet.OpMerge, "defaults", `{"ignores": {"lines": ["#include known"]}}`)
				c.observed = c.observed.With("ignores", parsed(t, `{"photos-x4kd": ["#include known"]}`))
				form.SavedRole = role
				_, p, err := c.plan([]fleet.Template{form})
				if err != nil {
					t.Fatal(err)
				}
				class := plan.Free
				for _, change := range p.Changes {
					class = change.Class
				}
				got = append(got, string(class))
			}
			if strings.Join(got, ", ") != want {
				t.Errorf("%s %q %s: got %s, want %s", form.Op, form.Key, form.Text, got, want)
			}
		}
	}
}

// TestAnAuthorAddsToAnAdminsIncludes covers a list of which an admin asks for the included file.
func TestAnAuthorAddsToAnAdminsIncludes(t *testing.T) {
	c := guardScene(t)
	c.observed = c.observed.With("ignores", parsed(t, `{"photos-x4kd": []}`))
	_, p, err := c.plan([]fleet.Template{
		{ID: 1, Op: fleet.OpSet, Key: "ignores.photos-x4kd", Text: `["#include shared"]`, SavedRole: fleet.RoleAdmin},
		{ID: 2, Op: fleet.OpAppend, Key: "ignores.photos-x4kd", Text: `["*.tmp"]`, SavedRole: fleet.RoleAuthor},
	})
	if err != nil || len(p.Changes) != 1 || p.Changes[0].Class != plan.Free {
		t.Errorf("got %v, %v", p.Changes, err)
	}
}

func parsed(t *testing.T, text string) stconfig.Value {
	t.Helper()
	v, err := stconfig.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}
