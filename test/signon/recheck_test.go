package signon_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"muster/internal/adapter/signon"
	"muster/internal/edge/auth"
	"muster/internal/fleet"
	"muster/test/wait"
)

// ofTheProvider has the provider's client go by the real clock, so that tokens are not too old when a test moves the
// clock of sessions.
func ofTheProvider(o *signon.Options) { o.Now = time.Now }

// Groups were read at the log-in and never again: a person who was taken out kept the role for a week.
func TestGroupsAreLookedAtWithinAnHour(t *testing.T) {
	t.Parallel()
	for name, step := range map[string]struct {
		groups []string
		role   fleet.Role // "": the user is deleted
		ends   bool
	}{
		"again-same":  {groups: []string{"staff", "others"}, role: fleet.RoleViewer},
		"again-out":   {groups: []string{"others"}, ends: true},
		"again-admin": {groups: []string{"muster-admins"}, role: fleet.RoleAdmin, ends: true},
	} {
		for _, age := range []time.Duration{11 * time.Minute, 61 * time.Minute} {
			sub := fmt.Sprint(name, "-", age)
			account(t, sub, claims{"preferred_username": sub, "groups": "staff"})
			w := newWorld(t, setting{change: ofTheProvider})
			b := w.browser(sub)
			b.logIn(sub, fleet.RoleViewer)
			account(t, sub, claims{"preferred_username": sub, "groups": step.groups})
			b.wantLoggedIn(sub) // The groups of the log-in are new enough.
			w.ahead.Store(int64(age))
			if a := b.open("/ui/"); step.ends && age > time.Hour && !strings.Contains(a.text, "Log in with") {
				t.Errorf("%s: got %+v for groups that are an hour old", sub, a)
			}
			wait.Until(t, func() string {
				user, err := w.store.User(t.Context(), sub)
				if step.role == "" && fleet.CodeOf(err) == fleet.CodeNotFound || err == nil && user.Role == step.role {
					return ""
				}
				return fmt.Sprintf("%s: got %+v, %v\n%s", sub, user, err, w.log)
			})
			if a := b.open("/ui/"); strings.Contains(a.text, "Log in with") != step.ends {
				t.Errorf("%s: got %+v", sub, a)
			}
		}
	}
}

// A provider that is away ends no session: a person must be able to stop Muster then. One that gave nothing to ask
// again with has its sessions end after an hour.
func TestAProviderThatIsAwayEndsNoSession(t *testing.T) {
	t.Parallel()
	account(t, "left-alone", claims{"preferred_username": "left-alone", "groups": "staff"})
	w := newWorld(t, setting{change: ofTheProvider})
	b := w.browser("left-alone")
	b.logIn("left-alone", fleet.RoleViewer)
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	w.ahead.Store(int64(2 * time.Hour))
	if who, err := w.restarted(b, gone.URL); err != nil || who.Name != "left-alone" {
		t.Errorf("got %+v, %v", who, err)
	}
	sessions, err := w.store.Sessions(t.Context(), "left-alone")
	if err != nil || len(sessions) != 1 {
		t.Fatalf("got %+v, %v", sessions, err)
	}
	if err := w.store.PutProviderGrant(t.Context(), sessions[0].ID, fleet.NewSecret("{}")); err != nil {
		t.Fatal(err)
	}
	if who, err := w.restarted(b, ""); fleet.CodeOf(err) != fleet.CodeUnauthorized {
		t.Errorf("got %+v, %v", who, err)
	}
}

// restarted asks who is logged in with a browser, at a server that was just started. It reaches the provider at another
// address, unless that is blank.
func (w *world) restarted(b *browser, at string) (auth.Principal, error) {
	w.t.Helper()
	w.handler(setting{change: func(o *signon.Options) {
		ofTheProvider(o)
		if at != "" {
			o.Issuer = at
		}
	}})
	w.people.Issuer = issuerOf(w.t)
	r, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, w.url+"/api/v1/whoami", http.NoBody)
	if err != nil {
		w.t.Fatal(err)
	}
	r.AddCookie(&http.Cookie{Name: auth.SessionCookie, Value: b.cookies[auth.SessionCookie].Value})
	r.RemoteAddr = "127.0.0.1:1"
	r.Header.Set(auth.SessionHeader, b.half)
	return auth.NewAuthenticator(auth.NewTokens(w.store), w.people).Authenticate(r)
}

// A server that was started anew knows nothing of earlier checks, and asks before a session is used.
func TestARestartForgetsNoCheck(t *testing.T) {
	t.Parallel()
	account(t, "restarted", claims{"preferred_username": "restarted", "groups": "staff"})
	w := newWorld(t, setting{change: ofTheProvider})
	b := w.browser("restarted")
	b.logIn("restarted", fleet.RoleViewer)
	account(t, "restarted", claims{"preferred_username": "restarted", "groups": "others"})
	w.ahead.Store(int64(time.Hour))
	if who, err := w.restarted(b, ""); fleet.CodeOf(err) != fleet.CodeUnauthorized {
		t.Errorf("got %+v, %v", who, err)
	}
}
