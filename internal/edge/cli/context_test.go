package cli

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"muster/internal/edge/auth"
)

func TestContextsAreAddedUsedAndRemoved(t *testing.T) {
	file := configured(t)
	sent := ""
	one := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent = r.Header.Get("Authorization")
		_, _ = io.WriteString(w, "[]")
	}))
	defer one.Close()
	token := write(t, t.TempDir(), "token", "muster_secret\n")
	done(t, "context", "add", "one", "--server", one.URL+"/", "--token-file", token)
	done(
		t,
		"context",
		"add",
		"two",
		"--server",
		"https://two.example:2525",
		"--fingerprint",
		"sha256:"+strings.Repeat("a", 64),
	)
	done(t, "token", "list") // the first one with a token is used
	if sent != "Bearer muster_secret" {
		t.Errorf("the server got %q", sent)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got %v, %v", info, err)
	}
	var shown []shownContext
	out := done(t, "context", "list", "-o", "json")
	if err := json.Unmarshal(
		[]byte(out),
		&shown,
	); err != nil || len(shown) != 2 || !shown[0].Current ||
		shown[1].Current ||
		shown[0].Server != one.URL {
		t.Errorf("got %s, %v", out, err)
	}
	out += done(t, "context", "list") + done(t, "config", "-o", "json")
	if text, err := os.ReadFile(file); err != nil || strings.Contains(out+string(text), "muster_secret") {
		t.Errorf("the token is in\n%s%s, %v", out, text, err)
	}
	for args, want := range map[string]string{
		"context use two": "`muster login --server 'two'` logs in there",
		"context use on":  `Did you mean "one"?`,
		"context add one --server http://127.0.0.1:1":                               "already",
		"context add http://x --server http://x":                                    "cannot be the name",
		"context add three --server https://x --token-file " + file + "x":           "no such file",
		"context add three --server https://x --fingerprint sha256:12":              "is no fingerprint",
		"context add three --server http://x --fingerprint " + shown[1].Fingerprint: "plain HTTP",
		"context remove one":                           "nothing was changed",
		"context remove three":                         "no context",
		"token list --context three":                   "no context",
		"token list --context two":                     "not logged in",
		"token list --context two --server " + one.URL: "Leave out one of them",
	} {
		if code, _, errs := run(t, strings.Fields(args)...); !refuses(code) || !strings.Contains(errs, want) {
			t.Errorf("%s: got %d %s", args, code, errs)
		}
	}
	done(t, "context", "remove", "-y", "one")
	if out := done(t, "context", "list", "-o", "name"); out != "two\n" {
		t.Errorf("got %s", out)
	}
}

func TestAContextWithASessionIsLeftByALogOut(t *testing.T) {
	configured(t)
	server, secret := newAccounts(t), write(t, t.TempDir(), "password", password)
	done(t, "context", "add", "work", "--server", server.URL)
	done(t, "login", "--server", "work", "--user", "anna", "--password-file", secret)
	if code, _, errs := run(t, "context", "remove", "-y", "work"); code != exitRefused ||
		!strings.Contains(errs, "`muster logout --server 'work'`") {
		t.Errorf("got %d %s", code, errs)
	}
	done(t, "logout", "--server", "work")
	done(t, "context", "remove", "-y", "work")
}

