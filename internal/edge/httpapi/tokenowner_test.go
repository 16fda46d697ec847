package httpapi

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"muster/api"
	"muster/internal/fleet"
)

// The person who makes a token owns it, also where the person uses another token for that.
func TestATokenIsOwnedByThePersonWhoMakesIt(t *testing.T) {
	w := newWorld(t)
	w.user("anna", fleet.RoleAdmin)
	w.user("bert", fleet.RoleAdmin)
	session := w.login("anna")
	post := func(status int, path, token, body string) (made api.NewToken) {
		t.Helper()
		text := w.want(status, call{method: http.MethodPost, path: Prefix + path, token: token, body: body})
		if err := json.Unmarshal([]byte(text), &made); err != nil {
			t.Fatal(err)
		}
		return made
	}
	create := func(name, token string) api.NewToken {
		t.Helper()
		return post(http.StatusCreated, "/tokens", token, `{"name":"`+name+`","role":"admin"}`)
	}
	byPerson := create("by a person", session)
	byToken := create("by a token", byPerson.Secret)
	unknown := create("by a token without an owner", w.tokens[fleet.RoleAdmin])
	for _, c := range []struct {
		made api.NewToken
		want string
	}{{byPerson, "anna"}, {byToken, "anna"}, {unknown, ""}} {
		if c.made.Owner != c.want {
			t.Errorf("%s is owned by %q, want %q", c.made.Name, c.made.Owner, c.want)
		}
	}
	rotated := post(http.StatusOK, "/tokens/by%20a%20token/rotate", w.login("bert"), `{}`)
	if rotated.Owner != "bert" {
		t.Errorf("after a rotation by bert the owner is %q", rotated.Owner)
	}
	if list := w.get(Prefix + "/tokens"); strings.Count(list, `"owner":"anna"`) != 1 ||
		!strings.Contains(list, `"owner":"bert"`) {
		t.Errorf("got %s", list)
	}
}
