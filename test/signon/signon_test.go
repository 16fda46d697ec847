package signon_test

import (
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"muster/internal/adapter/signon"
	"muster/internal/edge/auth"
	"muster/internal/fleet"
)

func TestAPersonLogsInByTheProviderAndOut(t *testing.T) {
	t.Parallel()
	account(t, "in-and-out", claims{"preferred_username": "Anna", "groups": []string{"staff", "muster-admins"}})
	w := newWorld(t, setting{})
	b := w.browser("in-and-out")
	if a := b.open("/ui/login"); !strings.Contains(a.text, `href="../ui/login/single-sign-on"`) {
		t.Errorf("got %+v, want a button", a)
	}
	b.logIn("anna", fleet.RoleAdmin)
	if b.cookies[auth.SignOnCookie] != nil || b.cookies[auth.DeviceCookie] != nil {
		t.Errorf("got the cookies %v, want that of the session only", b.cookies)
	}
	user, err := w.store.User(t.Context(), "anna")
	if err != nil || user.Identity != (fleet.Identity{Issuer: issuerOf(t), Subject: "in-and-out"}) || user.Password != "" {
		t.Errorf("got %+v, %v", user, err)
	}
	out := b.ask(http.MethodPost, w.url+"/ui/logout", false)
	end := strings.ReplaceAll(out.text, "&amp;", "&")
	start := strings.Index(end, issuerOf(t)+"/session/end")
	if out.status != http.StatusOK || start < 0 {
		t.Fatalf("got %+v, want a way to log out of the provider", out)
	}
	link, _, _ := strings.Cut(end[start:], `"`)
	if a := b.ask(http.MethodGet, link, true); a.status != http.StatusOK || !strings.Contains(a.text, "op.logoutForm") {
		t.Errorf("%s: got %+v, want the provider to ask", link, a)
	}
	if a := b.open("/ui/"); !strings.Contains(a.text, "Log in with Example ID") {
		t.Errorf("got %+v, want the log-in page", a)
	}
}

// Where the code is used again by another who saw it, with all cookies, it starts no session.
func TestACodeWorksOnce(t *testing.T) {
	t.Parallel()
	account(t, "replayed", claims{"preferred_username": "replayed", "groups": "staff"})
	w := newWorld(t, setting{})
	b := w.browser("replayed")
	back := b.begin()
	thief := w.browser("")
	thief.cookies[auth.SignOnCookie] = b.cookies[auth.SignOnCookie]
	if a := b.goBack(back); a.status != http.StatusOK {
		t.Fatalf("got %+v", a)
	}
	thief.wantRefused(thief.goBack(back), http.StatusUnauthorized, "finished before")
	b.wantLoggedIn("replayed")
}

func (b *browser) wantLoggedIn(user string) {
	b.w.t.Helper()
	if a := b.open("/ui/"); !strings.Contains(a.text, "<strong>"+user+"</strong>") {
		b.w.t.Errorf("got %+v, want %s logged in", a, user)
	}
}

// An attempt starts one session, also where the provider gives two codes for it.
func TestAnAttemptStartsOneSession(t *testing.T) {
	t.Parallel()
	account(t, "twice", claims{"preferred_username": "twice", "groups": "staff"})
	w := newWorld(t, setting{})
	b := w.browser("twice")
	first := b.ask(http.MethodGet, w.url+"/ui/login/single-sign-on", false)
	begun := b.cookies[auth.SignOnCookie]
	way := func() *url.URL {
		a := b.ask(http.MethodGet, first.to, true)
		for hops := 0; hops < 12 && !strings.HasPrefix(a.to, w.url+"/"); hops++ {
			a = b.ask(http.MethodGet, a.to, true)
		}
		back, err := url.Parse(a.to)
		if err != nil {
			t.Fatal(err)
		}
		return back
	}
	one, two := way(), way()
	if a := b.goBack(one); a.status != http.StatusOK {
		t.Fatalf("got %+v", a)
	}
	other := w.browser("")
	other.cookies[auth.SignOnCookie] = begun
	other.wantRefused(other.goBack(two), http.StatusConflict, "finished before")
}

