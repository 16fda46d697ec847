package signon_test

import (
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"muster/internal/edge/auth"
	"muster/internal/fleet"
)

// backChannel is on the way of what the provider says of log-outs to Muster, and keeps it.
type backChannel struct {
	mu      sync.Mutex // guards what follows
	tokens  []string
	answers []int // of Muster
}

func (w *world) listen() *backChannel {
	w.t.Helper()
	heard := &backChannel{}
	server := httptest.NewServer(http.HandlerFunc(func(to http.ResponseWriter, r *http.Request) {
		token := r.FormValue("logout_token")
		heard.mu.Lock()
		heard.tokens = append(heard.tokens, token)
		heard.mu.Unlock()
		answer, err := http.PostForm(w.url+auth.BackChannelPath, r.PostForm)
		if err != nil {
			return // the test is over
		}
		_ = answer.Body.Close()
		heard.mu.Lock()
		defer heard.mu.Unlock()
		heard.answers = append(heard.answers, answer.StatusCode)
	}))
	w.t.Cleanup(server.Close)
	putAtProvider(w.t, "/listeners/", []byte(server.URL))
	return heard
}

// about are the tokens about an account, of which each was answered with 200.
func (b *backChannel) about(t *testing.T, account string) (tokens []string) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, token := range b.tokens {
		_, rest, _ := strings.Cut(token, ".")
		body, _, _ := strings.Cut(rest, ".")
		if plain, _ := base64.RawURLEncoding.DecodeString(body); strings.Contains(string(plain), `"sub":"`+account+`"`) {
			tokens = append(tokens, token)
		}
	}
	if slices.ContainsFunc(b.answers, func(status int) bool { return status != http.StatusOK }) || len(tokens) != 1 {
		t.Fatalf("of %s are %d logout tokens, answered with %v", account, len(tokens), b.answers)
	}
	return tokens
}

// tell sends a logout token as the provider does.
func (w *world) tell(token string) (status int, text string) {
	w.t.Helper()
	a := w.browser("").send(http.MethodPost, w.url+auth.BackChannelPath, url.Values{"logout_token": {token}}, false)
	return a.status, a.text
}

// logOutThere logs out of the provider alone.
func (b *browser) logOutThere() {
	b.w.t.Helper()
	a := b.ask(http.MethodGet, issuerOf(b.w.t)+"/session/end?client_id=muster", false)
	xsrf := hiddenXSRF.FindStringSubmatch(a.text)
	if xsrf == nil {
		b.w.t.Fatalf("got %+v, want a form", a)
	}
	b.send(http.MethodPost, issuerOf(b.w.t)+"/session/end/confirm", url.Values{"xsrf": {xsrf[1]}, "logout": {"yes"}},
		false)
}

func (b *browser) wantLoggedOut() {
	b.w.t.Helper()
	if a := b.open("/ui/"); !strings.Contains(a.text, "Log in with Example ID") {
		b.w.t.Errorf("got %+v, want the log-in page", a)
	}
}

// Who logs out at the provider is logged out here: of the session that was begun there, and of no other.
func TestALogOutAtTheProviderEndsTheSession(t *testing.T) {
	t.Parallel()
	account(t, "leaving", claims{"preferred_username": "leaving", "groups": "staff"})
	account(t, "staying", claims{"preferred_username": "staying", "groups": "staff"})
	w := newWorld(t, setting{})
	heard := w.listen()
	here, elsewhere, other := w.browser("leaving"), w.browser("leaving"), w.browser("staying")
	for _, b := range []*browser{here, elsewhere} {
		b.logIn("leaving", fleet.RoleViewer)
	}
	other.logIn("staying", fleet.RoleViewer)
	here.logOutThere()
	here.wantLoggedOut()
	elsewhere.wantLoggedIn("leaving")
	other.wantLoggedIn("staying")
	tokens := heard.about(t, "leaving")
	if strings.Contains(w.log.String(), tokens[0]) {
		t.Error("the log has a logout token")
	}
	entries, err := w.store.Audit(t.Context(), fleet.AuditQuery{What: "logout"})
	if err != nil || len(entries) != 1 || entries[0].Subject != "leaving" {
		t.Errorf("got %+v, %v", entries, err)
	}

	here.logIn("leaving", fleet.RoleViewer)
	if status, text := w.tell(tokens[0]); status != http.StatusBadRequest || !strings.Contains(text, "used before") {
		t.Errorf("told again: got %d %s", status, text)
	}
	here.wantLoggedIn("leaving")
}

func TestALogoutTokenThatProvesNothingEndsNothing(t *testing.T) {
	t.Parallel()
	account(t, "forged-out", claims{"preferred_username": "forged-out", "groups": "staff"})
	w := newWorld(t, setting{})
	heard := w.listen()
	b := w.browser("forged-out")
	b.logIn("forged-out", fleet.RoleViewer)
	leaving := w.browser("forged-out")
	leaving.logIn("forged-out", fleet.RoleViewer)
	leaving.logOutThere()
	real := heard.about(t, "forged-out")[0]
	header, rest, _ := strings.Cut(real, ".")
	body, _, _ := strings.Cut(rest, ".")
	for what, token := range map[string]string{"nothing": "", "no token": "x", "no signature": header + "." + body + ".",
		"another signature": header + "." + body + "." + strings.Repeat("A", 342), "too much": strings.Repeat("x", 1<<15)} {
		if status, text := w.tell(token); status != http.StatusBadRequest {
			t.Errorf("%s: got %d %s", what, status, text)
		}
	}
	b.wantLoggedIn("forged-out")
	for range 100 { // who only guesses is told to wait
		if status, _ := w.tell("x"); status == http.StatusTooManyRequests {
			return
		}
	}
	t.Error("logout tokens are tried without a limit")
}
