package auth

import (
	"net/http"
	"testing"

	"muster/internal/fleet"
)

// Browsers send a cookie to every port of a host: another program on the machine replayed it as its administrator.
func TestTheCookieOfASessionAloneProvesNothing(t *testing.T) {
	p := newPeople(t)
	p.user("anna", fleet.RoleAdmin)
	stolen, own := p.login("anna"), p.login("anna")
	a := NewAuthenticator(NewTokens(&memory{}), p.People)
	program, err := p.LogIn(t.Context(), "anna", goodPassword, Client{})
	if err != nil {
		t.Fatal(err)
	}
	for name, headers := range map[string][2]string{
		"the cookie":                    {"Cookie", SessionCookie + "=" + stolen.Token},
		"the cookie as a token":         {"X-API-Key", stolen.Token},
		"the cookie as a bearer":        {"Authorization", "Bearer " + stolen.Token},
		"the half as a token":           {"X-API-Key", stolen.Half},
		"the half in a cookie":          {"Cookie", SessionCookie + "=" + stolen.Half},
		"a program's token as a cookie": {"Cookie", SessionCookie + "=" + program.Token},
	} {
		for _, half := range []string{"", own.Half, stolen.Session.Half, stolen.Token, halfPrefix} {
			r := request(headers[0], headers[1])
			r.Header.Set(SessionHeader, half)
			if who, err := a.Authenticate(r); fleet.CodeOf(err) != fleet.CodeUnauthorized || who.Role != "" {
				t.Errorf("%s with %q: got %+v, %v", name, half, who, err)
			}
		}
	}
	r := request(SessionHeader, stolen.Half)
	if who, err := a.Authenticate(r); fleet.CodeOf(err) != fleet.CodeUnauthorized {
		t.Errorf("the half alone: got %+v, %v", who, err)
	}
	r.Header.Set("Cookie", SessionCookie+"="+stolen.Token)
	if who, err := a.Authenticate(r); err != nil || who.Name != "anna" {
		t.Errorf("both halves: got %+v, %v", who, err)
	}
}

// A thief who holds the cookie must not keep the session from ending when its owner is gone.
func TestACookieAloneDoesNotKeepASessionOpen(t *testing.T) {
	p := newPeople(t)
	p.user("anna", fleet.RoleViewer)
	started := p.login("anna")
	p.move(p.now().Add(DefaultSessionTimes.Idle / 2))
	if _, err := NewAuthenticator(NewTokens(&memory{}), p.People).Authenticate(
		request("Cookie", SessionCookie+"="+started.Token)); err == nil {
		t.Fatal("the cookie alone is believed")
	}
	p.noteUsed(t.Context())
	p.move(p.now().Add(DefaultSessionTimes.Idle/2 + 1))
	p.wantEnded(started.Token, "not used for a day")
}

func TestACodeIsExchangedOnceAndSoon(t *testing.T) {
	p := newPeople(t)
	p.user("anna", fleet.RoleViewer)
	started := p.login("anna")
	code, err := p.Code(started)
	if err != nil {
		t.Fatal(err)
	}
	got, err := p.Exchange(t.Context(), code)
	if err != nil || got.Token != started.Token || got.Half != started.Half || got.Device != started.Device ||
		!got.Session.ExpiresAt.Equal(started.Session.ExpiresAt) {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := p.Exchange(t.Context(), code); fleet.CodeOf(err) != fleet.CodeConflict {
		t.Errorf("a second time: got %v", err)
	}
	if code, err = p.Code(started); err != nil {
		t.Fatal(err)
	}
	p.move(p.now().Add(codeLife))
	for _, wrong := range []string{code, "", "x", started.Token} {
		if _, err := p.Exchange(t.Context(), wrong); fleet.CodeOf(err) != fleet.CodeUnauthorized {
			t.Errorf("%q: got %v", wrong, err)
		}
	}
}

func TestATicketReadsOnePathOnce(t *testing.T) {
	p := newPeople(t)
	p.user("anna", fleet.RoleViewer)
	started := p.login("anna")
	a := NewAuthenticator(NewTokens(&memory{}), p.People)
	const path = "/api/v1/openapi.json"
	ticket := func() string {
		t.Helper()
		text, _, err := p.Ticket(p.wantOpen(started.Token, "anna"), path)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	use := func(method, text, path string) (Principal, error) {
		r := request("Cookie", SessionCookie+"="+started.Token)
		r.Method = method
		return a.Authenticate(r.WithContext(WithTicket(t.Context(), text, path)))
	}
	refused := func(what, method, text, path string) {
		t.Helper()
		if who, err := use(method, text, path); fleet.CodeOf(err) != fleet.CodeUnauthorized {
			t.Errorf("%s: got %+v, %v", what, who, err)
		}
	}
	first := ticket()
	refused("another path", http.MethodGet, first, path+"?x=1")
	refused("a write", http.MethodPost, first, path)
	if who, err := use(http.MethodGet, first, path); err != nil || who.Name != "anna" || who.Role != fleet.RoleViewer {
		t.Errorf("got %+v, %v", who, err)
	}
	refused("a second time", http.MethodGet, first, path)
	late := ticket()
	p.move(p.now().Add(ticketLife))
	refused("late", http.MethodGet, late, path)
	ended := ticket()
	if err := p.LogOut(t.Context(), p.wantOpen(started.Token, "anna")); err != nil {
		t.Fatal(err)
	}
	refused("the session has ended", http.MethodGet, ended, path)
	if _, _, err := p.Ticket(Principal{Name: "ci", Credential: CredentialToken}, path); fleet.CodeOf(err) !=
		fleet.CodeConflict {
		t.Errorf("a program: got %v", err)
	}
}
