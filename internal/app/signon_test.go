package app

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"muster/api"
	"muster/internal/edge/auth"
	"muster/internal/fleet"
	"muster/test/wait"
)

// awaited is a log that tells when a text is in it.
type awaited struct {
	mu    sync.Mutex
	text  strings.Builder
	want  string
	found chan struct{}
}

func (a *awaited) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	before := strings.Contains(a.text.String(), a.want)
	a.text.Write(p)
	if !before && strings.Contains(a.text.String(), a.want) {
		close(a.found)
	}
	return len(p), nil
}

// withSignOn starts a server with a provider that is away, and gives the server and what ends it.
func withSignOn(t *testing.T, home, logs string) (a *App, log *awaited) {
	t.Helper()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	log = &awaited{want: logs, found: make(chan struct{})}
	a, err := New(t.Context(), Options{
		Home: home, Listen: "127.0.0.1:0", Configurator: fleet.ModeObserve, DiscoveryServers: []string{"none"},
		Worker: []string{"/bin/cat"}, Log: slog.New(slog.NewTextHandler(log, nil)), Out: io.Discard,
		SignOn: SignOn{Issuer: gone.URL, ClientID: "muster", Name: "Example ID", GroupsClaim: "groups", NameClaim: "name",
			Rules: []auth.RoleRule{{Group: "staff", Role: fleet.RoleViewer}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return a, log
}

func (a *App) page(t *testing.T, path string) (status int, text string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, a.URL()+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

func TestAProviderThatIsAwayKeepsNobodyFromLoggingInOtherwise(t *testing.T) {
	t.Parallel()
	a, log := withSignOn(t, t.TempDir(), "the provider of single sign-on cannot be read")
	defer func() {
		if err := a.Stop(); err != nil {
			t.Error(err)
		}
	}()
	<-log.found
	_, text := a.page(t, "/api/v1/login")
	_, form := a.page(t, "/ui/login")
	if !strings.Contains(text, `"away":true`) || !strings.Contains(form, "Example ID does not answer at this moment") {
		t.Errorf("before one clicks: got %s, %s", text, form)
	}
	if status, text := a.page(t, "/ui/login/single-sign-on"); status != http.StatusServiceUnavailable ||
		!strings.Contains(text, "log in with a password") || !strings.Contains(text, `name="password"`) {
		t.Errorf("got %d %s", status, text)
	}
	if _, err := a.people.CreateUser(t.Context(), fleet.User{Name: "root", Role: fleet.RoleAdmin},
		"correct horse battery"); err != nil {
		t.Fatal(err)
	}
	if _, err := a.people.LogIn(t.Context(), "root", "correct horse battery", auth.Client{}); err != nil {
		t.Error(err)
	}
}

// The checks were made before the provider was there, so that no status, page or metric had it.
func TestAProviderThatIsAwayIsInReadinessAndMetrics(t *testing.T) {
	t.Parallel()
	a, _ := withSignOn(t, t.TempDir(), "-")
	defer func() {
		if err := a.Stop(); err != nil {
			t.Error(err)
		}
	}()
	wait.Until(t, func() string {
		status, text := a.page(t, "/readyz")
		if status != http.StatusOK {
			t.Fatalf("got %d %s: a provider that is away is no reason not to be ready", status, text)
		}
		if !strings.Contains(text, `"singleSignOn"`) {
			return "readyz: " + text
		}
		return ""
	})
	token, err := os.ReadFile(filepath.Join(a.o.Home, auth.AdminTokenFile))
	if err != nil {
		t.Fatal(err)
	}
	var overview api.Overview
	if err := json.Unmarshal([]byte(readAs(t, a.URL()+"/api/v1/overview", string(token))), &overview); err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(overview.Impairments, func(i api.Impairment) bool {
		return i.Part == string(fleet.PartSignOn) && strings.Contains(i.Next, "log in with a password")
	}) {
		t.Errorf("the overview, which muster status shows, has %+v", overview.Impairments)
	}
	metrics := readAs(t, a.URL()+"/metrics", string(token))
	if !strings.Contains(metrics, `muster_impaired{part="singleSignOn"} 1`) {
		t.Errorf("the metrics are\n%s", metrics)
	}
}

func readAs(t *testing.T, url, token string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(token))
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func TestSwitchedOffOnTheHostSingleSignOnStaysOff(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	for _, step := range []struct{ off, wantOff bool }{{false, false}, {true, true}, {false, false}} {
		a, _ := withSignOn(t, home, "-")
		if err := a.Stop(); err != nil { // makes the database
			t.Fatal(err)
		}
		if err := SwitchSignOn(t.Context(), Options{Home: home, Log: slog.New(slog.DiscardHandler)}, step.off); err != nil {
			t.Fatal(err)
		}
		a, _ = withSignOn(t, home, "-")
		_, text := a.page(t, "/api/v1/login")
		status, _ := a.page(t, "/ui/login/single-sign-on")
		if strings.Contains(text, "Example ID") == step.wantOff || (status == http.StatusUnauthorized) != step.wantOff {
			t.Errorf("%+v: got %d %s", step, status, text)
		}
		if off := a.issuer() == ""; off != step.wantOff {
			t.Errorf("%+v: sessions of its users count: %v", step, !off)
		}
		if err := a.Stop(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTheNameInThePublicURLIsAllowed(t *testing.T) {
	t.Parallel()
	a := &App{o: Options{PublicURL: "https://muster.example:8443/"}}
	if err := a.allowPublic(); err != nil || len(a.o.AllowHosts) != 1 || a.o.AllowHosts[0] != "muster.example" {
		t.Errorf("got %q, %v", a.o.AllowHosts, err)
	}
	for _, wrong := range []string{"muster.example", "http://muster.example", "https://muster.example/muster",
		"https://a@muster.example", "ftp://muster.example", "https://"} {
		a := &App{o: Options{PublicURL: wrong}}
		if err := a.allowPublic(); fleet.CodeOf(err) != fleet.CodeInvalid {
			t.Errorf("%s: got %v", wrong, err)
		}
	}
}

// An administrator sets a provider without a flag. It holds after a restart, and its secret is shown nowhere.
func TestAProviderIsSetWithoutFlags(t *testing.T) {
	t.Parallel()
	const secret = "canary-5521"
	home, ctx := t.TempDir(), fleet.WithActor(t.Context(), "anna")
	provider := httptest.NewUnstartedServer(nil)
	provider.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		at := provider.URL
		_, _ = io.WriteString(w, `{"issuer":"`+at+`","authorization_endpoint":"`+at+`/auth","token_endpoint":"`+at+
			`/token","jwks_uri":"`+at+`/keys","id_token_signing_alg_values_supported":["RS256"]}`)
	})
	provider.Start()
	t.Cleanup(provider.Close)
	start := func() *App {
		a, err := New(t.Context(), optionsOf(home, fleet.Secret{}))
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	stop := func(a *App) {
		if err := a.Stop(); err != nil {
			t.Fatal(err)
		}
	}
	a := start()
	put := func(name fleet.SettingName, value string, wantCode fleet.Code) {
		t.Helper()
		if _, err := a.policy.Put(ctx, name, value, nil); fleet.CodeOf(err) != wantCode {
			t.Errorf("%s: got %v", name, err)
		}
	}
	put(fleet.SettingOIDCIssuer, provider.URL, fleet.CodeInvalid) // It has no client ID yet.
	put(fleet.SettingOIDCClientID, "muster", "")
	put(fleet.SettingOIDCRoles, "everything=staff", fleet.CodeInvalid)
	put(fleet.SettingOIDCRoles, "viewer:lab=staff;admin=chiefs", "")
	if found, err := a.TestSetting(ctx, fleet.SettingOIDCIssuer, new(provider.URL)); err != nil ||
		!strings.Contains(found, provider.URL) {
		t.Errorf("got %q, %v", found, err)
	}
	if _, err := a.TestSetting(ctx, fleet.SettingOIDCIssuer, new(provider.URL+"/other")); err == nil {
		t.Error("an issuer that is another is found to work")
	}
	for _, wrong := range []string{"ftp://id.example", "https://id.example?x=1", "http://id.example", "id.example"} {
		put(fleet.SettingOIDCIssuer, wrong, fleet.CodeInvalid) // It can never work.
	}
	put(fleet.SettingOIDCIssuer, provider.URL, "")
	put(fleet.SettingOIDCClientSecret, secret, "")
	put(fleet.SettingOIDCIssuer, provider.URL+"/", fleet.CodeInvalid) // It would get the secret.
	put(fleet.SettingOIDCClientID, "another", fleet.CodeInvalid)
	put(fleet.SettingOIDCIssuer, provider.URL, "")        // It is the same.
	put(fleet.SettingOIDCClientID, "", fleet.CodeInvalid) // The provider needs it.
	if a.provider != nil {
		t.Error("it holds before the restart that it asks for")
	}
	stop(a)

	a = start()
	if a.provider == nil || a.issuer() != provider.URL || len(a.signOn.Rules) != 2 ||
		a.signOn.ClientSecret.Reveal() != secret || a.signOn.Rules[0].Scope.String() == "" {
		t.Errorf("got %+v", a.signOn)
	}
	shown := fmt.Sprintf("%+v", a.policy.States())
	entries, err := a.store.Audit(ctx, fleet.AuditQuery{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	if text := shown + fmt.Sprintf("%+v", entries); strings.Contains(text, secret) {
		t.Error("the secret is shown")
	}
	if state, err := a.policy.State(fleet.SettingOIDCClientSecret); err != nil || !state.Secret || state.Stored == nil ||
		state.Stored.Value != "" {
		t.Errorf("got %+v, %v", state, err)
	}
	stop(a)

	// A provider that flags give comes before, as a whole.
	a, _ = withSignOn(t, home, "-")
	if a.signOn.Name != "Example ID" || a.issuer() == provider.URL || a.signOn.ClientSecret.Reveal() != "" {
		t.Errorf("got %+v", a.signOn)
	}
	if state := a.policy.Of(fleet.SettingOIDCRoles); state.Source != fleet.SettingByFlag ||
		state.Value != "viewer=staff" {
		t.Errorf("got %+v", state)
	}
	stop(a)
}