func TestOnlyTheBrowserThatBeganALogInEndsIt(t *testing.T) {
	t.Parallel()
	account(t, "eve", claims{"preferred_username": "eve", "groups": "staff"})
	w := newWorld(t, setting{})
	eve, victim := w.browser("eve"), w.browser("eve")
	back := eve.begin()
	victim.wantRefused(victim.goBack(back), http.StatusUnauthorized, "not begun in this browser")
	victim.begin() // has a cookie of another log-in
	victim.wantRefused(victim.goBack(back), http.StatusUnauthorized, "not begun in this browser")

	late := w.browser("eve")
	back = late.begin()
	w.ahead.Store(int64(auth.SignOnLife))
	late.wantRefused(late.goBack(back), http.StatusUnauthorized, "not begun in this browser")
	w.ahead.Store(0)

	for what, change := range map[string]func(url.Values){
		"another state": func(q url.Values) { q.Set("state", strings.Repeat("x", 52)) },
		"no state":      func(q url.Values) { q.Del("state") },
		"two states":    func(q url.Values) { q.Add("state", "x") },
	} {
		t.Log(what)
		w.browser("eve").wantRefusedWith(change, "not begun in this browser")
	}
}

func TestAnAnswerOfAnotherProviderIsRefused(t *testing.T) {
	t.Parallel()
	account(t, "mixed-up", claims{"preferred_username": "mixed-up", "groups": "staff"})
	w := newWorld(t, setting{})
	for what, change := range map[string]func(url.Values){
		"another issuer": func(q url.Values) { q.Set("iss", "https://evil.example") },
		"no issuer":      func(q url.Values) { q.Del("iss") },
		"two issuers":    func(q url.Values) { q.Add("iss", "https://evil.example") },
	} {
		t.Log(what)
		w.browser("mixed-up").wantRefusedWith(change, "another provider answers")
	}
}

// The code of another person's log-in does not go with the nonce and the verifier of this one.
func TestACodeOfAnotherLogInIsRefused(t *testing.T) {
	t.Parallel()
	account(t, "injected", claims{"preferred_username": "injected", "groups": "muster-admins"})
	w := newWorld(t, setting{})
	victim, eve := w.browser("injected"), w.browser("injected")
	stolen := victim.begin().Query().Get("code")
	back := eve.begin()
	query := back.Query()
	query.Set("code", stolen)
	back.RawQuery = query.Encode()
	eve.wantRefused(eve.goBack(back), http.StatusUnauthorized, "finished before, or is too old")
}

// No parameter leads elsewhere after a log-in, and a session that a browser was given is not the one that it gets.
func TestNothingLeadsElsewhereAndNoSessionIsFixed(t *testing.T) {
	t.Parallel()
	account(t, "led", claims{"preferred_username": "led", "groups": "staff"})
	w := newWorld(t, setting{})
	b := w.browser("led")
	fixed := "muster_session_" + strings.Repeat("a", 52)
	b.cookies[auth.SessionCookie] = &http.Cookie{Name: auth.SessionCookie, Value: fixed, SameSite: http.SameSiteLaxMode}
	begin := b.ask(http.MethodGet, w.url+"/ui/login/single-sign-on?next=https://evil.example/&redirect_uri=//evil.example",
		false)
	if strings.Contains(begin.to, "evil") || !strings.HasPrefix(begin.to, issuerOf(t)+"/auth?") {
		t.Fatalf("got %s", begin.to)
	}
	back := b.begin()
	back.RawQuery += "&next=https://evil.example/&to=//evil.example"
	a := b.goBack(back)
	if a.to != "" || strings.Contains(a.text, "evil") {
		t.Errorf("got %+v", a)
	}
	if got := a.header.Get("Referrer-Policy"); got != "no-referrer" {
		t.Errorf("got the policy %q: the URL has the code in it", got)
	}
	if b.cookies[auth.SessionCookie].Value == fixed || strings.Contains(a.text, b.cookies[auth.SessionCookie].Value) {
		t.Errorf("got %+v", b.cookies)
	}
	b.wantLoggedIn("led")
	if log := w.log.String(); strings.Contains(log, back.Query().Get("code")) || strings.Contains(log,
		b.cookies[auth.SessionCookie].Value) {
		t.Error("the log has a code or a token")
	}
}

// Another site that sends a browser to the beginning gets nowhere: the person would not know.
func TestAnotherSiteBeginsNoLogIn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setting{})
	b := w.browser("")
	a := b.ask(http.MethodGet, w.url+"/ui/login/single-sign-on", true)
	if a.to != w.url+"/ui/login" || len(b.cookies) > 0 {
		t.Errorf("got %+v, %v", a, b.cookies)
	}
	other := strings.Replace(w.url, "127.0.0.1", "localhost", 1)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, other+"/ui/login/single-sign-on", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if to := resp.Header.Get("Location"); to != w.url+"/ui/login" {
		t.Errorf("got %q, want the address that the provider sends people back to", to)
	}
}

