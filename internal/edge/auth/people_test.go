package auth

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"muster/internal/adapter/seal"
	"muster/internal/adapter/store"
	"muster/internal/fleet"
)

const goodPassword = "correct horse battery"

// people are users over a real store, at a clock that the test moves.
type people struct {
	*People
	t      *testing.T
	store  *outage
	halves []string // second halves of the sessions that the test has

	mu sync.Mutex
	at time.Time     // guarded by mu; the store reads it, too
	up time.Duration // guarded by mu
}

func (p *people) now() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.at
}

func (p *people) uptime() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.up
}

// move lets time pass, or sets the clock back.
func (p *people) move(to time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.up += max(0, to.Sub(p.at))
	p.at = to
}

// set sets the clock, and no time passes.
func (p *people) set(to time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.at = to
}

// outage is a store that can be away.
type outage struct {
	*store.Store
	away error
	hook func() // nil: none; before log-ins and their failures are written
}

func (o *outage) StartSession(ctx context.Context, in fleet.LogIn) error {
	o.before()
	return o.Store.StartSession(ctx, in)
}

func (o *outage) RecordBoundedBySubject(ctx context.Context, what, subject, detail string) error {
	o.before()
	return o.Store.RecordBoundedBySubject(ctx, what, subject, detail)
}

func (o *outage) before() {
	if o.hook != nil {
		o.hook()
	}
}

func (o *outage) SessionByHash(ctx context.Context, hash string) (fleet.Session, error) {
	if o.away != nil {
		return fleet.Session{}, o.away
	}
	return o.Store.SessionByHash(ctx, hash)
}

func newPeople(t *testing.T) *people {
	t.Helper()
	p := &people{t: t, at: noon}
	key, err := seal.New(bytes.Repeat([]byte{1}, seal.KeyBytes))
	if err != nil {
		t.Fatal(err)
	}
	opened, err := store.Open(t.Context(), store.Options{Home: t.TempDir(), Seal: key, Now: p.now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = opened.Close() })
	p.store = &outage{Store: opened}
	p.People = NewPeople(PeopleOptions{Store: p.store, Log: slog.New(slog.DiscardHandler), Now: p.now, Uptime: p.uptime,
		DeviceKey: []byte("device"), Cost: cheap})
	return p
}

func (p *people) user(name string, role fleet.Role) {
	p.t.Helper()
	if _, err := p.CreateUser(p.t.Context(), fleet.User{Name: name, Role: role}, goodPassword); err != nil {
		p.t.Fatal(err)
	}
}

func (p *people) login(name string) Started {
	p.t.Helper()
	started, err := p.LogIn(p.t.Context(), name, goodPassword, Client{Address: "192.0.2.7", Browser: true})
	if err != nil {
		p.t.Fatal(err)
	}
	p.halves = append(p.halves, started.Half)
	return started
}

// who authenticates a request with this token in a cookie, and the other half of its session.
func (p *people) who(token string) (who Principal, err error) {
	for _, half := range p.halves {
		r := request("Cookie", SessionCookie+"="+token)
		r.Header.Set(SessionHeader, half)
		if who, err = NewAuthenticator(NewTokens(&memory{}), p.People).Authenticate(r); err == nil {
			break
		}
	}
	return who, err
}

// wantEnded checks that a token opens nothing, without the store, which would tell, and with it.
func (p *people) wantEnded(token, why string) {
	p.t.Helper()
	for _, away := range []error{errors.New("away"), nil} {
		p.store.away = away
		if who, err := p.who(token); err == nil {
			p.t.Errorf("%s: got %+v, store %v", why, who, away)
		}
	}
	p.store.away = nil
}

func (p *people) wantOpen(token, why string) Principal {
	p.t.Helper()
	who, err := p.who(token)
	if err != nil {
		p.t.Fatalf("%s: got %v", why, err)
	}
	return who
}

