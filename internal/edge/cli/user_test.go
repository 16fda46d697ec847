package cli

import (
	"strings"
	"testing"

	"muster/api"
)

// Of a user with a tag scope one could not see in the list which devices it is for.
func TestUsersAreListedWithTheTagsOfTheirScope(t *testing.T) {
	address, _ := serving(t, map[string]any{"users": []api.User{{Name: "anna", Role: "admin", HasPassword: true},
		{Name: "bert", Role: "viewer", Tags: []string{"lima", "oslo"}}}})
	_, out, errs := run(t, "user", "list", "--server", address, "--token", "x")
	const want = "NAME  ROLE    TAGS             PASSWORD  LAST LOG-IN\n" +
		"anna  admin   the whole fleet  set       never\n" +
		"bert  viewer  lima, oslo       none      never\n"
	if out != want {
		t.Errorf("got\n%s%swant\n%s", out, strings.TrimSpace(errs), want)
	}
}
