package signon

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc/oidctest"

	"muster/internal/fleet"
)

// answering has a liar answer at its token endpoint with these fields, beside an ID token.
func (l *liar) answering(fields map[string]any) {
	l.handle = func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/token" {
			return false
		}
		all := map[string]any{"access_token": "access", "token_type": "Bearer"}
		if text, err := json.Marshal(l.claims); err == nil && fields["id_token"] == nil {
			all["id_token"] = oidctest.SignIDToken(signingKey(), "k", "RS256", string(text))
		}
		for name, value := range fields {
			all[name] = value
		}
		w.Header().Set("Content-Type", "application/json")
		if all["error"] != nil {
			w.WriteHeader(http.StatusBadRequest)
		}
		_ = json.NewEncoder(w).Encode(all)
		return true
	}
}

// keepsNone fails the test when the provider's grant is replaced.
func keepsNone(t *testing.T) func(fleet.Secret) {
	return func(grant fleet.Secret) { t.Errorf("the grant was replaced by %q", grant.Reveal()) }
}

func TestTheProviderIsAskedAgainWithWhatItGave(t *testing.T) {
	t.Parallel()
	for what, fields := range map[string]map[string]any{
		"a refresh token": {"refresh_token": "refresh"}, "an access token": {"expires_in": 600},
		"a refresh that names nobody": {"refresh_token": "refresh", "id_token": "later"},
	} {
		l := newLiar(t)
		l.answering(map[string]any{"refresh_token": fields["refresh_token"], "expires_in": fields["expires_in"]})
		p := l.provider(t)
		first, err := p.redeemed(t)
		if err != nil || first.Grant.IsZero() {
			t.Fatalf("%s: got %+v, %v", what, first, err)
		}
		l.claims["groups"] = []any{"other"}
		l.userInfo = map[string]any{"sub": "1", "groups": "other"}
		if fields["id_token"] != nil {
			fields["id_token"] = ""
			l.answering(fields)
		}
		again, err := p.Recheck(t.Context(), first.Grant, first.Identity, keepsNone(t))
		if err != nil || again.Identity != first.Identity || strings.Join(again.Groups, " ") != "other" ||
			again.Grant.IsZero() {
			t.Errorf("%s: got %+v, %v", what, again, err)
		}
	}
}

func TestAProviderThatSaysNoMoreEndsTheGrant(t *testing.T) {
	t.Parallel()
	l := newLiar(t)
	l.answering(map[string]any{"refresh_token": "refresh"})
	p := l.provider(t)
	first, err := p.redeemed(t)
	if err != nil {
		t.Fatal(err)
	}
	ask := func() error {
		_, err := p.Recheck(t.Context(), first.Grant, first.Identity, keepsNone(t))
		return err
	}
	l.answering(map[string]any{"error": "invalid_grant"})
	if err := ask(); !errors.Is(err, ErrGrantEnded) {
		t.Errorf("invalid_grant: got %v", err)
	}
	l.claims["sub"] = "2"
	l.answering(map[string]any{"refresh_token": "refresh"})
	if err := ask(); !errors.Is(err, ErrGrantEnded) {
		t.Errorf("another person: got %v", err)
	}
	l.claims["sub"] = "1"
	l.handle = func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/token" {
			http.Error(w, "away", http.StatusBadGateway)
		}
		return r.URL.Path == "/token"
	}
	if err := ask(); fleet.CodeOf(err) != fleet.CodeUnavailable || errors.Is(err, ErrGrantEnded) {
		t.Errorf("away: got %v", err)
	}
	if _, err := p.Recheck(t.Context(), fleet.Secret{}, first.Identity, keepsNone(t)); !errors.Is(err, ErrNoGrant) {
		t.Errorf("nothing kept: got %v", err)
	}
}

