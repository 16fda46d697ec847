package auth

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"muster/internal/fleet"
)

// wantEnded checks that a token's text is refused, with a reason that says why.
func wantEnded(t *testing.T, a *Authenticator, secret, reason string) {
	t.Helper()
	p, err := a.Authenticate(request("X-API-Key", secret))
	var e *fleet.Error
	if !errors.As(err, &e) || e.Code != fleet.CodeUnauthorized || !strings.Contains(e.Message, reason) || e.Hint == "" {
		t.Errorf("got %+v, %v; want it refused because it %s", p, err, reason)
	}
}

func wantGood(t *testing.T, a *Authenticator, secret, name string) {
	t.Helper()
	if p, err := a.Authenticate(request("X-API-Key", secret)); err != nil || p.Name != name {
		t.Errorf("got %+v, %v; want %s", p, err, name)
	}
}

func TestATokenEndsWhenItExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tokens := NewTokens(&memory{})
		secret, _, err := tokens.Create(t.Context(), fleet.Token{Name: "ci", Role: fleet.RoleViewer,
			ExpiresAt: time.Now().Add(time.Hour)})
		if err != nil {
			t.Fatal(err)
		}
		a := NewAuthenticator(tokens, nil)
		time.Sleep(time.Hour - time.Second)
		wantGood(t, a, secret, "ci")
		time.Sleep(2 * time.Second)
		wantEnded(t, a, secret, "expired")
	})
}

func TestARotatedTokenHasTwoTextsDuringTheOverlapOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tokens := NewTokens(&memory{})
		a := NewAuthenticator(tokens, nil)
		first, _, err := tokens.Create(t.Context(), fleet.Token{Name: "ci", Role: fleet.RoleOperator,
			Scope: fleet.ScopeOf([]fleet.Tag{"office"}), ExpiresAt: time.Now().Add(240 * time.Hour)})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(200 * time.Hour)
		second, token, err := tokens.Rotate(t.Context(), "ci", Rotation{Overlap: time.Hour})
		if err != nil || second == first {
			t.Fatal(second, err)
		}
		if left := time.Until(token.ExpiresAt); left != 240*time.Hour || token.Scope.String() != "office" {
			t.Errorf("got %+v with %s left, want the role, scope and lifetime of before", token, left)
		}
		wantGood(t, a, first, "ci")
		wantGood(t, a, second, "ci")
		third, _, err := tokens.Rotate(t.Context(), "ci", Rotation{Overlap: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		wantEnded(t, a, first, "not known")
		wantGood(t, a, second, "ci")
		time.Sleep(time.Hour)
		wantEnded(t, a, second, "rotated")
		wantGood(t, a, third, "ci")
		if _, _, err := tokens.Rotate(t.Context(), "nobody", Rotation{}); fleet.CodeOf(err) != fleet.CodeNotFound {
			t.Errorf("got %v for a token that is not there", err)
		}
		for _, wrong := range []Rotation{{Overlap: -1}, {Overlap: MaxOverlap + 1}, {Lifetime: -1}} {
			if _, _, err := tokens.Rotate(t.Context(), "ci", wrong); fleet.CodeOf(err) != fleet.CodeInvalid {
				t.Errorf("%+v: got %v", wrong, err)
			}
		}
	})
}

func TestAnOverlapDoesNotOutliveTheOldText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tokens := NewTokens(&memory{})
		a := NewAuthenticator(tokens, nil)
		first, _, err := tokens.Create(t.Context(), fleet.Token{Name: "ci", Role: fleet.RoleViewer,
			ExpiresAt: time.Now().Add(time.Hour)})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Hour)
		wantEnded(t, a, first, "expired")
		second, _, err := tokens.Rotate(t.Context(), "ci", Rotation{Overlap: 24 * time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		wantEnded(t, a, first, "rotated")
		wantGood(t, a, second, "ci")
	})
}

func TestARotationWithoutOverlapEndsTheOldTextAlsoWhileTokensCannotBeRead(t *testing.T) {
	store := &stuck{}
	tokens := NewTokens(store)
	a := NewAuthenticator(tokens, nil)
	first, _, err := NewTokens(&store.memory).Create(t.Context(), fleet.Token{Name: "ci", Role: fleet.RoleViewer})
	if err != nil {
		t.Fatal(err)
	}
	wantGood(t, a, first, "ci")
	second, _, err := tokens.Rotate(t.Context(), "ci", Rotation{})
	if err != nil {
		t.Fatal(err)
	}
	store.away = errors.New("away")
	wantGood(t, a, second, "ci")
	wantEnded(t, a, first, "rotated")
}

