package signon

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"testing"
	"time"

	"muster/internal/fleet"
)

// deviceLiar is a provider that says this to a program that wants to log in.
func deviceLiar(t *testing.T, says map[string]any) *liar {
	t.Helper()
	l := newLiar(t)
	l.metadata["device_authorization_endpoint"] = l.URL + "/device"
	all := map[string]any{"device_code": "secret", "user_code": "BCDF", "verification_uri": l.URL + "/code",
		"expires_in": 600}
	maps.Copy(all, says)
	l.handle = func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/device" {
			return false
		}
		if id, secret, ok := r.BasicAuth(); !ok || id != "muster" || secret != "secret" {
			http.Error(w, `{"error":"invalid_client"}`, http.StatusUnauthorized)
			return true
		}
		_ = json.NewEncoder(w).Encode(all)
		return true
	}
	return l
}

func TestWhatAProviderTellsAProgramIsShownOnlyWhereItIsPlain(t *testing.T) {
	t.Parallel()
	p := deviceLiar(t, nil).provider(t)
	if !p.HasDevices(t.Context()) {
		t.Error("the provider has devices")
	}
	d, err := p.BeginDevice(t.Context())
	if err != nil || d.UserCode != "BCDF" || d.Interval != usualInterval || time.Until(d.Until) > 10*time.Minute {
		t.Errorf("got %+v, %v", d, err)
	}
	for what, lie := range map[string]map[string]any{
		"no code":                  {"device_code": ""},
		"no code of the person":    {"user_code": ""},
		"a code that is too long":  {"user_code": string(make([]byte, 65))},
		"a code with an escape":    {"user_code": "\x1b[2J"},
		"no place":                 {"verification_uri": ""},
		"an insecure place":        {"verification_uri": "http://evil.example"},
		"a place with a line end":  {"verification_uri_complete": "https://id.example/\nhttps://evil.example"},
		"a script for the person":  {"verification_uri_complete": "javascript:alert(1)"},
		"a place with another tag": {"verification_uri": "https://id.example/\u202e"},
	} {
		if d, err := deviceLiar(t, lie).provider(t).BeginDevice(t.Context()); fleet.CodeOf(err) != fleet.CodeUnavailable {
			t.Errorf("%s: got %+v, %v", what, d, err)
		}
	}
	d, err = deviceLiar(t, map[string]any{"interval": 1 << 20, "expires_in": 1 << 30}).provider(t).BeginDevice(t.Context())
	if err != nil || d.Interval != usualInterval || time.Until(d.Until) > maxDeviceLife {
		t.Errorf("got %+v, %v", d, err)
	}
}

func TestAProgramGetsThePersonOfTheIDToken(t *testing.T) {
	t.Parallel()
	l := deviceLiar(t, nil)
	delete(l.claims, "nonce")
	if got, err := l.provider(t).RedeemDevice(t.Context(), "secret"); err != nil || got.Subject != "1" {
		t.Errorf("got %+v, %v", got, err)
	}
	l.claims["aud"] = "another program"
	if got, err := l.provider(t).RedeemDevice(t.Context(), "secret"); fleet.CodeOf(err) != fleet.CodeUnauthorized {
		t.Errorf("got %+v, %v", got, err)
	}
	for says, want := range map[string]error{"authorization_pending": ErrPending, "slow_down": ErrSlowDown} {
		l.handle = func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == "/token" {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusBadRequest)
				_ = json.NewEncoder(w).Encode(map[string]string{"error": says})
			}
			return r.URL.Path == "/token"
		}
		if _, err := l.provider(t).RedeemDevice(t.Context(), "secret"); !errors.Is(err, want) {
			t.Errorf("%s: got %v", says, err)
		}
	}
}

func TestAProviderWithoutDevicesSaysSo(t *testing.T) {
	t.Parallel()
	p := newLiar(t).provider(t)
	if p.HasDevices(t.Context()) {
		t.Error("the provider has no devices")
	}
	if _, err := p.BeginDevice(t.Context()); fleet.CodeOf(err) != fleet.CodeConflict {
		t.Errorf("got %v", err)
	}
}
