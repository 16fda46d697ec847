//muster:test -run=Watch|Pager|Pages|Follow|Progress|OnATerminal
//muster:test -race=false -skip=Watch|Pager|Pages|Follow|Progress|OnATerminal
//muster:soak

package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"muster/api"
	"muster/internal/edge/auth"
)

const password = "correct horse battery"

// TestMain keeps tests away from the log-ins of the person who runs them.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "muster-config-")
	if err != nil {
		panic(err)
	}
	_ = os.Setenv("XDG_CONFIG_HOME", dir)
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// accounts is a server that anna can log in to, at most once with each token.
type accounts struct {
	*httptest.Server
	open    map[string]bool // tokens
	devices []string        // that came with log-ins
	last    *http.Request
}

func newAccounts(t *testing.T) *accounts {
	t.Helper()
	a := &accounts{open: map[string]bool{}}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.last = r
		switch token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "); {
		case r.URL.Path == "/api/v1/login" && r.Method == http.MethodGet: // as an older server answers it
			refuse(w, http.StatusUnauthorized, "this needs a token, and none was sent", "Send one.")
		case r.URL.Path == "/api/v1/login":
			a.login(w, r)
		case !a.open[token]:
			refuse(w, http.StatusUnauthorized, "this session has ended", "Log in again.")
		case r.URL.Path == "/api/v1/logout":
			delete(a.open, token)
			w.WriteHeader(http.StatusNoContent)
		case r.URL.Path == "/api/v1/whoami":
			_ = json.NewEncoder(w).Encode(api.Whoami{Name: "anna", Role: "author", ExpiresAt: &api.Time{}})
		case r.URL.Path == "/api/v1/login-links":
			_ = json.NewEncoder(w).Encode(api.LoginLink{Path: "/ui/login?code=abc", User: "bert"})
		default:
			_ = json.NewEncoder(w).Encode([]api.Token{})
		}
	}))
	t.Cleanup(a.Close)
	return a
}

func (a *accounts) login(w http.ResponseWriter, r *http.Request) {
	var body api.Login
	_ = json.NewDecoder(r.Body).Decode(&body)
	if *body.UserID != "anna" || *body.Password != password {
		refuse(w, http.StatusUnauthorized, "the user name or the password is wrong", "Forgotten?")
		return
	}
	if cookie, err := r.Cookie(auth.DeviceCookie); err == nil {
		a.devices = append(a.devices, cookie.Value)
	}
	token := fmt.Sprint("session-", len(a.open))
	a.open[token] = true
	http.SetCookie(w, &http.Cookie{Name: auth.DeviceCookie, Value: "device"})
	_ = json.NewEncoder(w).Encode(api.NewSession{Token: token, ExpiresAt: api.Time{Time: time.Now().Add(time.Hour)}})
}

func refuse(w http.ResponseWriter, status int, detail, hint string) {
	w.Header().Set("Content-Type", api.ProblemType)
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(api.Problem{Status: status, Detail: detail, Hint: hint})
}

// configured gives an empty configuration directory, and the file of log-ins in it.
func configured(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", dir)
	return filepath.Join(dir, "muster", "logins.json")
}

func done(t *testing.T, args ...string) string {
	t.Helper()
	code, out, errs := run(t, args...)
	if code != exitDone {
		t.Fatalf("%v: got %d and\n%s%s", args, code, out, errs)
	}
	return out
}

