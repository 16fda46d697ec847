package plan_test

import (
	"strings"
	"testing"

	"muster/internal/core/plan"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// TestPatternsOfOthersFoldersAreHeldForAuthors covers ignore patterns of a person's folder: an author took them off a
// folder that was shared with a stranger, who got the files two seconds later. 1.19.2 follows `..` in an #include, and
// quotes lines of what it reads in the folder's error.
func TestPatternsOfOthersFoldersAreHeldForAuthors(t *testing.T) {
	for line, want := range map[string]plan.Class{
		"*.tmp": plan.Free, "x #include y": plan.Free, "#Include x": plan.Free, "!#include x": plan.Free,
		"#include known": plan.Free, "#include shared": plan.Free, " #include shared ": plan.Free,
		"#includefoo shared": plan.Free, "#include ./shared": plan.Free, "#include .stglobalignore": plan.Free,
		"#include /etc/passwd": plan.Free, `#include C:\\secret`: plan.Free, "#include a..b": plan.Free,
		"#include ../up": plan.Held, "#include sub/../../up": plan.Held, `#include sub\\..\\..\\up`: plan.Held,
		"#include ..": plan.Held,
	} {
		for _, form := range []fleet.Template{
			{Op: fleet.OpSet, Key: "ignores.photos-x4kd", Text: `["<line>"]`},
			{Op: fleet.OpAppend, Key: "Ignores.photos-x4kd", Text: `["<line>"]`},
			{Op: fleet.OpMerge, Key: "", Text: `{"ignores": {"photos-x4kd": ["a", "<line>"]}}`},
			{Op: fleet.OpMerge, Key: "defaults", Text: `{"ignores": {"lines": ["<line>"]}}`},
		} {
			form.ID, form.Text = 3, strings.Replace(form.Text, "<line>", line, 1)
			for _, role := range []fleet.Role{fleet.RoleAuthor, fleet.RoleAdmin} {
				c := guardScene(t)
				c.edit(fleet.OpMerge, "defaults", `{"ignores": {"lines": ["#include known"]}}`)
				c.observed = c.observed.With("ignores", parsed(t, `{"photos-x4kd": ["#include known"]}`))
				form.SavedRole = role
				_, p, err := c.plan([]fleet.Template{form})
				if err != nil {
					t.Fatal(err)
				}
				for _, change := range p.Changes {
					if role == fleet.RoleAdmin && change.Class != want || role == fleet.RoleAuthor && change.Sendable() {
						t.Errorf("%s %q %s of an %s is %s, want %s", form.Op, form.Key, form.Text, role, change.Class, want)
					}
				}
			}
		}
	}
}

// TestAnAuthorSetsPatternsOfAnAuthorsFolder covers the folders in which authors may say what is ignored.
func TestAnAuthorSetsPatternsOfAnAuthorsFolder(t *testing.T) {
	for text, want := range map[string]bool{`["*.tmp"]`: true, `["#include shared"]`: false, `["a", " #include x"]`: false} {
		c := guardScene(t)
		templates := []fleet.Template{folder(1, 10, author, "~/finance"),
			{ID: 2, Priority: 20, Op: fleet.OpMerge, Key: "ignores.finance", SavedRole: author, Text: text}}
		c.write(templates[:1])
		c.observed = c.observed.With("ignores", parsed(t, `{"finance": []}`))
		_, p, err := c.plan(templates)
		if err != nil || len(p.Changes) != 1 || p.Changes[0].Sendable() != want {
			t.Errorf("%s: got %v, %v, want it sent: %t", text, p.Changes, err, want)
		}
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