// The token of a context is for its server alone, and what the person types or exports counts more.
func TestWhatIsGivenCountsMoreThanAContext(t *testing.T) {
	configured(t)
	open := write(t, t.TempDir(), "token", "muster_x\n")
	home := t.TempDir()
	write(t, home, auth.AdminTokenFile, "of the home\n")
	all := logins{Current: "here", Servers: map[string]login{
		"here": {Address: "https://here.example", Token: "session", User: "anna", CA: "here.pem"},
		"away": {Address: "https://away.example", TokenFile: open, Fingerprint: "sha256:aa"},
	}}
	typed := func(flags ...string) map[string]bool {
		given := map[string]bool{}
		for _, flag := range flags {
			given[flag] = true
		}
		return given
	}
	for name, test := range map[string]struct {
		flags connection
		want  target
	}{
		"the current one": {connection{}, target{address: "https://here.example", token: "session", ca: "here.pem"}},
		"a token that is typed, with the current one": {connection{Token: "t", onCommandLine: typed("token")},
			target{address: "https://here.example", token: "t", ca: "here.pem"}},
		"a token of a file that is typed": {connection{Token: "t", TokenFile: open, onCommandLine: typed("token-file")},
			target{address: "https://here.example", token: "t", ca: "here.pem"}},
		"a token that is exported": {connection{Token: "t"}, target{address: defaultServer, token: "t"}},
		"a token and a home that are typed": {connection{Token: "t", MusterHome: home,
			onCommandLine: typed("token", "muster-home")}, target{address: defaultServer, token: "t"}},
		"another one": {connection{Context: "away"},
			target{address: "https://away.example", tokenFile: open, fingerprint: "sha256:aa"}},
		"a token": {connection{Context: "away", Token: "t"},
			target{address: "https://away.example", token: "t", fingerprint: "sha256:aa"}},
		"a certificate that is typed": {connection{Context: "away", CA: "x.pem", onCommandLine: typed("ca")},
			target{address: "https://away.example", tokenFile: open, ca: "x.pem"}},
		"a certificate that is exported": {connection{Context: "away", CA: "x.pem"},
			target{address: "https://away.example", tokenFile: open, fingerprint: "sha256:aa"}},
		"an exported one without a fingerprint": {connection{Context: "here", CA: "x.pem"},
			target{address: "https://here.example", token: "session", ca: "x.pem"}},
		"a typed context, an exported token": {connection{Context: "away", Token: "of staging", CA: "staging.pem",
			onCommandLine: typed("context")},
			target{address: "https://away.example", tokenFile: open, fingerprint: "sha256:aa"}},
		"a typed context, an exported certificate": {connection{Context: "here", CA: "staging.pem",
			onCommandLine: typed("context")}, target{address: "https://here.example", token: "session", ca: "here.pem"}},
		"a typed context, a typed token": {connection{Context: "away", Token: "t", CA: "x.pem",
			onCommandLine: typed("context", "token-file", "ca")},
			target{address: "https://away.example", token: "t", ca: "x.pem"}},
		"a home": {connection{Context: "away", MusterHome: home},
			target{address: "https://away.example", tokenFile: open, fingerprint: "sha256:aa"}},
		"a server that is typed": {connection{Context: "away", Server: "https://here.example",
			onCommandLine: typed("server")}, target{address: "https://here.example", token: "session", ca: "here.pem"}},
		"a server without a log-in": {connection{Context: "away", Server: "https://third.example",
			onCommandLine: typed("server")}, target{address: "https://third.example"}},
		"the same server": {connection{Context: "away", Server: "https://away.example/"},
			target{address: "https://away.example", tokenFile: open, fingerprint: "sha256:aa"}},
	} {
		got, err := test.flags.target(all)
		if err != nil || got.address != test.want.address || got.token != test.want.token || got.ca != test.want.ca ||
			got.tokenFile != test.want.tokenFile || got.fingerprint != test.want.fingerprint {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
	for _, flags := range []connection{{Context: "away", Server: "https://here.example"},
		{Context: "away", Server: "here", onCommandLine: typed("context", "server")}, {Context: "none"}} {
		if got, err := flags.target(all); err == nil {
			t.Errorf("%+v: got %+v", flags, got)
		}
	}
	if err := all.write(); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := run(t, "token", "list", "--server", "https://third.example"); code != exitRefused ||
		!strings.Contains(errs, "not logged in to https://third.example, and the token of the context \"here\" is not sent "+
			"to another server\nGive --token-file FILE") {
		t.Errorf("got %d %s", code, errs)
	}
	if err := os.Chmod(open, 0o644); err != nil { //nolint:gosec // others shall be able to read it
		t.Fatal(err)
	}
	if err := all.write(); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := run(t, "token", "list", "--context", "away"); code == exitDone || !strings.Contains(errs, open) {
		t.Errorf("a token that others can read was used: %d %s", code, errs)
	}
}

func TestConfigNamesWhereEachValueComesFrom(t *testing.T) {
	configured(t)
	token := write(t, t.TempDir(), "token", "muster_x\n")
	done(t, "context", "add", "work", "--server", "https://work.example", "--token-file", token)
	row := func(args ...string) map[string]configValue {
		var all []configValue
		if err := json.Unmarshal([]byte(done(t, append([]string{"config", "-o", "json"}, args...)...)), &all); err != nil {
			t.Fatal(err)
		}
		rows := map[string]configValue{}
		for _, v := range all {
			rows[v.Name] = v
		}
		return rows
	}
	check := func(got map[string]configValue, want ...configValue) {
		t.Helper()
		for _, v := range want {
			if got[v.Name] != v {
				t.Errorf("got %+v, want %+v", got[v.Name], v)
			}
		}
	}
	check(row(), configValue{"context", "work", "context use, or the last log-in"},
		configValue{"server", "https://work.example", "context work"},
		configValue{"token", "in " + token, "context work"}, configValue{"ca", "-", "default"})
	check(row("--server", "http://127.0.0.1:1", "--token", "muster_secret"), configValue{"context", "none", "default"},
		configValue{"server", "http://127.0.0.1:1", "flag --server"}, configValue{"token", "given", "flag --token"})
	t.Setenv("MUSTER_TOKEN", "of another server")
	t.Setenv("MUSTER_CA", token)
	check(row("--context", "work"), configValue{"token", "in " + token, "context work"},
		configValue{"ca", "-", "default"})
	t.Setenv("MUSTER_TOKEN", "")
	t.Setenv("MUSTER_CA", "")
	t.Setenv("MUSTER_CONTEXT", "work")
	t.Setenv("MUSTER_TOKEN_FILE", token)
	check(row(), configValue{"context", "work", "environment MUSTER_CONTEXT"},
		configValue{"server", "https://work.example", "context work"},
		configValue{"token", "in " + token, "environment MUSTER_TOKEN_FILE"})
	if out := done(t, "config"); !slices.Contains(strings.Fields(out), "https://work.example") {
		t.Errorf("got %s", out)
	}
}
