package app

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"muster/internal/engine/notify"
	"muster/internal/engine/policy"
	"muster/internal/fleet"
)

// hook is a webhook that keeps what came.
func hook(t *testing.T) (url string, got chan notify.Message) {
	t.Helper()
	got = make(chan notify.Message, 10)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var m notify.Message
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
			t.Error(err)
		}
		got <- m
	}))
	t.Cleanup(server.Close)
	return server.URL, got
}

func TestAReceiverOfTheSettingsIsTriedAndShownWithoutItsURL(t *testing.T) {
	t.Parallel()
	o := optionsOf(t.TempDir(), fleet.Secret{})
	o.NotifyAllowLocal = true
	a, err := New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Stop() })
	url, got := hook(t)
	secret := url + "/canary-4471"
	a.set(t, fleet.SettingNotifyURLs, secret)
	a.tellReceivers()
	found, err := a.TestSetting(fleet.WithActor(t.Context(), "anna"), fleet.SettingNotifyURLs, nil)
	if err != nil || strings.Contains(found, "canary") || !strings.Contains(found, strings.TrimPrefix(url, "http://")) {
		t.Errorf("got %q, %v", found, err)
	}
	if m := <-got; m.Type != fleet.NoticeTrial || m.DeviceID != "" {
		t.Errorf("got %+v", m)
	}
	entries, err := a.store.Audit(t.Context(), fleet.AuditQuery{})
	if err != nil || !slices.ContainsFunc(entries, func(e fleet.AuditEntry) bool {
		return e.What == auditTrial && e.Subject == string(fleet.SettingNotifyURLs)
	}) {
		t.Errorf("got %+v, %v", entries, err)
	}
	shown, err := json.Marshal([]any{entries, a.policy.States()})
	if err != nil || strings.Contains(string(shown), "canary") {
		t.Errorf("the URL is shown: %s, %v", shown, err)
	}
	_, err = a.TestSetting(t.Context(), fleet.SettingNotifyMailTo, nil)
	if !strings.Contains(fleet.Reason(err), "no receiver") {
		t.Errorf("got %v", err)
	}
}

// With a stolen token of an administrator nobody has the server talk to its own machine.
func TestSettingsNameNoReceiverOnTheMachine(t *testing.T) {
	t.Parallel()
	url, got := hook(t)
	a := settled(t, t.TempDir())
	_, err := a.TestSetting(t.Context(), fleet.SettingNotifyURLs, new(url))
	if !strings.Contains(fleet.Reason(err), "on loopback") || len(got) != 0 {
		t.Errorf("got %v, %d messages", err, len(got))
	}
	if err := a.Stop(); err != nil {
		t.Fatal(err)
	}
	o := optionsOf(t.TempDir(), fleet.Secret{})
	o.Notify.URLs = []string{url} // The machine names it.
	if a, err = New(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Stop() })
	if _, err := a.TestSetting(t.Context(), fleet.SettingNotifyURLs, nil); err != nil || len(got) != 1 {
		t.Errorf("got %v, %d messages", err, len(got))
	}
	_, err = a.TestSetting(t.Context(), fleet.SettingNotifyURLs, new(url+"/other"))
	if !strings.Contains(fleet.Reason(err), "--notify-url") || len(got) != 1 {
		t.Errorf("another URL beside a flag: got %v, %d messages", err, len(got))
	}
}

// The server sent the password of the mail server to the one that an administrator named then.
func TestAPasswordStaysWithItsMailServer(t *testing.T) {
	t.Parallel()
	a := settled(t, t.TempDir())
	refused := func(name fleet.SettingName, value, want string) {
		t.Helper()
		_, err := a.policy.Put(t.Context(), name, value, nil)
		if fleet.CodeOf(err) != fleet.CodeInvalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%s %s: got %v", name, value, err)
		}
	}
	refused(fleet.SettingNotifyMailTo, "a@example.org", "needs the setting smtpServer")
	a.set(t, fleet.SettingSMTPServer, "mail.example.org")
	refused(fleet.SettingNotifyMailTo, "a@example.org", "needs the setting notifyMailFrom")
	a.set(t, fleet.SettingNotifyMailFrom, "muster@example.org")
	refused(fleet.SettingNotifyMailTo, "nobody", "no mail address")
	refused(fleet.SettingSMTPServer, "mail.example.org:no", "HOST:PORT")
	refused(fleet.SettingNotifyURLs, "ftp://example.org", "https://")
	refused(fleet.SettingNotifySecret, "whsec_!", "base64")
	a.set(t, fleet.SettingNotifyMailTo, "a@example.org, b@example.org")
	a.set(t, fleet.SettingSMTPPassword, "canary")
	refused(fleet.SettingSMTPServer, "evil.example", "password is stored")
	refused(fleet.SettingSMTPTLS, "none", "password is stored")
	a.set(t, fleet.SettingSMTPTLS, "tls")
	if _, err := a.policy.Reset(t.Context(), fleet.SettingSMTPServer, nil); fleet.CodeOf(err) != fleet.CodeInvalid {
		t.Errorf("mail without a server: got %v", err)
	}
	s, held := a.receivers()
	if held != nil || len(s.MailTo) != 2 || s.SMTPPassword.Reveal() != "canary" || s.LocalMail {
		t.Errorf("got %+v, %+v", s, held)
	}
}