// The ID token of the provider is good for five minutes, and clocks may differ by one.
func TestAnIDTokenThatIsTooOldIsRefused(t *testing.T) {
	t.Parallel()
	account(t, "late", claims{"preferred_username": "late", "groups": "staff"})
	w := newWorld(t, setting{})
	for _, c := range []struct {
		ahead time.Duration
		ok    bool
	}{
		{-90 * time.Second, false}, {-30 * time.Second, true}, {5*time.Minute + 30*time.Second, true},
		{6*time.Minute + 5*time.Second, false},
	} {
		w.ahead.Store(0)
		b := w.browser("late")
		back := b.begin()
		w.ahead.Store(int64(c.ahead))
		if a := b.goBack(back); c.ok != (a.status == http.StatusOK) || !c.ok && !strings.Contains(a.text, "clock") {
			t.Errorf("the clock is %v ahead: got %d %s", c.ahead, a.status, a.text)
		}
	}
}

func TestAPersonIsTheSubjectAndNeverTheirAddress(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setting{name: "email"})
	account(t, "anna-1", claims{"email": "anna@example.org", "email_verified": true, "groups": "muster-admins"})
	account(t, "anna-2", claims{"email": "anna@example.org", "email_verified": true, "groups": "staff"})
	account(t, "anna-3", claims{"email": "anna@example.org", "email_verified": false, "groups": "staff"})
	w.browser("anna-1").logIn("anna@example.org", fleet.RoleAdmin)
	for _, name := range []string{"anna-2", "anna-3"} {
		b := w.browser(name)
		if a := b.goBack(b.begin()); a.status != http.StatusOK {
			t.Fatalf("got %+v", a)
		}
		a := b.open("/ui/")
		if !strings.Contains(a.text, "with the role viewer") ||
			strings.Contains(a.text, "<strong>anna@example.org</strong>") {
			t.Errorf("%s: got %s", name, a.text)
		}
		if unverified := strings.Contains(a.text, "anna@"); unverified && name == "anna-3" {
			t.Errorf("an address that nobody verified became a name: %s", a.text)
		}
	}
	users, err := w.store.Users(t.Context())
	if err != nil || len(users) != 3 {
		t.Errorf("got %+v, %v", users, err)
	}
}

// An address gives a role only where the provider has verified it.
func TestAnUnverifiedAddressIsNoGroup(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setting{groups: "email", rules: "admin=boss@example.org"})
	account(t, "boss", claims{"preferred_username": "boss", "email": "boss@example.org", "email_verified": true})
	account(t, "not-boss", claims{"preferred_username": "eve", "email": "boss@example.org", "email_verified": false})
	account(t, "silent-boss", claims{"preferred_username": "eve", "email": "boss@example.org"})
	w.browser("boss").logIn("boss", fleet.RoleAdmin)
	for _, name := range []string{"not-boss", "silent-boss"} {
		b := w.browser(name)
		b.wantRefused(b.goBack(b.begin()), http.StatusForbidden, "none of your groups there has access")
	}
}

func TestAPersonGetsNoNameOfAnother(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setting{})
	if _, err := w.people.CreateUser(t.Context(), fleet.User{Name: "root", Role: fleet.RoleAdmin},
		"correct horse battery"); err != nil {
		t.Fatal(err)
	}
	for sub, name := range map[string]string{"fake-root": "Root", "fake-host": "host", "fake-blank": "a b\n"} {
		account(t, sub, claims{"preferred_username": name, "groups": "staff"})
		b := w.browser(sub)
		if a := b.goBack(b.begin()); a.status != http.StatusOK {
			t.Fatalf("got %+v", a)
		}
	}
	users, err := w.store.Users(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, user := range users {
		if user.Name == "root" {
			if user.Password == "" || user.Identity != (fleet.Identity{}) {
				t.Errorf("got %+v", user)
			}
			continue
		}
		if !strings.HasPrefix(user.Name, "root-") && !strings.HasPrefix(user.Name, "user-") || user.Role != fleet.RoleViewer {
			t.Errorf("got %+v", user)
		}
	}
	if len(users) != 4 {
		t.Errorf("got %+v", users)
	}
}

