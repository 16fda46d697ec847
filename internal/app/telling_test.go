package app

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"muster/internal/engine/policy"
	"muster/internal/fleet"
)

// put makes or changes a channel.
func (a *App) putChannel(t *testing.T, name string, change policy.ChannelChange) error {
	t.Helper()
	_, _, err := a.telling.PutChannel(fleet.WithActor(t.Context(), "anna"), name, change)
	return err
}

func secretOf(text string) *fleet.Secret {
	secret := fleet.NewSecret(text)
	return &secret
}

func TestAChannelIsTriedAndLoggedAndItsSecretsAreNotShown(t *testing.T) {
	t.Parallel()
	o := optionsOf(t.TempDir(), fleet.Secret{})
	o.NotifyAllowLocal = true
	a, err := New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Stop() })
	api, ctx := telling{a.telling, a}, fleet.WithActor(t.Context(), "anna")
	url, got := hook(t)
	change := policy.ChannelChange{Type: new(fleet.ChannelWebhook), URL: secretOf(url + "/canary-4471"),
		Secret: secretOf("canary-4472")}
	if err := a.putChannel(t, "chat", change); err != nil {
		t.Fatal(err)
	}
	found, err := api.TestChannel(ctx, "chat")
	if err != nil || found != "The channel chat accepted a message of trial." {
		t.Errorf("got %q, %v", found, err)
	}
	if m := <-got; m.Type != fleet.NoticeTrial {
		t.Errorf("got %+v", m)
	}
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, "no route for "+r.URL.Path)
	}))
	t.Cleanup(refusing.Close)
	change.URL = secretOf(refusing.URL + "/canary-4473")
	if err := a.putChannel(t, "chat", change); err != nil {
		t.Fatal(err)
	}
	_, err = api.TestChannel(ctx, "chat")
	if fleet.CodeOf(err) != fleet.CodeInvalid || !strings.Contains(err.Error(), "it answers 400: no route for [secret]") {
		t.Errorf("a receiver that refuses: %v", err)
	}
	log, err := api.Deliveries(t.Context(), "chat")
	if err != nil || len(log) != 2 || log[0].Accepted || !log[1].Accepted || log[1].Answer != "accepted" {
		t.Errorf("the log is %+v, %v", log, err)
	}
	entries, err := a.store.Audit(t.Context(), fleet.AuditQuery{})
	for _, what := range []string{"channel.put", auditChannelTrial} {
		if err != nil || !slices.ContainsFunc(entries, func(e fleet.AuditEntry) bool {
			return e.What == what && e.Subject == "chat" && e.Who == "anna"
		}) {
			t.Errorf("the audit has no %s: %+v, %v", what, entries, err)
		}
	}
	shown, err := json.Marshal([]any{entries, log, a.telling.Now(), a.policy.States(), api.Receivers()})
	if err != nil || strings.Contains(string(shown), "canary") {
		t.Errorf("a secret is shown: %s, %v", shown, err)
	}
}

// With a stolen token of an administrator nobody has the server talk to its own machine.
func TestChannelsAreNotOnTheMachine(t *testing.T) {
	t.Parallel()
	url, got := hook(t)
	a := settled(t, t.TempDir())
	err := a.putChannel(t, "chat", policy.ChannelChange{Type: new(fleet.ChannelSlack), URL: secretOf(url)})
	if err != nil {
		t.Fatal(err)
	}
	_, err = telling{a.telling, a}.TestChannel(t.Context(), "chat")
	if !strings.Contains(fleet.Reason(err), "on loopback") || len(got) != 0 {
		t.Errorf("got %v, %d messages", err, len(got))
	}
}

// Who may set channels must not get a secret sent elsewhere: no answer shows it.
func TestASecretOfAChannelServesForNoOtherURL(t *testing.T) {
	t.Parallel()
	a := settled(t, t.TempDir())
	err := a.putChannel(t, "chat", policy.ChannelChange{Type: new(fleet.ChannelAlertmanager),
		URL: secretOf("https://alerts.example.org"), Secret: secretOf("bearer-token")})
	if err != nil {
		t.Fatal(err)
	}
	err = a.putChannel(t, "chat", policy.ChannelChange{URL: secretOf("https://evil.example.org")})
	if fleet.CodeOf(err) != fleet.CodeInvalid || !strings.Contains(err.Error(), "a secret is stored") {
		t.Errorf("another URL: %v", err)
	}
	err = a.putChannel(t, "chat", policy.ChannelChange{Type: new(fleet.ChannelNtfy)})
	if fleet.CodeOf(err) != fleet.CodeInvalid {
		t.Errorf("another type: %v", err)
	}
	err = a.putChannel(t, "chat",
		policy.ChannelChange{URL: secretOf("https://evil.example.org"), Secret: secretOf("other")})
	if err != nil {
		t.Errorf("another URL with another secret: %v", err)
	}
}

func TestRoutesAndSilencesAreWhatTheNotifierGoesBy(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	a := settled(t, home)
	ctx := fleet.WithActor(t.Context(), "anna")
	err := a.putChannel(t, "chat",
		policy.ChannelChange{Type: new(fleet.ChannelSlack), URL: secretOf("https://hooks.example/x")})
	if err != nil {
		t.Fatal(err)
	}
	route := fleet.Route{Name: "urgent", Channels: []string{"chat"}, GroupBy: "site:", Repeat: time.Hour,
		Match: fleet.Match{Severities: []fleet.Severity{fleet.Critical}}, QuietFrom: "22:00", QuietTo: "07:00"}
	if _, created, err := a.telling.PutRoute(ctx, route); err != nil || !created {
		t.Fatal(created, err)
	}
	if err := a.telling.DeleteChannel(ctx, "chat"); fleet.CodeOf(err) != fleet.CodeConflict {
		t.Errorf("a channel that a route names: %v", err)
	}
	silence, err := a.telling.AddSilence(ctx, fleet.Silence{Until: time.Now().Add(time.Hour), Reason: "move",
		Match: fleet.Match{Tags: []fleet.Tag{"site:berlin"}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Stop(); err != nil {
		t.Fatal(err)
	}
	a = settled(t, home) // All of it is stored.
	s, held := a.receivers()
	if held != nil || len(s.Channels) != 1 || len(s.Routes) != 1 || len(s.Silences) != 1 ||
		s.Channels[0].URL.Reveal() != "https://hooks.example/x" || s.Silences[0].ID != silence.ID ||
		s.Silences[0].By != "anna" || s.Silences[0].Reason != "move" {
		t.Errorf("got %+v, %+v", s, held)
	}
	if is := s.Routes[0]; is.Repeat != route.Repeat || is.GroupBy != route.GroupBy || is.QuietTo != route.QuietTo ||
		!slices.Equal(is.Match.Severities, route.Match.Severities) || is.By != "anna" {
		t.Errorf("got the route %+v", is)
	}
	if err := a.telling.EndSilence(ctx, silence.ID); err != nil || len(a.telling.Now().Silences) != 0 {
		t.Errorf("got %v, %+v", err, a.telling.Now())
	}
}
