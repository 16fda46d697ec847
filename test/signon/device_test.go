package signon_test

import (
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"muster/api"
	"muster/client"
	"muster/internal/edge/auth"
	"muster/internal/fleet"
)

var hiddenXSRF = regexp.MustCompile(`name="xsrf" value="([^"]*)"`)

// typeCode types a code at the provider, and consents to it or not.
func (b *browser) typeCode(at, code, answer string) {
	b.w.t.Helper()
	a := b.ask(http.MethodGet, at, false)
	for _, fields := range []url.Values{{"user_code": {code}}, {"user_code": {code}, answer: {"yes"}}} {
		xsrf := hiddenXSRF.FindStringSubmatch(a.text)
		if xsrf == nil {
			b.w.t.Fatalf("got %+v, want a form", a)
		}
		fields.Set("xsrf", xsrf[1])
		a = b.follow(b.send(http.MethodPost, at, fields, false), false)
	}
	if a.status != http.StatusOK {
		b.w.t.Fatalf("got %+v", a)
	}
}

// program is one without a browser.
func (w *world) program() *client.Client {
	w.t.Helper()
	c, err := client.New(w.url, "")
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

func (w *world) beginDevice() api.DeviceLogin {
	w.t.Helper()
	begun, err := w.program().BeginDeviceLogin(w.t.Context())
	if err != nil || begun.Handle == "" || begun.UserCode == "" || !strings.HasPrefix(begun.URL, issuerOf(w.t)+"/") ||
		!strings.HasPrefix(begun.DirectURL, issuerOf(w.t)+"/") || begun.IntervalS < 1 {
		w.t.Fatalf("got %+v, %v", begun, err)
	}
	return begun
}

// wantNoSession asks for a session that nobody is to get.
func (w *world) wantNoSession(handle string, status int, says string) {
	w.t.Helper()
	got, err := w.program().EndDeviceLogin(w.t.Context(), handle)
	var answer *client.Error
	if !errors.As(err, &answer) || answer.Status != status || !strings.Contains(err.Error(), says) {
		w.t.Errorf("got %+v, %v, want %d %s", got, err, status, says)
	}
}

func TestAProgramWithoutABrowserLogsIn(t *testing.T) {
	t.Parallel()
	account(t, "headless", claims{"preferred_username": "headless", "groups": "sync-rome"})
	w := newWorld(t, setting{})
	if how, err := w.program().LoginMethods(t.Context()); err != nil || how.SingleSignOn == nil ||
		!how.SingleSignOn.Device || how.SingleSignOn.Name != "Example ID" {
		t.Errorf("got %+v, %v", how, err)
	}
	begun := w.beginDevice()
	if got, err := w.program().EndDeviceLogin(t.Context(), begun.Handle); err != nil || got.Session != nil ||
		got.User != "" || got.IntervalS < 1 {
		t.Errorf("got %+v, %v before the person answered", got, err)
	}
	w.browser("headless").typeCode(begun.URL, begun.UserCode, "confirm")
	got, err := w.program().EndDeviceLogin(t.Context(), begun.Handle)
	if err != nil || got.Session == nil || got.User != "headless" {
		t.Fatalf("got %+v, %v\n%s", got, err, w.log)
	}
	logged, err := client.New(w.url, got.Session.Token)
	if err != nil {
		t.Fatal(err)
	}
	if who, err := logged.Whoami(t.Context()); err != nil || who.Name != "headless" || who.Role != "operator" ||
		who.Credential != string(auth.CredentialSession) {
		t.Errorf("got %+v, %v", who, err)
	}
	if user, err := w.store.User(t.Context(), "headless"); err != nil ||
		user.Scope != fleet.ScopeOf([]fleet.Tag{"rome"}) {
		t.Errorf("got %+v, %v", user, err)
	}
	w.ahead.Store(int64(time.Minute)) // past the limit of questions
	w.wantNoSession(begun.Handle, http.StatusUnauthorized, "finished before")
	if log := w.log.String(); strings.Contains(log, got.Session.Token) || strings.Contains(log, begun.Handle) {
		t.Error("the log has a token or a handle")
	}
}

func TestAProgramGetsNothingByAsking(t *testing.T) {
	t.Parallel()
	account(t, "unmapped", claims{"preferred_username": "unmapped", "groups": "others"})
	w := newWorld(t, setting{})
	w.standsAt.Store(int64(time.Since(started))) // a question more becomes possible with time
	begun := w.beginDevice()
	for range 2 {
		if got, err := w.program().EndDeviceLogin(t.Context(), begun.Handle); err != nil || got.Session != nil {
			t.Errorf("got %+v, %v", got, err)
		}
	}
	w.wantNoSession(begun.Handle, http.StatusTooManyRequests, "asked too often")
	for what, handle := range map[string]string{"nothing": "", "no handle": "x", "the user's code": begun.UserCode,
		"a changed one": begun.Handle[:len(begun.Handle)-2] + "xx"} {
		t.Log(what)
		w.wantNoSession(handle, http.StatusUnauthorized, "not begun here")
	}
	b := w.browser("unmapped")
	b.begin()
	t.Log("the cookie of a browser")
	w.wantNoSession(b.cookies[auth.SignOnCookie].Value, http.StatusUnauthorized, "not begun here")

	refused := w.beginDevice()
	w.browser("unmapped").typeCode(refused.URL, refused.UserCode, "abort")
	w.wantNoSession(refused.Handle, http.StatusUnauthorized, "refused at the provider")

	unmapped := w.beginDevice()
	w.browser("unmapped").typeCode(unmapped.URL, unmapped.UserCode, "confirm")
	w.wantNoSession(unmapped.Handle, http.StatusForbidden, "none of your groups there has access")

	late := w.beginDevice()
	w.ahead.Store(int64(time.Hour))
	w.wantNoSession(late.Handle, http.StatusUnauthorized, "not typed in time")
}
