package signon

import (
	"encoding/json"
	"maps"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc/oidctest"

	"muster/internal/fleet"
)

// signedLogOut is a logout token with these claims besides the usual ones; nil takes one out.
func (l *liar) signedLogOut(t *testing.T, change map[string]any) string {
	t.Helper()
	says := map[string]any{"iss": l.URL, "aud": "muster", "sub": "1", "sid": "s", "jti": "j", "iat": time.Now().Unix(),
		"exp": time.Now().Add(time.Minute).Unix(), "events": map[string]any{logOutEvent: map[string]any{}}}
	maps.Copy(says, change)
	maps.DeleteFunc(says, func(_ string, value any) bool { return value == nil })
	text, err := json.Marshal(says)
	if err != nil {
		t.Fatal(err)
	}
	return oidctest.SignIDToken(signingKey(), "k", "RS256", string(text))
}

func TestALogoutTokenSaysWhoLoggedOut(t *testing.T) {
	t.Parallel()
	l := newLiar(t)
	p := l.provider(t)
	p.Now = time.Now
	for what, test := range map[string]struct {
		change map[string]any
		want   LogOut
	}{
		"session and subject": {nil, LogOut{ID: "j", Session: "s", Person: fleet.Identity{Issuer: l.URL, Subject: "1"}}},
		"subject": {map[string]any{"sid": nil}, LogOut{ID: "j",
			Person: fleet.Identity{Issuer: l.URL, Subject: "1"}}},
		"session": {map[string]any{"sub": nil}, LogOut{ID: "j", Session: "s", Person: fleet.Identity{Issuer: l.URL}}},
		"no expiry": {map[string]any{"exp": nil}, LogOut{ID: "j", Session: "s",
			Person: fleet.Identity{Issuer: l.URL, Subject: "1"}}},
		"a clock that is ahead": {map[string]any{"iat": time.Now().Add(clockSkew / 2).Unix()}, LogOut{ID: "j", Session: "s",
			Person: fleet.Identity{Issuer: l.URL, Subject: "1"}}},
	} {
		got, err := p.LogOut(t.Context(), l.signedLogOut(t, test.change))
		if got.Until.Before(time.Now()) {
			t.Errorf("%s: it is used until %v", what, got.Until)
		}
		got.Until = time.Time{}
		if err != nil || got != test.want {
			t.Errorf("%s: got %+v, %v", what, got, err)
		}
	}
	if l.askedFor("/keys") != 1 {
		t.Errorf("the keys were read %d times", l.askedFor("/keys"))
	}
}

func TestALogoutTokenThatProvesNothingIsRefused(t *testing.T) {
	t.Parallel()
	l := newLiar(t)
	p := l.provider(t)
	for what, change := range map[string]map[string]any{
		"another issuer":   {"iss": "https://evil.example"},
		"another audience": {"aud": "another program"},
		"no audience":      {"aud": nil},
		"no events":        {"events": nil},
		"another event":    {"events": map[string]any{"http://schemas.openid.net/event/other": map[string]any{}}},
		"an event of text": {"events": map[string]any{logOutEvent: "yes"}},
		"an event of null": {"events": map[string]any{logOutEvent: nil}},
		"events of text":   {"events": logOutEvent},
		"a nonce":          {"nonce": nonce},
		"a blank nonce":    {"nonce": ""},
		"no jti":           {"jti": nil},
		"a jti of a list":  {"jti": []string{"j"}},
		"nobody":           {"sub": nil, "sid": nil},
		"old":              {"iat": time.Now().Add(-MaxLogOutAge - 2*clockSkew).Unix()},
		"no time":          {"iat": nil},
		"a time to come":   {"iat": time.Now().Add(time.Hour).Unix()},
		"over":             {"exp": time.Now().Add(-2 * clockSkew).Unix()},
	} {
		if got, err := p.LogOut(t.Context(), l.signedLogOut(t, change)); fleet.CodeOf(err) != fleet.CodeUnauthorized {
			t.Errorf("%s: got %+v, %v", what, got, err)
		}
	}
	good := l.signedLogOut(t, nil)
	for what, forge := range map[string]func(string) string{"no signature": unsigned, "a changed body": changed,
		"its secret's HMAC": hmacSigned, "another key": otherKey} {
		if got, err := p.LogOut(t.Context(), forge(good)); fleet.CodeOf(err) != fleet.CodeUnauthorized {
			t.Errorf("%s: got %+v, %v", what, got, err)
		}
	}
}