func TestGroupsOfNowGiveTheRole(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setting{})
	has := func(groups ...string) {
		account(t, "changing", claims{"preferred_username": "changing", "groups": groups})
	}
	has("sync-berlin", "staff", "sync-rome")
	first := w.browser("changing")
	first.logIn("changing", fleet.RoleOperator)
	user, err := w.store.User(t.Context(), "changing")
	if err != nil || user.Scope != fleet.ScopeOf([]fleet.Tag{"berlin", "munich", "rome"}) {
		t.Errorf("got %+v, %v", user, err)
	}

	has("staff")
	second := w.browser("changing")
	second.logIn("changing", fleet.RoleViewer)
	if a := first.open("/ui/"); !strings.Contains(a.text, "Log in with") {
		t.Errorf("got %+v: a session outlived the role that it was begun with", a)
	}

	has("others")
	third := w.browser("changing")
	third.wantRefused(third.goBack(third.begin()), http.StatusForbidden, "none of your groups there has access")
	if a := second.open("/ui/"); !strings.Contains(a.text, "Log in with") {
		t.Errorf("got %+v: a session outlived the access", a)
	}
	if users, err := w.store.Users(t.Context()); err != nil || len(users) != 0 {
		t.Errorf("got %+v, %v", users, err)
	}
	entries, err := w.store.Audit(t.Context(), fleet.AuditQuery{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"user.create", "login", "user.role", "user.scope", "user.delete", "login.fail"} {
		if !slices.ContainsFunc(entries, func(e fleet.AuditEntry) bool { return e.What == want }) {
			t.Errorf("the audit has no %s: %+v", want, entries)
		}
	}
}

func TestAPersonWhoRefusesAtTheProviderIsToldSo(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setting{})
	b := w.browser("")
	b.wantRefused(b.goBack(b.begin()), http.StatusUnauthorized, "access_denied")
}

func TestAUserOfSingleSignOnGetsNoPassword(t *testing.T) {
	t.Parallel()
	account(t, "no-password", claims{"preferred_username": "no-password", "groups": "staff"})
	w := newWorld(t, setting{})
	w.browser("no-password").logIn("no-password", fleet.RoleViewer)
	role := fleet.RoleAdmin
	if _, err := w.people.PutUser(t.Context(), fleet.PutUser{Name: "no-password", Role: &role},
		"correct horse battery"); fleet.CodeOf(err) != fleet.CodeConflict {
		t.Errorf("got %v", err)
	}
	if _, _, err := w.people.NewLink(t.Context(), "no-password", 0); fleet.CodeOf(err) != fleet.CodeConflict {
		t.Errorf("got %v", err)
	}
	if _, err := w.people.LogIn(t.Context(), "no-password", "", auth.Client{}); fleet.CodeOf(err) !=
		fleet.CodeUnauthorized {
		t.Errorf("got %v", err)
	}
}

// A secret that the provider does not know is the administrator's to mend, and nobody gets in meanwhile.
func TestAWrongSecretOfMusterSaysWhereToLook(t *testing.T) {
	t.Parallel()
	account(t, "wrong-secret", claims{"preferred_username": "wrong-secret", "groups": "staff"})
	w := newWorld(t, setting{change: func(o *signon.Options) { o.ClientSecret = fleet.NewSecret("another") }})
	b := w.browser("wrong-secret")
	b.wantRefused(b.goBack(b.begin()), http.StatusServiceUnavailable, "does not answer as it should")
	if log := w.log.String(); !strings.Contains(log, "compare --oidc-client-id") || strings.Contains(log, "another\"") {
		t.Errorf("got the log %s", log)
	}
}

// Without single sign-on, or with another provider, the sessions that were begun by it do not count any more.
func TestASessionOfAnotherProviderDoesNotCount(t *testing.T) {
	t.Parallel()
	account(t, "moved", claims{"preferred_username": "moved", "groups": "staff"})
	w := newWorld(t, setting{})
	b := w.browser("moved")
	b.logIn("moved", fleet.RoleViewer)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.url+"/api/v1/whoami", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.AddCookie(&http.Cookie{Name: auth.SessionCookie, Value: b.cookies[auth.SessionCookie].Value})
	r.RemoteAddr = "127.0.0.1:1" // as a server has it
	r.Header.Set(auth.SessionHeader, b.half)
	for issuer, want := range map[string]fleet.Code{issuerOf(t): "", "": fleet.CodeUnauthorized,
		"https://another.example": fleet.CodeUnauthorized} {
		people := auth.NewPeople(auth.PeopleOptions{Store: w.store, Log: slog.New(slog.DiscardHandler), Issuer: issuer})
		_, err := auth.NewAuthenticator(auth.NewTokens(w.store), people).Authenticate(r)
		if fleet.CodeOf(err) != want {
			t.Errorf("the issuer %q: got %v", issuer, err)
		}
	}
}
