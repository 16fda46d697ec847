package auth

import (
	"testing"

	"muster/internal/fleet"
)

func TestRulesOfSingleSignOnAreReadExactly(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]RoleRule{
		"admin=muster-admins":         {Group: "muster-admins", Role: fleet.RoleAdmin},
		"viewer=cn=staff,ou=groups":   {Group: "cn=staff,ou=groups", Role: fleet.RoleViewer},
		"operator:berlin, rome=a b:c": {"a b:c", fleet.RoleOperator, fleet.ScopeOf([]fleet.Tag{"berlin", "rome"})},
	} {
		if got, err := ParseRoleRule(text); err != nil || got != want {
			t.Errorf("%s: got %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "admin", "admin=", "=staff", "boss=staff", "admin:berlin=staff", "viewer:=staff",
		"viewer:a,,b=staff", "operator:a\x00b=staff"} {
		if got, err := ParseRoleRule(text); fleet.CodeOf(err) != fleet.CodeInvalid {
			t.Errorf("%q: got %+v, %v", text, got, err)
		}
	}
}

func TestTheHighestRoleCountsWithItsOwnTags(t *testing.T) {
	t.Parallel()
	var rules []RoleRule
	for _, text := range []string{"viewer=staff", "operator:rome=rome", "viewer:paris=paris", "operator:berlin=berlin",
		"operator=all", "author=authors"} {
		rule, err := ParseRoleRule(text)
		if err != nil {
			t.Fatal(err)
		}
		rules = append(rules, rule)
	}
	tags := func(names ...fleet.Tag) fleet.Scope { return fleet.ScopeOf(names) }
	for _, c := range []struct {
		groups []string
		role   fleet.Role
		scope  fleet.Scope
	}{
		{nil, "", tags()}, {[]string{"others", ""}, "", tags()}, {[]string{"staff"}, fleet.RoleViewer, tags()},
		{[]string{"paris"}, fleet.RoleViewer, tags("paris")}, {[]string{"paris", "staff"}, fleet.RoleViewer, tags()},
		{[]string{"berlin", "staff", "rome"}, fleet.RoleOperator, tags("berlin", "rome")},
		{[]string{"rome", "all"}, fleet.RoleOperator, tags()}, {[]string{"authors", "rome"}, fleet.RoleAuthor, tags()},
	} {
		role, scope, ok := roleOf(rules, c.groups)
		if role != c.role || scope != c.scope || ok != (c.role != "") {
			t.Errorf("%q: got %s for %s, %v", c.groups, role, scope, ok)
		}
	}
}

func TestWhatALogInWasBegunWithIsSealed(t *testing.T) {
	t.Parallel()
	key, other := make([]byte, 32), append(make([]byte, 31), 1)
	text, err := sealAttempt(key, byBrowser, "x")
	if err != nil {
		t.Fatal(err)
	}
	var got string
	if !openAttempt(key, byBrowser, text, &got) || got != "x" {
		t.Errorf("got %q", got)
	}
	for _, wrong := range []bool{openAttempt(other, byBrowser, text, &got), openAttempt(key, "another kind", text, &got),
		openAttempt(key, byBrowser, text[:len(text)-2], &got), openAttempt(key, byBrowser, "", &got),
		openAttempt(key, byBrowser, "%", &got)} {
		if wrong {
			t.Error("what was sealed otherwise is opened")
		}
	}
}
