package httpapi

import (
	"net/http"
	"strings"
	"testing"

	"muster/internal/fleet"
)

// Who changed the tag scope of a user had to send a role too, and put back an older one.
func TestWhatAChangeOfAUserDoesNotNameStays(t *testing.T) {
	w := newWorld(t)
	w.user("otto", fleet.RoleOperator)
	put := func(status int, body string) string {
		return w.want(status, call{method: http.MethodPut, path: Prefix + "/users/otto", body: body})
	}
	if got := decoded(t, put(http.StatusOK, `{"tags":["lima"]}`)); got["role"] != "operator" {
		t.Errorf("got the role %v, want operator", got["role"])
	}
	put(http.StatusOK, `{"role":"viewer"}`)
	got := decoded(t, put(http.StatusOK, `{"password":"another good horse"}`))
	if tags, _ := got["tags"].([]any); got["role"] != "viewer" || len(tags) != 1 {
		t.Errorf("got %v, want a viewer with one tag", got)
	}
	if got := put(http.StatusUnprocessableEntity, `{}`); !strings.Contains(got, "role, tags, password") {
		t.Errorf("got %s, want the fields that can be changed", got)
	}
}

func TestTheTagScopeOfAnAuthorIsRefusedWithoutARole(t *testing.T) {
	w := newWorld(t)
	w.user("anna", fleet.RoleAuthor)
	w.want(http.StatusUnprocessableEntity,
		call{method: http.MethodPut, path: Prefix + "/users/anna", body: `{"tags":["lima"]}`})
}