// A setting named another mail server, and the password of the flag went there.
func TestOneFlagOfMailHasFlagsDecideAboutAllOfIt(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	a := settled(t, home)
	a.set(t, fleet.SettingSMTPServer, "evil.example")
	a.set(t, fleet.SettingNotifyURLs, "https://hooks.example/x")
	if err := a.Stop(); err != nil {
		t.Fatal(err)
	}
	o := optionsOf(home, fleet.Secret{})
	o.Notify = notify.Settings{MailTo: []string{"a@example.org"}, MailFrom: "b@example.org", SMTP: "mail.example.org",
		SMTPPassword: fleet.NewSecret("canary")}
	a, err := New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Stop() })
	s, held := a.receivers()
	if held != nil || s.SMTP != "mail.example.org" || len(s.URLs) != 1 || !s.LocalMail || s.LocalWebhooks {
		t.Errorf("got %+v, %+v", s, held)
	}
	state, err := a.policy.State(fleet.SettingSMTPServer)
	if err != nil || !strings.Contains(state.Warning(), "--smtp, which overrides the stored value evil.example") {
		t.Errorf("got %+v, %v", state, err)
	}
}

// A forged row had the names of the fleet sent elsewhere.
func TestReceiversInDoubtAreNotTold(t *testing.T) {
	t.Parallel()
	a := settled(t, t.TempDir())
	a.set(t, fleet.SettingNotifyURLs, "https://hooks.example/x")
	err := a.putChannel(t, "chat",
		policy.ChannelChange{Type: new(fleet.ChannelSlack), URL: secretOf("https://hooks.example/y")})
	if err != nil {
		t.Fatal(err)
	}
	inDoubt := fleet.StoredSettings{Doubted: true, ByName: a.store.StoredSettings().ByName}
	doubting := &App{o: a.o, policy: policy.New(policy.Options{Store: storedAs{stored: inDoubt}}),
		telling: policy.NewTelling(storedAs{stored: inDoubt}, nil)}
	s, held := doubting.receivers()
	if held == nil || held.Part != fleet.PartNotify || len(s.URLs)+len(s.MailTo)+len(s.Channels) != 0 || !s.Unsure {
		t.Errorf("got %+v, %+v", s, held)
	}
	if keys := doubting.enrollmentPolicy(); !keys.Off || keys.Uses != 1 {
		t.Errorf("enrol keys: got %+v", keys)
	}
}

// One wrong setting of mail dropped all channels, routes and silences: those who had silenced a site were told of it.
func TestAWrongSettingDropsNoRouteAndNoSilence(t *testing.T) {
	t.Parallel()
	a := settled(t, t.TempDir())
	ctx := fleet.WithActor(t.Context(), "anna")
	err := a.putChannel(t, "chat",
		policy.ChannelChange{Type: new(fleet.ChannelSlack), URL: secretOf("https://hooks.example/y")})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := a.telling.PutRoute(ctx, fleet.Route{Name: "all", Channels: []string{"chat"}}); err != nil {
		t.Fatal(err)
	}
	silence := fleet.Silence{Match: fleet.Match{Tags: []fleet.Tag{"site:berlin"}}, Until: time.Now().Add(time.Hour)}
	if _, err := a.telling.AddSilence(ctx, silence); err != nil {
		t.Fatal(err)
	}
	wrong := fleet.StoredSettings{ByName: maps.Clone(a.store.StoredSettings().ByName)}
	wrong.ByName[fleet.SettingNotifyMailTo] = fleet.StoredSetting{Value: "nobody"}
	o := a.o
	o.Notify.URLs = []string{"https://hooks.example/flag"}
	other := &App{o: o, policy: policy.New(policy.Options{Store: storedAs{stored: wrong},
		Flags: flagsOfNotify(o.Notify)}), telling: policy.NewTelling(storedAs{stored: wrong}, nil)}
	s, held := other.receivers()
	if held == nil || !s.Unsure || len(s.URLs) != 1 || len(s.MailTo) != 0 {
		t.Errorf("got %+v, %+v", s, held)
	}
	if len(s.Channels) != 1 || len(s.Routes) != 1 || len(s.Silences) != 1 {
		t.Errorf("channels %+v, routes %+v, silences %+v", s.Channels, s.Routes, s.Silences)
	}
	if _, err := s.Senders(refuseLocal); err != nil {
		t.Error(err)
	}
}

// storedAs plays the store for reading settings.
type storedAs struct {
	policy.Store
	stored fleet.StoredSettings
}

func (s storedAs) StoredSettings() fleet.StoredSettings { return s.stored }