// A provider that gives a new refresh token with each answer took no old one. The new one was lost when the provider
// failed to say more about the person.
func TestANewRefreshTokenIsKeptAlthoughTheProviderSaysNoMore(t *testing.T) {
	t.Parallel()
	l := newLiar(t)
	l.answering(map[string]any{"refresh_token": "first"})
	p := l.provider(t)
	first, err := p.redeemed(t)
	if err != nil {
		t.Fatal(err)
	}
	for _, idToken := range []any{nil, ""} { // Userinfo is asked for the groups, or for everything.
		delete(l.claims, "groups")
		l.answering(map[string]any{"refresh_token": "second", "id_token": idToken})
		var kept []string
		_, err = p.Recheck(t.Context(), first.Grant, first.Identity, func(grant fleet.Secret) {
			kept = append(kept, grant.Reveal())
			if l.askedFor("/me") != 0 {
				t.Error("the provider was asked for more before the grant was kept")
			}
		})
		if fleet.CodeOf(err) != fleet.CodeUnavailable || len(kept) != 1 || !strings.Contains(kept[0], "second") {
			t.Errorf("id_token %v: got %q, %v", idToken, kept, err)
		}
		l.mu.Lock()
		l.asked["/me"] = 0
		l.mu.Unlock()
	}
}

// An access token is good until its end, and as long as the provider takes it.
func TestAnAccessTokenIsAskedWithUntilItsEnd(t *testing.T) {
	t.Parallel()
	l := newLiar(t)
	l.answering(map[string]any{"expires_in": 600})
	p := l.provider(t)
	now := time.Now()
	p.Now = func() time.Time { return now }
	first, err := p.redeemed(t)
	if err != nil {
		t.Fatal(err)
	}
	l.userInfo = map[string]any{"sub": "1"}
	if again, err := p.Recheck(t.Context(), first.Grant, first.Identity, keepsNone(t)); !errors.Is(err, ErrNoGrant) {
		t.Errorf("groups that only ID tokens have counted as taken away: got %+v, %v", again, err)
	}
	now = now.Add(11 * time.Minute)
	if _, err := p.Recheck(t.Context(), first.Grant, first.Identity, keepsNone(t)); !errors.Is(err, ErrNoGrant) {
		t.Errorf("after its end: got %v", err)
	}
}

// A provider without refresh tokens whose userinfo failed for a moment logged everybody out.
func TestOnlyARefusedAccessTokenEndsTheGrant(t *testing.T) {
	t.Parallel()
	l := newLiar(t)
	l.answering(map[string]any{"expires_in": 600})
	var answer atomic.Pointer[func(http.ResponseWriter, *http.Request) bool]
	tokens := l.handle
	answer.Store(&tokens)
	l.handle = func(w http.ResponseWriter, r *http.Request) bool { return (*answer.Load())(w, r) }
	p := l.provider(t)
	first, err := p.redeemed(t)
	if err != nil {
		t.Fatal(err)
	}
	answers := func(status int) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == "/me" {
				http.Error(w, "401 403", status)
			}
			return r.URL.Path == "/me"
		}
	}
	hangsUp := func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/me" {
			panic(http.ErrAbortHandler)
		}
		return false
	}
	wants := func(what string, handle func(http.ResponseWriter, *http.Request) bool, ends bool) {
		answer.Store(&handle)
		_, err := p.Recheck(t.Context(), first.Grant, first.Identity, keepsNone(t))
		if fleet.CodeOf(err) != fleet.CodeUnavailable || errors.Is(err, ErrGrantEnded) != ends {
			t.Errorf("%s: got %v, want an end: %t", what, err, ends)
		}
	}
	for _, status := range []int{http.StatusBadRequest, http.StatusNotFound, http.StatusTooManyRequests,
		http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable} {
		wants(http.StatusText(status), answers(status), false)
	}
	wants("hung up", hangsUp, false)
	wants("unauthorized", answers(http.StatusUnauthorized), true)
	wants("forbidden", answers(http.StatusForbidden), true)
	l.Close()
	wants("gone", hangsUp, false)
}
