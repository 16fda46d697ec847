package signon_test

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"muster/api"
	"muster/internal/adapter/seal"
	"muster/internal/adapter/signon"
	"muster/internal/adapter/store"
	"muster/internal/edge/auth"
	"muster/internal/edge/httpapi"
	"muster/internal/edge/pages"
	"muster/internal/fleet"
	"muster/test/server"
)

// world is a server of Muster with single sign-on.
type world struct {
	t        *testing.T
	url      string
	store    *store.Store
	people   *auth.People
	signOn   *auth.SignOn
	log      *server.Log
	ahead    atomic.Int64 // of the server's clock, in nanoseconds
	standsAt atomic.Int64 // the uptime, in nanoseconds; 0: it goes on
}

// setting are what a test wants otherwise.
type setting struct {
	host   string // that Muster is addressed by
	rules  string // one on each line
	groups string // the claim
	name   string // likewise
	change func(*signon.Options)
}

const usualRules = "admin=muster-admins\noperator:berlin,munich=sync-berlin\noperator:rome=sync-rome\nviewer=staff"

func newWorld(t *testing.T, s setting) *world {
	t.Helper()
	home := server.PreparedHome(t)
	keys, err := seal.FromHome(home)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := store.Open(t.Context(), store.Options{Home: home, Seal: keys})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = kept.Close() })
	w := &world{t: t, store: kept, log: &server.Log{}}
	server := httptest.NewUnstartedServer(nil)
	w.url = "http://" + strings.Replace(server.Listener.Addr().String(), "127.0.0.1", or(s.host, "127.0.0.1"), 1)
	server.Config.Handler = w.handler(s)
	server.Start()
	t.Cleanup(server.Close)
	return w
}

// started is when the tests began.
var started = time.Now()

func (w *world) uptime() time.Duration {
	at := time.Duration(w.standsAt.Load())
	if at == 0 {
		at = time.Since(started)
	}
	return at + time.Duration(w.ahead.Load())
}

func (w *world) now() time.Time { return time.Now().Add(time.Duration(w.ahead.Load())) }