func TestAUserLogsInWithACookieAndAHeader(t *testing.T) {
	p := newPeople(t)
	p.user("Anna", fleet.RoleOperator)
	started := p.login("ANNA")
	program, err := p.LogIn(t.Context(), "anna", goodPassword, Client{})
	if err != nil || program.Half != "" {
		t.Fatalf("got %+v, %v", program, err)
	}
	if !strings.HasPrefix(started.Token, sessionPrefix) || strings.Contains(fmt.Sprint(started.Session), started.Token) {
		t.Errorf("got %+v", started)
	}
	a := NewAuthenticator(NewTokens(&memory{}), p.People)
	for header, want := range map[string]Credential{
		"Authorization: Bearer " + program.Token:                      CredentialSession,
		"X-API-Key: " + program.Token:                                 CredentialSession,
		"Cookie: a=b; " + SessionCookie + "=" + started.Token:         CredentialCookie,
		"Cookie: " + HostPrefix + SessionCookie + "=" + started.Token: CredentialCookie,
	} {
		name, value, _ := strings.Cut(header, ": ")
		r, session := request(name, value), program
		if want == CredentialCookie {
			session = started
			r.Header.Set(SessionHeader, started.Half)
		}
		who, err := a.Authenticate(r)
		if err != nil || who.Name != "anna" || who.Role != fleet.RoleOperator || who.Credential != want ||
			who.Session != session.Session.ID || !who.ExpiresAt.Equal(noon.Add(DefaultSessionTimes.Life)) {
			t.Errorf("%s: got %+v, %v", header, who, err)
		}
	}
	both := request("Cookie", SessionCookie+"="+started.Token)
	both.Header.Set("Authorization", "Bearer wrong")
	inURL := request("", "")
	inURL.URL.RawQuery = "token=" + started.Token + "&access_token=" + started.Token
	for name, r := range map[string]*http.Request{"a header counts more": both, "in the URL": inURL,
		"the hash": request("Cookie", SessionCookie+"="+started.Session.Hash),
		"the ID":   request("Cookie", SessionCookie+"="+sessionPrefix+started.Session.ID)} {
		if who, err := a.Authenticate(r); fleet.CodeOf(err) != fleet.CodeUnauthorized {
			t.Errorf("%s: got %+v, %v", name, who, err)
		}
	}
}

// The cookie without __Host- can be set by another host or port, and counts on this machine only.
func TestAPlainCookieCountsOverLoopbackOnly(t *testing.T) {
	p := newPeople(t)
	p.user("anna", fleet.RoleViewer)
	started := p.login("anna")
	token := started.Token
	a := NewAuthenticator(NewTokens(&memory{}), p.People)
	for host, want := range map[string]bool{
		"localhost": true, "127.0.0.1:2525": true, "[::1]:2525": true, "muster.example": false, "192.0.2.1:2525": false,
	} {
		r := request("Cookie", SessionCookie+"="+token)
		r.Header.Set(SessionHeader, started.Half)
		r.Host = host
		if _, err := a.Authenticate(r); (err == nil) != want {
			t.Errorf("%s: got %v", host, err)
		}
		r.Header.Set("Cookie", HostPrefix+SessionCookie+"="+token)
		if _, err := a.Authenticate(r); err != nil {
			t.Errorf("%s: got %v", host, err)
		}
	}
}