func TestAnExpiredAdministratorIsNoneThatIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tokens := NewTokens(&memory{})
		for name, ends := range map[string]time.Time{"forever": {}, "brief": time.Now().Add(time.Hour)} {
			wanted := fleet.Token{Name: name, Role: fleet.RoleAdmin, ExpiresAt: ends}
			if _, _, err := tokens.Create(t.Context(), wanted); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(2 * time.Hour)
		if err := tokens.Delete(t.Context(), "forever"); fleet.CodeOf(err) != fleet.CodeConflict {
			t.Errorf("got %v: only an expired administrator is left", err)
		}
		if err := tokens.Delete(t.Context(), "brief"); err != nil {
			t.Error(err)
		}
	})
}

func TestUsesOfTokensAreWrittenOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{}
		tokens := NewTokens(store)
		secret, _, err := tokens.Create(t.Context(), fleet.Token{Name: "ci", Role: fleet.RoleViewer})
		if err != nil {
			t.Fatal(err)
		}
		a := NewAuthenticator(tokens, nil)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- tokens.Run(ctx) }()
		use := func(from string) {
			r := request("X-API-Key", secret)
			r.RemoteAddr = from
			if _, err := a.Authenticate(r); err != nil {
				t.Error(err)
			}
		}
		for range 100 {
			time.Sleep(time.Second)
			use("192.0.2.7:1")
		}
		synctest.Wait()
		if store.usesWritten != 1 {
			t.Errorf("written %d times in 100 s", store.usesWritten)
		}
		store.broken = errors.New("away")
		use("[2001:db8::1]:2")
		time.Sleep(time.Minute)
		synctest.Wait()
		store.broken = nil
		cancel()
		<-done
		if last := store.tokens[0].LastUse.From; last != "2001:db8::1" {
			t.Errorf("the use before the stop is lost: got %q", last)
		}
		written := store.usesWritten
		ctx, cancel = context.WithCancel(t.Context())
		go func() { done <- tokens.Run(ctx) }()
		time.Sleep(10 * time.Minute)
		cancel()
		<-done
		if store.usesWritten != written {
			t.Error("a use was written twice")
		}
	})
}

func TestNamesThatTheAuditUsesAreReserved(t *testing.T) {
	tokens := NewTokens(&memory{})
	for _, name := range []string{"muster", "daemon", "template", "Muster", "TEMPLATE"} {
		_, _, err := tokens.Create(t.Context(), fleet.Token{Name: name, Role: fleet.RoleViewer})
		if fleet.CodeOf(err) != fleet.CodeInvalid || !strings.Contains(err.Error(), "reserved") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestAuthorsAndAdministratorsHaveNoScope(t *testing.T) {
	tokens := NewTokens(&memory{})
	scope := fleet.ScopeOf([]fleet.Tag{"office"})
	for role, code := range map[fleet.Role]fleet.Code{fleet.RoleViewer: "", fleet.RoleOperator: "",
		fleet.RoleAuthor: fleet.CodeInvalid, fleet.RoleAdmin: fleet.CodeInvalid} {
		secret, _, err := tokens.Create(t.Context(), fleet.Token{Name: "a " + string(role), Role: role, Scope: scope})
		if fleet.CodeOf(err) != code {
			t.Errorf("%s: got %v", role, err)
		}
		if code != "" {
			continue
		}
		p, err := NewAuthenticator(tokens, nil).Authenticate(request(http.CanonicalHeaderKey("X-API-Key"), secret))
		if err != nil || p.Scope != scope {
			t.Errorf("%s: got %+v, %v", role, p, err)
		}
	}
}

// A person who gets another text of a token acts with it as themselves, and not as the person who had it before.
func TestTheTextOfATokenStandsForThePersonWhoWasGivenIt(t *testing.T) {
	tokens := NewTokens(&memory{})
	a := NewAuthenticator(tokens, nil)
	by := func(user string) context.Context { return fleet.WithPerson(t.Context(), user) }
	wantPerson := func(secret, want string) {
		t.Helper()
		if p, err := a.Authenticate(request("X-API-Key", secret)); err != nil || p.Person != want {
			t.Errorf("got %+v, %v; want the person %q", p, err, want)
		}
	}
	rotate := func(user string) (secret string) {
		t.Helper()
		secret, token, err := tokens.Rotate(by(user), "ci", Rotation{Overlap: time.Hour})
		if err != nil || token.Owner != user {
			t.Fatal(token, err)
		}
		return secret
	}
	first, token, err := tokens.Create(by("anna"), fleet.Token{Name: "ci", Role: fleet.RoleAdmin, Owner: "bert"})
	if err != nil || token.Owner != "anna" {
		t.Fatal(token, err)
	}
	wantPerson(first, "anna")
	second := rotate("bert")
	wantPerson(first, "anna")
	wantPerson(second, "bert")
	third := rotate("")
	wantPerson(second, "bert")
	wantPerson(third, "")
}
