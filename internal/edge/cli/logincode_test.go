package cli

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"muster/api"
)

// withProvider is a server whose users log in by single sign-on. It answers the questions of a program one by one.
func withProvider(t *testing.T, how api.SingleSignOn, answers ...http.HandlerFunc) *httptest.Server {
	t.Helper()
	how.Name = "Example\x1b ID"
	a := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Method + r.URL.Path {
		case "GET/api/v1/login":
			_ = json.NewEncoder(w).Encode(api.LoginMethods{Password: true, SingleSignOn: &how})
		case "POST/api/v1/login/device":
			_ = json.NewEncoder(w).Encode(api.DeviceLogin{Handle: "h", UserCode: "BCDF-GHJK", URL: "https://id.example/device",
				DirectURL: "https://id.example/device?user_code=BCDF-GHJK", ExpiresAt: api.Time{Time: time.Now().Add(time.Hour)}})
		case "POST/api/v1/login/device/session":
			next := answers[0]
			if len(answers) > 1 {
				answers = answers[1:]
			}
			next(w, r)
		default:
			refuse(w, http.StatusUnauthorized, "unexpected", "")
		}
	}))
	t.Cleanup(a.Close)
	return a
}

func telling(s api.DeviceSession) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(s) }
}

func TestLoginShowsACodeAndWaitsUntilItIsTyped(t *testing.T) {
	configured(t)
	a := withProvider(
		t,
		api.SingleSignOn{Device: true},
		telling(api.DeviceSession{}),
		telling(api.DeviceSession{User: "anna",
			Session: &api.NewSession{Token: "session-1", ExpiresAt: api.Time{Time: time.Now().Add(time.Hour)}}}),
	)
	code, out, errs := run(t, "login", "--server", a.URL, "--name", "home")
	if code != exitDone || !strings.Contains(out, "Logged in to home as anna") {
		t.Fatalf("got %d %s %s", code, out, errs)
	}
	for _, want := range []string{"https://id.example/device\n", "BCDF-GHJK\n", "muster login --user NAME"} {
		if !strings.Contains(errs, want) {
			t.Errorf("got %s, want %q", errs, want)
		}
	}
	if strings.Contains(errs, "\x1b") || strings.Contains(out+errs, "session-1") {
		t.Errorf("got %q", out+errs)
	}
	all, err := readLogins()
	if err != nil || all.Current != "home" || all.Servers["home"].Token != "session-1" ||
		all.Servers["home"].User != "anna" {
		t.Errorf("got %+v, %v", all, err)
	}
}

func TestLoginThatIsRefusedAtTheProviderKeepsNothing(t *testing.T) {
	configured(t)
	a := withProvider(t, api.SingleSignOn{Device: true}, func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, http.StatusForbidden, "none of your groups there has access to Muster", "Ask those who run Muster.")
	})
	code, _, errs := run(t, "login", "--server", a.URL)
	if code != exitRefused || !strings.Contains(errs, "none of your groups") || !strings.Contains(errs, "Ask those") {
		t.Errorf("got %d %s", code, errs)
	}
	if all, err := readLogins(); err != nil || len(all.Servers) != 0 {
		t.Errorf("got %+v, %v", all, err)
	}
}

func TestLoginSaysWhereTheProviderNeedsABrowser(t *testing.T) {
	configured(t)
	a := withProvider(t, api.SingleSignOn{})
	code, _, errs := run(t, "login", "--server", a.URL)
	if !refuses(code) || !strings.Contains(errs, "by browser only") || !strings.Contains(errs, "--user NAME") {
		t.Errorf("got %d %s", code, errs)
	}
}

func TestLoginSaysThatTheProviderIsAway(t *testing.T) {
	configured(t)
	a := withProvider(t, api.SingleSignOn{Away: true})
	code, _, errs := run(t, "login", "--server", a.URL)
	if !refuses(code) || !strings.Contains(errs, "ID does not answer at this moment") || strings.Contains(errs, "only") {
		t.Errorf("got %d %s", code, errs)
	}
}