func TestALogInIsKeptForLaterCommands(t *testing.T) {
	file := configured(t)
	server, secret := newAccounts(t), write(t, t.TempDir(), "password", password+"\n")
	host := strings.TrimPrefix(server.URL, "http://")
	login := []string{"login", "--user", "Anna", "--password-file", secret, "--server"}
	if code, _, errs := run(t, append(login, server.URL)...); !refuses(code) || !strings.Contains(errs,
		"the user name or the password is wrong\nForgotten?") {
		t.Errorf("got %d %s, want the server's own words", code, errs) // its user is anna, in lower case
	}
	login[2] = "anna"
	if out := done(t, append(login, server.URL+"/")...); !strings.Contains(out, host+" as anna") {
		t.Errorf("got %s", out)
	}
	for path, want := range map[string]os.FileMode{file: 0o600, filepath.Dir(file): 0o700 | os.ModeDir} {
		if info, err := os.Stat(path); err != nil || info.Mode() != want {
			t.Errorf("got %v, %v, want %v", info.Mode(), err, want)
		}
	}
	if out := done(t, "whoami"); !strings.Contains(out, "anna, role author, by a session, at "+server.URL) {
		t.Errorf("got %s", out)
	}
	done(t, "token", "list", "--server", host) // by its name
	if got := server.last.Header.Get("Authorization"); got != "Bearer session-0" {
		t.Errorf("got %q", got)
	}
	if out := done(t, "login-link", "bert"); out != server.URL+"/ui/login?code=abc\n" {
		t.Errorf("got %q, want the link alone", out)
	}
	done(t, append(login, host)...)
	if len(server.open) != 1 || len(server.devices) != 1 || server.devices[0] != "device" {
		t.Errorf("open are %v, devices %v: the session of before is to end, and the device to be known", server.open,
			server.devices)
	}
	done(t, "logout")
	if text, err := os.ReadFile(file); err != nil || len(server.open) != 0 || strings.Contains(string(text), "session-") {
		t.Errorf("%v are open, and kept is %s, %v", server.open, text, err)
	}
	for _, args := range [][]string{{"logout"}, {"whoami", "--muster-home", t.TempDir()}} {
		if code, _, errs := run(t, args...); !refuses(code) || strings.Count(errs, "\n") != 2 {
			t.Errorf("%v: got %d %s", args, code, errs)
		}
	}
}

// A token goes to no other server than the one that it is for.
func TestTokensStayWithTheirServers(t *testing.T) {
	configured(t)
	one, two, secret := newAccounts(t), newAccounts(t), write(t, t.TempDir(), "password", password)
	for name, server := range map[string]*accounts{"one": one, "two": two} {
		done(t, "login", "--name", name, "--server", server.URL, "--user", "anna", "--password-file", secret)
	}
	one.last, two.last = nil, nil
	done(t, "whoami", "--server", "one")
	done(t, "whoami", "--server", two.URL+"/")
	if one.last == nil || two.last == nil {
		t.Error("a server was not asked")
	}
	home := t.TempDir()
	write(t, home, auth.AdminTokenFile, "of the home\n")
	third := answering(t, map[string]any{"GET /api/v1/tokens": []api.Token{}})
	done(t, "token", "list", "--server", third.URL, "--muster-home", home) // no log-in there
	all, err := readLogins()
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		flags connection
		want  target
	}{
		"a token without a server is for this machine": {connection{Token: "t"},
			target{address: defaultServer, token: "t"}},
		"a home without a server is for this machine": {connection{MusterHome: home}, target{address: defaultServer}},
		"a home counts more than a log-in": {connection{Server: "one", MusterHome: home},
			target{address: one.URL}},
		"a token counts more than a log-in": {connection{Server: "two", Token: "t"},
			target{address: two.URL, token: "t"}},
	} {
		got, err := test.flags.target(all)
		if err != nil || got.address != test.want.address || got.token != test.want.token {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
	if code, _, errs := run(t, "whoami", "--server", "three"); !refuses(code) || !strings.Contains(errs, "one, two") {
		t.Errorf("got %d %s", code, errs)
	}
}

func TestALogOutForgetsTheTokenOfAServerThatIsAway(t *testing.T) {
	file := configured(t)
	server, secret := newAccounts(t), write(t, t.TempDir(), "password", password)
	done(t, "login", "--server", server.URL, "--user", "anna", "--password-file", secret)
	server.Close()
	code, out, errs := run(t, "logout")
	if text, err := os.ReadFile(file); code != exitDone || !strings.HasPrefix(out, "Logged out") ||
		!strings.HasPrefix(errs, "Warning: ") || err != nil || strings.Contains(string(text), "session-") {
		t.Errorf("got %d\n%s%s%s, %v", code, out, errs, text, err)
	}
}

func TestPasswordsComeFromAFileOrATerminal(t *testing.T) {
	configured(t)
	for _, args := range []string{
		"login --user anna", "user create anna --role viewer --token x", "user password anna --token x",
		"user password --token x",
	} {
		code, _, errs := run(t, append(strings.Fields(args), "--server", "http://127.0.0.1:1")...)
		if !refuses(code) || !strings.Contains(errs, "--password-file") {
			t.Errorf("%s: got %d %s", args, code, errs)
		}
	}
	if code, _, errs := run(t, "login", "--server", "http://127.0.0.1:1"); !refuses(code) ||
		!strings.Contains(errs, "--user NAME") {
		t.Errorf("got %d %s", code, errs)
	}
	for _, command := range []string{"login", "user create", "user password"} {
		if out := done(t, append(strings.Fields(command), "--help")...); strings.Contains(out, "--password=") {
			t.Errorf("%s takes a password as an argument", command)
		}
	}
}
