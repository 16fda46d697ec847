package httpapi

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"muster/api"
	"muster/internal/edge/auth"
	"muster/internal/fleet"
)

const goodPassword = "correct horse battery"

// user makes a user with goodPassword.
func (w *world) user(name string, role fleet.Role) {
	w.t.Helper()
	w.want(http.StatusCreated, call{method: http.MethodPost, path: Prefix + "/users",
		body: `{"name":"` + name + `","role":"` + string(role) + `","password":"` + goodPassword + `"}`})
}

// login gives the token of a new session of a program.
func (w *world) login(name string) (token string) {
	w.t.Helper()
	session, cookies := w.newSession(name, false)
	for _, cookie := range cookies {
		if strings.HasSuffix(cookie.Name, auth.SessionCookie) || session.Half != "" {
			w.t.Errorf("a program gets %v and the half %q", cookie, session.Half)
		}
	}
	return session.Token
}

// enter gives the headers that a browser sends after a log-in.
func (w *world) enter(name string) http.Header {
	w.t.Helper()
	session, cookies := w.newSession(name, true)
	if session.Token != "" {
		w.t.Error("a script of a page can read the token of the cookie")
	}
	header := cookieHeader(cookies...)
	header.Set(auth.SessionHeader, session.Half)
	return header
}

func (w *world) newSession(name string, browser bool) (session api.NewSession, cookies []*http.Cookie) {
	w.t.Helper()
	resp := w.do(call{method: http.MethodPost, path: Prefix + "/login", token: "-",
		body: fmt.Sprintf(`{"userid":%q,"password":%q,"browser":%t}`, name, goodPassword, browser)})
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		w.t.Fatalf("got %d %s, %v", resp.StatusCode, body, err)
	}
	if err := json.Unmarshal(body, &session); err != nil {
		w.t.Fatal(err)
	}
	return session, resp.Cookies()
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
	if resp.StatusCode != http.StatusOK || len(answer) != 3 || answer["token"] == "" || answer["half"] != "" ||
		err != nil ||
		time.Until(end) < 24*time.Hour ||
		resp.Header.Get("Cache-Control") != "no-store" ||
		resp.Header.Get("ETag") != "" {
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

// A link for a download carries no header. Its ticket is for one path and one request, and is in no log.
func TestABrowserDownloadsWithATicket(t *testing.T) {
	w := newWorld(t)
	w.user("anna", fleet.RoleViewer)
	browser := w.enter("anna")
	var ticket api.Ticket
	text := w.want(http.StatusOK, call{method: http.MethodPost, path: Prefix + "/tickets", token: "-", header: browser,
		body: `{"path":"` + Prefix + `/states?q=x"}`})
	if err := json.Unmarshal([]byte(text), &ticket); err != nil {
		t.Fatal(err)
	}
	to, used, _ := strings.Cut(ticket.Path, "&ticket=")
	if to != Prefix+"/states?q=x" {
		t.Errorf("got %+v", ticket)
	}
	for _, wrong := range []string{Prefix + "/devices?ticket=" + used, Prefix + "/openapi.json?ticket=" + used,
		to + "&ticket=x", to + "&ticket=" + used + "&y=1"} {
		w.problem(http.StatusUnauthorized, call{method: http.MethodGet, path: wrong, token: "-"})
	}
	w.want(http.StatusOK, call{method: http.MethodGet, path: ticket.Path, token: "-"})
	w.problem(http.StatusUnauthorized, call{method: http.MethodGet, path: ticket.Path, token: "-"})
	for _, path := range []string{"/ui/", "https://evil.example" + Prefix + "/", Prefix + "/devices?ticket=x", "//x"} {
		w.problem(http.StatusUnprocessableEntity, call{method: http.MethodPost, path: Prefix + "/tickets", token: "-",
			header: browser, body: `{"path":"` + path + `"}`})
	}
	w.problem(http.StatusConflict, call{method: http.MethodPost, path: Prefix + "/tickets",
		body: `{"path":"` + Prefix + `/devices"}`})
}