func (w *world) handler(s setting) http.Handler {
	w.t.Helper()
	log := slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	o := signon.Options{
		Issuer: issuerOf(w.t), ClientID: "muster", ClientSecret: fleet.NewSecret("secret-of-muster"), Log: log, Now: w.now,
		Callback: w.url + auth.CallbackPath, LoggedOut: w.url + auth.LogInPage, Scopes: []string{"profile", "email"},
		GroupsClaim: or(s.groups, "groups"), NameClaim: or(s.name, "preferred_username"),
	}
	if s.change != nil {
		s.change(&o)
	}
	provider, err := signon.New(o)
	if err != nil {
		w.t.Fatal(err)
	}
	key, err := w.store.OwnKey(w.t.Context(), "single sign-on")
	if err != nil {
		w.t.Fatal(err)
	}
	w.people = auth.NewPeople(auth.PeopleOptions{Store: w.store, Log: log, Now: w.now, Uptime: w.uptime,
		DeviceKey: []byte("k"),
		Cost:      auth.PasswordCost{MemoryKiB: 64, Passes: 1, Lanes: 1}, Issuer: o.Issuer})
	var rules []auth.RoleRule
	for line := range strings.Lines(or(s.rules, usualRules)) {
		rule, err := auth.ParseRoleRule(strings.TrimSpace(line))
		if err != nil {
			w.t.Fatal(err)
		}
		rules = append(rules, rule)
	}
	public, err := pages.PublicAddress(w.url)
	if err != nil {
		w.t.Fatal(err)
	}
	tokens := auth.NewTokens(w.store)
	signOn := auth.NewSignOn(auth.SignOnOptions{People: w.people, Provider: provider, Name: "Example ID", Rules: rules,
		Key: key})
	w.signOn = signOn
	go func() { _ = signOn.Run(w.t.Context()) }()
	return httpapi.New(httpapi.Options{
		Log: log, Registry: fleet.ScopedRegistry{Whole: w.store, Parts: &fleet.Views{}}, Audit: w.store,
		Auth: auth.NewAuthenticator(tokens, w.people), Renewer: w.people,
		Web: httpapi.Web{Pages: pages.New(pages.Options{Log: log, Sessions: w.people, Links: w.people, SignOn: signOn,
			PublicURL: public, Classify: httpapi.Classify})},
		Nouns: []httpapi.Noun{
			httpapi.TokenHandlers{Tokens: tokens}, httpapi.UserHandlers{Users: w.people, Accounts: w.people},
			httpapi.SessionHandlers{Sessions: w.people, Tickets: w.people}, httpapi.LoginLinkHandlers{LoginLinks: w.people},
			httpapi.SignOnHandlers{HasPasswords: true, SignOn: signOn}, httpapi.AuditHandlers{Audit: w.store},
		},
	})
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// browser is one that keeps to SameSite: what another site leads it to gets the cookies that are Lax only.
type browser struct {
	w       *world
	account string // that it is logged in as at the provider
	cookies map[string]*http.Cookie
	half    string            // that the script of a page keeps
	jar     map[string]string // of the provider
}

func (w *world) browser(account string) *browser {
	return &browser{w: w, account: account, cookies: map[string]*http.Cookie{}, jar: map[string]string{}}
}

// answer is one answer, with its body.
type answer struct {
	status int
	to     string // of a redirect
	text   string
	header http.Header
}

// ask sends one request. abroad tells that another site leads the browser there.
func (b *browser) ask(method, at string, abroad bool) answer {
	b.w.t.Helper()
	return b.send(method, at, nil, abroad)
}

// send is ask with a form.
func (b *browser) send(method, at string, form url.Values, abroad bool) answer {
	b.w.t.Helper()
	r, err := http.NewRequestWithContext(b.w.t.Context(), method, at, strings.NewReader(form.Encode()))
	if err != nil {
		b.w.t.Fatal(err)
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	a := b.do(r, abroad)
	if code := codeInPage.FindStringSubmatch(a.text); code != nil {
		b.exchange(code[1])
	}
	return a
}

var codeInPage = regexp.MustCompile(`data-code="([^"]+)"`)

// exchange gets the session of a page's code, as the script of the page does.
func (b *browser) exchange(code string) {
	b.w.t.Helper()
	a := b.script(http.MethodPost, "/api/v1/login/code", `{"code":"`+code+`"}`)
	var session api.NewSession
	if err := json.Unmarshal([]byte(a.text), &session); err != nil || session.Half == "" || session.Token != "" {
		b.w.t.Errorf("got %+v, %v", a, err)
	}
	b.half = session.Half
}

// script sends a request as the script of a page does.
func (b *browser) script(method, path, body string) answer {
	b.w.t.Helper()
	r, err := http.NewRequestWithContext(b.w.t.Context(), method, b.w.url+path, strings.NewReader(body))
	if err != nil {
		b.w.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set(auth.SessionHeader, b.half)
	return b.do(r, false)
}

func (b *browser) do(r *http.Request, abroad bool) answer {
	b.w.t.Helper()
	ours := strings.HasPrefix(r.URL.String(), b.w.url+"/")
	switch {
	case ours && abroad:
		r.Header.Set("Sec-Fetch-Site", "cross-site")
	case ours:
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	case b.account != "":
		r.Header.Set("X-Account", b.account)
	}
	b.addCookies(r, ours, abroad)
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(r)
	if err != nil {
		b.w.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		b.w.t.Fatal(err)
	}
	for _, cookie := range resp.Cookies() {
		switch {
		case !ours:
			b.jar[cookie.Name] = cookie.Value
		case cookie.MaxAge < 0:
			delete(b.cookies, cookie.Name)
		default:
			b.cookies[cookie.Name] = cookie
		}
	}
	a := answer{status: resp.StatusCode, text: string(body), header: resp.Header}
	if to, err := resp.Location(); err == nil {
		a.to = to.String()
	}
	return a
}

func (b *browser) addCookies(r *http.Request, ours, abroad bool) {
	if !ours {
		for name, value := range b.jar {
			r.AddCookie(&http.Cookie{Name: name, Value: value})
		}
		return
	}
	for _, cookie := range b.cookies {
		lax := cookie.SameSite == http.SameSiteLaxMode && r.Method == http.MethodGet
		if !abroad || lax {
			r.AddCookie(&http.Cookie{Name: cookie.Name, Value: cookie.Value})
		}
	}
}

// open opens a page as a person does, and follows redirects. The first page shows what its script asks for.
func (b *browser) open(path string) answer {
	b.w.t.Helper()
	a := b.follow(b.ask(http.MethodGet, b.w.url+path, false), false)
	if !strings.Contains(a.text, `data-kind="home"`) {
		return a
	}
	said := b.script(http.MethodGet, "/api/v1/whoami", "")
	if said.status == http.StatusUnauthorized {
		return b.open("/ui/login")
	}
	var who api.Whoami
	if err := json.Unmarshal([]byte(said.text), &who); err != nil || said.status != http.StatusOK {
		b.w.t.Errorf("got %+v, %v", said, err)
	}
	a.text = "<strong>" + who.Name + "</strong> with the role " + who.Role
	return a
}

// follow follows redirects. Once another site was among them, the cookies that are Strict stay behind.
func (b *browser) follow(a answer, abroad bool) answer {
	b.w.t.Helper()
	for hops := 0; a.to != "" && hops < 12; hops++ {
		abroad = abroad || !strings.HasPrefix(a.to, b.w.url+"/")
		a = b.ask(http.MethodGet, a.to, abroad)
	}
	return a
}

// begin begins a log-in, goes to the provider, and stops before the browser goes back. It gives the URL to go back to.
func (b *browser) begin() *url.URL {
	b.w.t.Helper()
	a := b.ask(http.MethodGet, b.w.url+"/ui/login/single-sign-on", false)
	for hops := 0; hops < 12 && a.to != "" && !strings.HasPrefix(a.to, b.w.url+"/"); hops++ {
		a = b.ask(http.MethodGet, a.to, true)
	}
	back, err := url.Parse(a.to)
	if err != nil || back.Path != auth.CallbackPath {
		b.w.t.Fatalf("got %+v, want a way back", a)
	}
	return back
}

// goBack ends a log-in, with the URL that begin gave or another one.
func (b *browser) goBack(to *url.URL) answer {
	b.w.t.Helper()
	return b.ask(http.MethodGet, to.String(), true)
}

// logIn logs in, and checks that the first page says as whom and with which role.
func (b *browser) logIn(user string, role fleet.Role) {
	b.w.t.Helper()
	want := "<strong>" + user + "</strong> with the role " + string(role)
	if a := b.goBack(b.begin()); a.status != http.StatusOK || b.half == "" {
		b.w.t.Fatalf("got %+v\n%s", a, b.w.log)
	}
	if a := b.open("/ui/"); a.status != http.StatusOK || !strings.Contains(a.text, want) {
		b.w.t.Fatalf("got %+v, want %s", a, want)
	}
}

// wantRefusedWith checks that a log-in fails when the answer of the provider is changed on its way.
func (b *browser) wantRefusedWith(change func(url.Values), says string) {
	b.w.t.Helper()
	back := b.begin()
	query := back.Query()
	change(query)
	back.RawQuery = query.Encode()
	b.wantRefused(b.goBack(back), http.StatusUnauthorized, says)
}

// wantRefused checks that a log-in failed, says why, and left no session.
func (b *browser) wantRefused(a answer, status int, says string) {
	b.w.t.Helper()
	if a.status != status || !strings.Contains(a.text, says) {
		b.w.t.Errorf("got %d %s\nwant %d %q\n%s", a.status, a.text, status, says, b.w.log)
	}
	if b.cookies[auth.SessionCookie] != nil {
		b.w.t.Error("a log-in that was refused left a session")
	}
	if a := b.open("/ui/"); !strings.Contains(a.text, "Log in with Example ID") {
		b.w.t.Errorf("got %+v, want the log-in page", a)
	}
}
