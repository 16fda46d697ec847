package auth

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"muster/internal/adapter/signon"
	"muster/internal/fleet"
)

// rotating is a provider that replaces the refresh token with each answer, and accepts each only once.
type rotating struct {
	*httptest.Server
	mu    sync.Mutex
	given int  // guarded by mu; number of the token that is accepted
	away  bool // guarded by mu; userinfo does not answer
}

func newRotating(t *testing.T) *rotating {
	t.Helper()
	p := &rotating{}
	p.Server = httptest.NewServer(p)
	t.Cleanup(p.Close)
	return p
}

func (p *rotating) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	says := map[string]any{}
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		says = map[string]any{"issuer": p.URL, "authorization_endpoint": p.URL + "/auth",
			"token_endpoint": p.URL + "/token", "jwks_uri": p.URL + "/keys", "userinfo_endpoint": p.URL + "/me"}
	case "/token":
		if r.PostFormValue("refresh_token") != fmt.Sprint(p.given) {
			w.WriteHeader(http.StatusBadRequest)
			says["error"] = "invalid_grant"
			break
		}
		p.given++
		says = map[string]any{"access_token": "access", "token_type": "Bearer", "refresh_token": fmt.Sprint(p.given)}
	case "/me":
		if p.away {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		says = map[string]any{"sub": "1", "groups": "staff"}
	}
	_ = json.NewEncoder(w).Encode(says)
}

func (p *rotating) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

// grantWith returns what the store has for a session whose refresh token this is.
func grantWith(at time.Time, token string) keptGrant {
	return keptGrant{At: at, Grant: `{"refresh":"` + token + `"}`}
}

// loggedInAt logs a person in at a provider, at noon, with the refresh token "0".
func loggedInAt(t *testing.T, provider *rotating) (*people, *SignOn, fleet.Session) {
	t.Helper()
	p := newPeople(t)
	client, err := signon.New(signon.Options{Issuer: provider.URL, ClientID: "muster", GroupsClaim: "groups",
		NameClaim: "name", Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	p.Issuer = provider.URL
	s := NewSignOn(SignOnOptions{People: p.People, Provider: client, Name: "Example ID",
		Rules: []RoleRule{{Role: fleet.RoleViewer, Group: "staff"}}})
	started, err := s.start(t.Context(), fleet.ProvenIdentity{Identity: fleet.Identity{Issuer: provider.URL, Subject: "1"},
		Name: "anna", Groups: []string{"staff"}, Grant: fleet.NewSecret(grantWith(noon, "0").Grant)},
		attemptUse{hash: "h", until: noon.Add(time.Hour)}, Client{Address: "192.0.2.1"})
	if err != nil {
		t.Fatal(err)
	}
	session, err := p.store.SessionByHash(t.Context(), started.Session.Hash)
	if err != nil {
		t.Fatal(err)
	}
	return p, s, session
}

// A person was logged out an hour after the provider had replaced the refresh token and then failed to say more.
func TestAReplacedRefreshTokenOutlivesAProviderThatSaysNoMore(t *testing.T) {
	t.Parallel()
	provider := newRotating(t)
	p, s, session := loggedInAt(t, provider)
	for hour := range 3 {
		provider.set(func() { provider.away = hour < 2 })
		p.move(noon.Add(time.Duration(hour+1) * 2 * time.Hour))
		if !s.isFresh(t.Context(), session) {
			t.Fatalf("the session has ended at check %d", hour+1)
		}
		kept, err := s.kept(t.Context(), session)
		want := grantWith(noon, fmt.Sprint(hour+1))
		if hour == 2 {
			want.At = p.now()
		}
		if err != nil || !kept.At.Equal(want.At) || kept.Grant != want.Grant {
			t.Fatalf("check %d: got %+v, %v, want %+v", hour+1, kept, err, want)
		}
	}
}

// A check that used a refresh token after another process of Muster had used it logged the person out.
func TestARefreshTokenThatAnotherProcessUsedEndsNoSession(t *testing.T) {
	t.Parallel()
	provider := newRotating(t)
	p, s, session := loggedInAt(t, provider)
	p.move(noon.Add(2 * time.Hour))
	stale, err := s.kept(t.Context(), session)
	if err != nil {
		t.Fatal(err)
	}
	provider.set(func() { provider.given = 1 })
	s.put(t.Context(), session, grantWith(noon, "1"))
	if !s.ask(t.Context(), session, stale) {
		t.Error("the session has ended")
	}
	p.move(p.now().Add(recheckAgain))
	fresh := s.isFresh(t.Context(), session)
	if kept, err := s.kept(t.Context(), session); !fresh || err != nil || kept.Grant != grantWith(noon, "2").Grant {
		t.Errorf("the next check did not use the newer token: %+v, %v", kept, err)
	}
	// The provider does not accept the stored token: the person has logged out there.
	p.move(p.now().Add(2 * time.Hour))
	provider.set(func() { provider.given = 7 })
	if s.isFresh(t.Context(), session) {
		t.Error("the session outlives the provider's log-in")
	}
	if _, err := p.store.SessionByHash(t.Context(), session.Hash); fleet.CodeOf(err) != fleet.CodeNotFound {
		t.Errorf("got %v", err)
	}
}

// Requests that come together use the refresh token once.
func TestRequestsThatComeTogetherAskTheProviderOnce(t *testing.T) {
	t.Parallel()
	provider := newRotating(t)
	p, s, session := loggedInAt(t, provider)
	p.move(noon.Add(2 * time.Hour))
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if !s.isFresh(t.Context(), session) {
				t.Error("the session has ended")
			}
		})
	}
	all.Wait()
	if kept, err := s.kept(t.Context(), session); err != nil || kept.Grant != grantWith(noon, "1").Grant {
		t.Errorf("got %+v, %v", kept, err)
	}
}