// Whether a user exists must not be told by the time that an answer takes: every failure costs one hash.
func TestEveryFailedLogInCostsOneHash(t *testing.T) {
	p := newPeople(t)
	p.user("anna", fleet.RoleViewer)
	if _, err := p.CreateUser(t.Context(), fleet.User{Name: "invited", Role: fleet.RoleViewer}, ""); err != nil {
		t.Fatal(err)
	}
	var answers []string
	for _, name := range []string{"anna", "invited", "nobody", "no name", "", strings.Repeat("x", 5000)} {
		for _, password := range []string{"wrong password", "", "\xff", strings.Repeat("long ", 1<<18)} {
			before := p.passwords.made.Load()
			_, err := p.LogIn(t.Context(), name, password, Client{Address: name})
			if made := p.passwords.made.Load() - before; made != 1 {
				t.Errorf("%.10q with %q: %d hashes", name, password, made)
			}
			answers = append(answers, err.Error())
		}
	}
	for _, answer := range answers {
		if answer != answers[0] {
			t.Errorf("got %q, and %q for another name", answer, answers[0])
		}
	}
	entries, err := p.store.Audit(t.Context(), fleet.AuditQuery{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	failures := map[string]int{}
	for _, e := range entries {
		if e.What == "login.fail" {
			failures[e.Subject]++
			if e.Who != fleet.Anonymous || e.Subject != "" && e.Subject != "anna" && e.Subject != "invited" {
				t.Errorf("got %+v: what is no user may be a password", e)
			}
		}
	}
	if want := map[string]int{"anna": 4, "invited": 4, "": 5}; !maps.Equal(failures, want) {
		t.Errorf("got the failures %v in the audit, want %v", failures, want)
	}
}

func TestGuessingIsLimitedAndCostsNoHash(t *testing.T) {
	p := newPeople(t)
	p.user("anna", fleet.RoleViewer)
	device := p.login("anna").Device
	guess := func(from Client) error {
		_, err := p.LogIn(t.Context(), "Anna", "wrong password", from)
		return err
	}
	for n := range perAccount.burst {
		if err := guess(Client{Address: fmt.Sprint("192.0.2.", n)}); fleet.CodeOf(err) != fleet.CodeUnauthorized {
			t.Fatalf("guess %d: got %v", n, err)
		}
	}
	before := p.passwords.made.Load()
	for _, from := range []Client{{Address: "198.51.100.1"}, {Address: "192.0.2.1", Device: "forged"},
		{Address: "192.0.2.1", Device: hashOf(device)}} {
		if err := guess(from); fleet.CodeOf(err) != fleet.CodeTooMany {
			t.Errorf("%+v: got %v", from, err)
		}
	}
	if made := p.passwords.made.Load() - before; made != 0 {
		t.Errorf("%d hashes were made for what is refused", made)
	}
	if _, err := p.LogIn(t.Context(), "anna", goodPassword, Client{Address: "203.0.113.1"}); fleet.CodeOf(err) !=
		fleet.CodeTooMany {
		t.Errorf("got %v from an unknown device", err)
	}
	started, err := p.LogIn(t.Context(), "anna", goodPassword, Client{Address: "203.0.113.1", Device: device})
	if err != nil || started.Device != device {
		t.Errorf("got %v: a device that logged in before is kept out", err)
	}
	p.user("bert", fleet.RoleViewer)
	from := Client{Address: "203.0.113.1", Device: device}
	if _, err := p.LogIn(t.Context(), "bert", "wrong password", from); err == nil ||
		p.knows(fleet.User{Name: "bert", Password: "x"}, device) {
		t.Errorf("the device cookie of one user counts for another, %v", err)
	}
	p.move(p.now().Add(perAccount.interval))
	if _, err := p.LogIn(t.Context(), "anna", goodPassword, Client{Address: "203.0.113.1"}); err != nil {
		t.Errorf("got %v after an interval", err)
	}
}

func TestADearerHashIsMadeAtTheNextLogIn(t *testing.T) {
	p := newPeople(t)
	p.user("anna", fleet.RoleViewer)
	before := p.login("anna")
	dearer := PasswordCost{MemoryKiB: 128, Passes: 2, Lanes: 1}
	p.passwords = newPasswords(dearer)
	after := p.login("anna")
	user, err := p.User(t.Context(), "anna")
	if err != nil || !strings.Contains(user.Password, "$m=128,t=2,p=1$") {
		t.Errorf("got %q, %v", user.Password, err)
	}
	p.wantOpen(before.Token, "the session of before")
	if after.Device == before.Device {
		t.Error("the device cookie does not hold for the new hash")
	}
	if third := p.login("anna"); third.Device != after.Device {
		t.Error("the hash is made anew each time")
	}
}

func TestSessionsEndByTheClock(t *testing.T) {
	p := newPeople(t)
	p.user("anna", fleet.RoleViewer)
	idle, used := p.login("anna").Token, p.login("anna").Token
	for range 7 {
		p.wantOpen(used, "used once a day")
		p.noteUsed(t.Context())
		p.move(p.now().Add(DefaultSessionTimes.Idle - time.Second))
	}
	p.wantEnded(idle, "idle for days")
	p.wantOpen(used, "a minute before a week is over")
	if sessions, err := p.Sessions(t.Context(), Principal{Name: "anna", Role: fleet.RoleViewer,
		Session: "x"}); err != nil || len(sessions) != 1 {
		t.Errorf("got %+v, %v, want the one that goes on", sessions, err)
	}
	p.noteUsed(t.Context())
	p.move(noon.Add(DefaultSessionTimes.Life))
	p.wantEnded(used, "after a week")
	idle = p.login("anna").Token
	p.wantOpen(idle, "new")
	p.noteUsed(t.Context())
	p.move(p.now().Add(DefaultSessionTimes.Idle))
	p.wantEnded(idle, "not used for a day")
}

// A time of the last use that lay ahead, written by another program, kept a session from ever being idle.
func TestASessionThatWasUsedInTheFutureIsRefused(t *testing.T) {
	p := newPeople(t)
	p.user("anna", fleet.RoleViewer)
	token := p.login("anna").Token
	p.move(noon.Add(clockSkew))
	p.wantOpen(token, "used now")
	p.noteUsed(t.Context())
	p.move(noon)
	p.wantOpen(token, "the clock was set back a little")
	p.move(noon.Add(-time.Second))
	p.wantEnded(token, "used long after now")
}

func TestASessionEndsWithItsUsersPasswordRoleAndWord(t *testing.T) {
	p := newPeople(t)
	p.user("root", fleet.RoleAdmin)
	root := Principal{Name: "root", Role: fleet.RoleAdmin, Session: "x"}
	for name, end := range map[string]func(who Principal) error{
		"log-out": func(who Principal) error { return p.LogOut(t.Context(), who) },
		"own":     func(who Principal) error { return p.EndSession(t.Context(), who, who.Session) },
		"admin":   func(who Principal) error { return p.EndSession(t.Context(), root, who.Session) },
		"role": func(Principal) error {
			_, err := p.PutUser(t.Context(), fleet.PutUser{Name: "anna", Role: new(fleet.RoleAuthor)}, "")
			return err
		},
		"password": func(Principal) error {
			_, err := p.PutUser(t.Context(), fleet.PutUser{Name: "anna", Role: new(fleet.RoleViewer)}, "another password")
			return err
		},
		"own password": func(who Principal) error {
			_, err := p.ChangePassword(t.Context(), who, goodPassword, "another password", Client{})
			return err
		},
		"user": func(Principal) error { return p.DeleteUser(t.Context(), "Anna") },
	} {
		p.user("anna", fleet.RoleViewer)
		token := p.login("anna").Token
		if err := end(p.wantOpen(token, name)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		p.wantEnded(token, name)
		if err := p.DeleteUser(t.Context(), "anna"); err != nil && name != "user" {
			t.Fatal(err)
		}
	}
}

func TestNobodyEndsTheSessionOfAnother(t *testing.T) {
	p := newPeople(t)
	p.user("anna", fleet.RoleViewer)
	p.user("bert", fleet.RoleAuthor)
	anna, bert := p.login("anna"), p.login("bert")
	who := p.wantOpen(bert.Token, "bert")
	program := Principal{Name: "anna", Role: fleet.RoleAuthor, Credential: CredentialToken} // a token of this name
	for _, other := range []Principal{who, program} {
		if err := p.EndSession(t.Context(), other, anna.Session.ID); fleet.CodeOf(err) != fleet.CodeNotFound {
			t.Errorf("%+v: got %v", other, err)
		}
	}
	if got, err := p.Sessions(t.Context(), who); err != nil || len(got) != 1 || got[0].User != "bert" {
		t.Errorf("got %+v, %v", got, err)
	}
	if got, err := p.Sessions(t.Context(), program); err != nil || len(got) != 0 {
		t.Errorf("got %+v, %v", got, err)
	}
	if err := p.LogOut(t.Context(), program); fleet.CodeOf(err) != fleet.CodeConflict {
		t.Errorf("got %v", err)
	}
	p.wantOpen(anna.Token, "anna")
}

func TestTheTokenOfACookieRotates(t *testing.T) {
	p := newPeople(t)
	p.user("anna", fleet.RoleViewer)
	first := p.login("anna").Token
	renew := func(token string) string {
		return p.Renew(t.Context(), p.wantOpen(token, "before it is renewed"), token)
	}
	if got := renew(first); got != "" {
		t.Error("a new token is replaced")
	}
	p.move(p.now().Add(rotateEvery))
	who := p.wantOpen(first, "an hour old")
	second := p.Renew(t.Context(), who, first)
	if second == "" || second == first {
		t.Fatalf("got %q", second)
	}
	if again := p.Renew(t.Context(), who, first); again != "" {
		t.Error("a request at the same time gets another token")
	}
	if got := renew(first); got != "" {
		t.Error("a request a moment later gets another token")
	}
	p.move(p.now().Add(rotateAgain)) // the answer with the second one was lost
	third := renew(first)
	if third == "" {
		t.Fatal("a client that did not get its new token gets no other")
	}
	p.wantEnded(second, "nobody got it")
	p.wantOpen(first, "for requests that are under way")
	p.move(p.now().Add(rotateGrace))
	p.wantEnded(first, "replaced")
	who = p.wantOpen(third, "the newest")
	who.Credential = CredentialSession
	p.move(p.now().Add(rotateEvery))
	if got := p.Renew(t.Context(), who, third); got != "" {
		t.Error("the token of a program is replaced, which it would not learn")
	}
}

func TestASessionIsKnownWhileTheStoreIsAway(t *testing.T) {
	p := newPeople(t)
	p.user("anna", fleet.RoleOperator)
	used, unused := p.login("anna").Token, p.login("anna").Token
	p.wantOpen(used, "at first")
	p.store.away = &fleet.Error{Code: fleet.CodeUnavailable, Message: "away"}
	if who := p.wantOpen(used, "while the store is away"); who.Role != fleet.RoleOperator {
		t.Errorf("got %+v", who)
	}
	if _, err := p.who(unused); fleet.CodeOf(err) != fleet.CodeUnavailable {
		t.Errorf("got %v: of a token that was not used it is not known whether it is wrong", err)
	}
	p.move(p.now().Add(DefaultSessionTimes.Idle))
	if _, err := p.who(used); err == nil {
		t.Error("a session goes on after its end")
	}
}

func TestOnlyTheCurrentPasswordAllowsAnother(t *testing.T) {
	p := newPeople(t)
	p.user("anna", fleet.RoleViewer)
	who := p.wantOpen(p.login("anna").Token, "anna")
	for name, test := range map[string]struct {
		who            Principal
		current, other string
		want           fleet.Code
	}{
		"wrong": {who, "wrong password", "another password", fleet.CodeForbidden},
		"weak":  {who, goodPassword, "short", fleet.CodeInvalid},
		"a token": {Principal{Name: "anna", Credential: CredentialToken}, goodPassword, "another password",
			fleet.CodeConflict},
	} {
		if _, err := p.ChangePassword(t.Context(), test.who, test.current, test.other, Client{}); fleet.CodeOf(err) !=
			test.want {
			t.Errorf("%s: got %v", name, err)
		}
	}
	p.login("anna")
	started, err := p.ChangePassword(t.Context(), who, goodPassword, "another password", Client{})
	if err != nil {
		t.Fatal(err)
	}
	p.halves = append(p.halves, started.Half)
	p.wantOpen(started.Token, "after the change")
	if _, err := p.LogIn(t.Context(), "anna", goodPassword, Client{}); fleet.CodeOf(err) != fleet.CodeUnauthorized {
		t.Errorf("got %v for the password of before", err)
	}
}

func TestTheFirstAdministratorComesByALink(t *testing.T) {
	p := newPeople(t)
	first := func() string {
		t.Helper()
		code, err := p.FirstLink(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return code
	}
	replaced, code := first(), first()
	for wrong, why := range map[string]string{replaced: "replaced", "": "none", "x": "made up", hashOf(code): "the hash"} {
		before := p.passwords.made.Load()
		if _, err := p.UseLink(t.Context(), wrong, "eve", goodPassword, Client{}); fleet.CodeOf(err) !=
			fleet.CodeNotFound || p.passwords.made.Load() != before {
			t.Errorf("%s: got %v", why, err)
		}
	}
	for _, bad := range [][2]string{{"muster", goodPassword}, {"anna", "short"}, {"an na", goodPassword}} {
		if _, err := p.UseLink(t.Context(), code, bad[0], bad[1], Client{}); fleet.CodeOf(err) != fleet.CodeInvalid {
			t.Errorf("%v: got %v", bad, err) // the link stays
		}
	}
	started, err := p.UseLink(t.Context(), code, "Anna", goodPassword, Client{Address: "127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	p.halves = append(p.halves, started.Half)
	if who := p.wantOpen(started.Token, "by link"); who.Name != "anna" || who.Role != fleet.RoleAdmin {
		t.Errorf("got %+v", who)
	}
	if _, err := p.UseLink(t.Context(), code, "eve", goodPassword, Client{}); fleet.CodeOf(err) != fleet.CodeNotFound {
		t.Errorf("got %v for a link that was used", err)
	}
	if got := first(); got != "" {
		t.Error("there is a first link although an administrator can log in")
	}
	p.login("anna")
	p.user("bert", fleet.RoleViewer)
	code, link, err := p.NewLink(t.Context(), "Bert", 0)
	if err != nil || link.User != "bert" {
		t.Fatalf("got %+v, %v", link, err)
	}
	if started, err = p.UseLink(t.Context(), code, "anna", "another password", Client{}); err != nil {
		t.Fatal(err)
	}
	p.halves = append(p.halves, started.Half)
	if who := p.wantOpen(started.Token, "bert"); who.Name != "bert" || who.Role != fleet.RoleViewer {
		t.Errorf("got %+v: the link is for another user", who)
	}
	if code, _, err = p.NewLink(t.Context(), "bert", 0); err != nil {
		t.Fatal(err)
	}
	p.move(p.now().Add(linkLife))
	if _, err := p.UseLink(t.Context(), code, "", goodPassword, Client{}); fleet.CodeOf(err) != fleet.CodeNotFound {
		t.Errorf("got %v after 15 minutes", err)
	}
	if code, link, err = p.NewLink(t.Context(), "bert", mostLinkLife); err != nil ||
		!link.ExpiresAt.Equal(p.now().Add(mostLinkLife).UTC().Truncate(time.Millisecond)) {
		t.Fatalf("got %+v, %v", link, err)
	}
	p.move(p.now().Add(mostLinkLife - time.Minute))
	if _, err := p.Link(t.Context(), code); err != nil {
		t.Errorf("got %v within the day that was chosen", err)
	}
	p.move(p.now().Add(time.Minute))
	if _, err := p.Link(t.Context(), code); fleet.CodeOf(err) != fleet.CodeNotFound {
		t.Errorf("got %v after a day", err)
	}
	for _, wrong := range []struct {
		user string
		life time.Duration
	}{{"bert", mostLinkLife + 1}, {"bert", -1}, {"", time.Hour}, {"anna", time.Hour}} {
		if _, _, err := p.NewLink(t.Context(), wrong.user, wrong.life); fleet.CodeOf(err) != fleet.CodeInvalid {
			t.Errorf("%+v: got %v", wrong, err)
		}
	}
}

func TestRunNotesTheUseOfSessionsAndEnds(t *testing.T) {
	p := newPeople(t)
	p.user("anna", fleet.RoleViewer)
	started := p.login("anna")
	p.move(p.now().Add(time.Hour))
	p.wantOpen(started.Token, "an hour later")
	p.noteUsed(t.Context())
	if got, err := p.store.SessionByHash(t.Context(), started.Session.Hash); err != nil ||
		!got.LastUsedAt.Equal(noon.Add(time.Hour)) {
		t.Errorf("got %+v, %v", got, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
