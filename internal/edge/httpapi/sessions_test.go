package httpapi

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"muster/api"
	"muster/internal/fleet"
)

const goodPassword = "correct horse battery"

// user makes a user with goodPassword.
func (w *world) user(name string, role fleet.Role) {
	w.t.Helper()
	w.want(http.StatusCreated, call{method: http.MethodPost, path: Prefix + "/users",
		body: `{"name":"` + name + `","role":"` + string(role) + `","password":"` + goodPassword + `"}`})
}

// login gives the token of a new session, and the cookies that a browser would keep.
func (w *world) login(name string) (token string, cookies []*http.Cookie) {
	w.t.Helper()
	resp := w.do(call{method: http.MethodPost, path: Prefix + "/login", token: "-",
		body: `{"userid":"` + name + `","password":"` + goodPassword + `"}`})
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		w.t.Fatalf("got %d %s, %v", resp.StatusCode, body, err)
	}
	var session api.NewSession
	if err := json.Unmarshal(body, &session); err != nil {
		w.t.Fatal(err)
	}
	return session.Token, resp.Cookies()
}

// cookieHeader is what a browser sends of these cookies.
func cookieHeader(cookies ...*http.Cookie) http.Header {
	var all []string
	for _, c := range cookies {
		all = append(all, c.Name+"="+c.Value)
	}
	return http.Header{"Cookie": {strings.Join(all, "; ")}}
}

func TestLogInAnswersATokenAndItsEnd(t *testing.T) {
	w := newWorld(t)
	w.user("anna", fleet.RoleViewer)
	resp := w.do(call{method: http.MethodPost, path: Prefix + "/login", token: "-",
		body: `{"userid":"anna","password":"` + goodPassword + `"}`})
	var answer map[string]string
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	end, err := time.Parse(time.RFC3339Nano, answer["expiresAt"])
	if resp.StatusCode != http.StatusOK || len(answer) != 2 || answer["token"] == "" || err != nil ||
		time.Until(end) < 24*time.Hour || resp.Header.Get("Cache-Control") != "no-store" || resp.Header.Get("ETag") != "" {
		t.Errorf("got %d %v, %v %v", resp.StatusCode, answer, resp.Header, err)
	}
	who := call{method: http.MethodGet, path: Prefix + "/whoami", token: answer["token"]}
	if got := w.want(
		http.StatusOK,
		who,
	); !strings.HasPrefix(
		got,
		`{"name":"anna","role":"viewer","credential":"session"`,
	) {
		t.Errorf("got %s", got)
	}
	w.want(http.StatusNoContent, call{method: http.MethodPost, path: Prefix + "/logout", token: answer["token"]})
	w.problem(http.StatusUnauthorized, who)
	for body, status := range map[string]int{
		`{"userid":"anna","password":"wrong password"}`: http.StatusUnauthorized,
		`{"userid":"eve","password":"wrong password"}`:  http.StatusUnauthorized,
		`{"userid":"anna"}`:                             http.StatusUnprocessableEntity, `{"userid":1,"password":""}`: http.StatusBadRequest,
		`{"userid":"anna","password":"x","next":"//evil.example"}`: http.StatusUnprocessableEntity,
	} {
		w.problem(status, call{method: http.MethodPost, path: Prefix + "/login", token: "-", body: body})
	}
	w.problem(http.StatusConflict, call{method: http.MethodPost, path: Prefix + "/logout"})
}
