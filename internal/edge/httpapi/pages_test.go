package httpapi

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"muster/api"
	"muster/internal/edge/auth"
	"muster/internal/fleet"
)

// browser asks for pages as a browser does: it keeps cookies, and says where a request comes from.
type browser struct {
	w       *world
	host    string
	cookies map[string]string
	half    string      // that the script of a page keeps
	plain   bool        // runs no script
	site    string      // of Sec-Fetch-Site
	from    string      // address and port
	header  http.Header // further ones, as of a proxy
	last    *http.Response
}

func (w *world) browser() *browser {
	return &browser{w: w, host: "127.0.0.1:2525", cookies: map[string]string{}, site: "same-origin",
		from: "127.0.0.1:1234"}
}

// send gives the status, the place that a redirect or the script of the page leads to, without this server, and the
// text of the page.
func (b *browser) send(method, path string, form url.Values) (status int, to, text string) {
	b.w.t.Helper()
	media := ""
	if form != nil {
		media = "application/x-www-form-urlencoded"
	}
	status, to, text = b.ask(method, path, media, form.Encode())
	if b.plain {
		return status, to, text
	}
	return b.run(status, to, text)
}

var codeInPage = regexp.MustCompile(`data-code="([^"]+)"`)

// run does what session.js does. It counts as a redirect where the script leads on.
func (b *browser) run(status int, to, text string) (int, string, string) {
	b.w.t.Helper()
	if code := codeInPage.FindStringSubmatch(text); code != nil {
		got, _, answer := b.ask("POST", Prefix+"/login/code", "application/json", `{"code":"`+code[1]+`"}`)
		var session api.NewSession
		if err := json.Unmarshal([]byte(answer), &session); err != nil || got != http.StatusOK {
			b.w.t.Errorf("got %d %s, %v", got, answer, err)
		}
		b.half = session.Half
		return http.StatusSeeOther, "/ui/", text
	}
	isHome := strings.Contains(text, `data-kind="home"`)
	if !isHome && (b.half == "" || !strings.Contains(text, `data-kind="login"`) || status != http.StatusOK) {
		return status, to, text
	}
	got, _, answer := b.ask("GET", Prefix+"/whoami", "", "")
	var who api.Whoami
	_ = json.Unmarshal([]byte(answer), &who) // a problem has no name
	switch {
	case got != http.StatusOK && isHome:
		return http.StatusSeeOther, "/ui/login", text
	case got != http.StatusOK:
		return status, to, text
	case isHome:
		return status, to, "<strong>" + who.Name + "</strong> with the role " + who.Role
	}
	return http.StatusSeeOther, "/ui/", text
}

func (b *browser) ask(method, path, media, body string) (status int, to, text string) {
	b.w.t.Helper()
	r := httptest.NewRequest(method, "http://"+b.host+path, strings.NewReader(body))
	if media != "" {
		r.Header.Set("Content-Type", media)
	}
	if strings.HasPrefix(path, Prefix+"/") && b.half != "" { // no page that is opened gets a header
		r.Header.Set(auth.SessionHeader, b.half)
	}
	r.RemoteAddr = b.from
	maps.Copy(r.Header, b.header)
	r.Header.Set("Sec-Fetch-Site", b.site)
	for name, value := range b.cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	rec := httptest.NewRecorder()
	b.w.api.ServeHTTP(rec, r)
	b.last = rec.Result()
	for _, cookie := range b.last.Cookies() {
		if cookie.MaxAge < 0 {
			delete(b.cookies, cookie.Name)
		} else {
			b.cookies[cookie.Name] = cookie.Value
		}
	}
	all, err := io.ReadAll(b.last.Body)
	if err != nil {
		b.w.t.Fatal(err)
	}
	return b.last.StatusCode, b.ledTo(r), string(all)
}

// ledTo resolves the way of a redirect as a browser does.
func (b *browser) ledTo(r *http.Request) string {
	way := b.last.Header.Get("Location")
	if way == "" {
		return ""
	}
	to, err := r.URL.Parse(way)
	if err != nil {
		b.w.t.Fatal(err)
	}
	return strings.TrimPrefix(to.String(), "http://"+b.host)
}

// want checks a status, where a redirect leads to, and what the page says.
func (b *browser) want(status int, says, method, path string, form url.Values) {
	b.w.t.Helper()
	got, to, text := b.send(method, path, form)
	if got != status || to != says && !strings.Contains(text, says) {
		b.w.t.Errorf("%s %s: got %d to %q and\n%s\nwant %d %q", method, path, got, to, text, status, says)
	}
}

func account(name, password string) url.Values {
	return url.Values{"userid": {name}, "password": {password}, "repeated": {password}}
}

// What a page cannot answer is told of as in the API.
func TestAPageThatFailsIsAProblem(t *testing.T) {
	w := newWorld(t)
	w.with(func(o *setup) {
		o.Web.Pages = map[string]func(http.ResponseWriter, *http.Request) error{
			"GET /ui/gone": func(http.ResponseWriter, *http.Request) error { return fs.ErrNotExist },
			"GET /ui/busy": func(http.ResponseWriter, *http.Request) error {
				return &fleet.Error{Code: fleet.CodeUnavailable, Message: "the provider is away"}
			},
		}
	})
	gone := w.problem(http.StatusNotFound, call{method: http.MethodGet, path: "/ui/gone"})
	busy := w.problem(http.StatusServiceUnavailable, call{method: http.MethodGet, path: "/ui/busy"})
	if gone.Detail != "there is nothing at this path" || busy.Detail != "the provider is away" {
		t.Errorf("got %+v and %+v", gone, busy)
	}
}

func TestAPersonLogsInAndOut(t *testing.T) {
	w := newWorld(t)
	w.user("anna", fleet.RoleAuthor)
	b := w.browser()
	b.want(http.StatusSeeOther, "/ui/", "GET", "/", nil)
	b.want(http.StatusSeeOther, "/ui/login", "GET", "/ui/", nil)
	b.want(http.StatusOK, `action="../ui/login"`, "GET", "/ui/login", nil)
	b.want(http.StatusUnauthorized, "the user name or the password is wrong", "POST", "/ui/login", account("anna", "x"))
	if len(b.cookies) != 0 {
		t.Errorf("got the cookies %v of a log-in that failed", b.cookies)
	}
	b.want(http.StatusSeeOther, "/ui/", "POST", "/ui/login", account("Anna", goodPassword))
	b.want(http.StatusOK, "<strong>anna</strong> with the role author", "GET", "/ui/", nil)
	b.want(http.StatusSeeOther, "/ui/", "GET", "/ui/login", nil)
	b.want(http.StatusOK, "[]", "GET", Prefix+"/devices", nil)
	b.want(http.StatusForbidden, "your role, author, may not do that", "GET", Prefix+"/users", nil)
	session := b.cookies[auth.SessionCookie]
	b.want(http.StatusSeeOther, "/ui/login", "POST", "/ui/logout", url.Values{})
	if b.cookies[auth.SessionCookie] != "" || b.cookies[auth.DeviceCookie] == "" {
		t.Errorf("got %v, want the device cookie only", b.cookies)
	}
	b.cookies[auth.SessionCookie] = session
	b.want(http.StatusUnauthorized, "this session has ended", "GET", Prefix+"/devices", nil)
	b.want(http.StatusSeeOther, "/ui/login", "POST", "/ui/logout", url.Values{}) // again, in another tab
}

func TestTheFirstPersonComesByALinkThatWorksOnce(t *testing.T) {
	w := newWorld(t)
	code, err := w.people.FirstLink(t.Context())
	if err != nil || code == "" {
		t.Fatal(code, err)
	}
	b, link := w.browser(), auth.LoginPath+code
	for range 2 { // a mail program opens it first
		b.want(http.StatusOK, `name="code" value="`+code+`"`, "GET", link, nil)
	}
	form := account("Root User", goodPassword)
	form.Set("code", code)
	b.want(http.StatusUnprocessableEntity, "the name of a user is made of", "POST", "/ui/login", form)
	form = account("root", "too short")
	form.Set("code", code)
	b.want(http.StatusUnprocessableEntity, "at least 12 characters", "POST", "/ui/login", form)
	form = account("root", goodPassword)
	form.Set("code", code)
	form.Set("repeated", goodPassword+"x")
	b.want(http.StatusUnprocessableEntity, "not the same", "POST", "/ui/login", form)
	form.Set("repeated", goodPassword)
	b.want(http.StatusSeeOther, "/ui/", "POST", "/ui/login", form)
	b.want(http.StatusOK, "<strong>root</strong> with the role admin", "GET", "/ui/", nil)
	form.Set("userid", "eve")
	for _, other := range []*browser{b, w.browser()} {
		other.want(http.StatusNotFound, "used before", "POST", "/ui/login", form)
		other.want(http.StatusNotFound, "used before", "GET", link, nil)
	}
	b.want(http.StatusOK, `"name":"root"`, "GET", Prefix+"/users", nil)
	if _, _, text := b.send("GET", Prefix+"/users", nil); strings.Contains(text, "eve") {
		t.Errorf("got %s: a link made a second administrator", text)
	}
}

// A session that the browser was given by another is never the one of the person who logs in.
func TestNoSessionIsFixed(t *testing.T) {
	w := newWorld(t)
	w.user("eve", fleet.RoleViewer)
	w.user("anna", fleet.RoleAdmin)
	planted := w.login("eve")
	for _, value := range []string{planted, "muster_session_" + strings.Repeat("a", 52), "x"} {
		b := w.browser()
		b.cookies[auth.SessionCookie] = value
		b.want(http.StatusSeeOther, "/ui/", "POST", "/ui/login", account("anna", goodPassword))
		if got := b.cookies[auth.SessionCookie]; got == value || !strings.HasPrefix(got, "muster_session_") {
			t.Errorf("got the session %q", got)
		}
		w.problem(http.StatusUnauthorized, call{method: http.MethodGet, path: Prefix + "/whoami", token: "-",
			header: http.Header{"Cookie": {auth.SessionCookie + "=" + value}}, host: "localhost"})
	}
}

// Two accounts log in with the same browser, one after the other: the first session does not stay open.
func TestALogInEndsTheSessionOfBefore(t *testing.T) {
	w := newWorld(t)
	w.user("anna", fleet.RoleViewer)
	w.user("bert", fleet.RoleViewer)
	b := w.browser()
	b.want(http.StatusSeeOther, "/ui/", "POST", "/ui/login", account("anna", goodPassword))
	b.want(http.StatusSeeOther, "/ui/", "POST", "/ui/login", account("bert", goodPassword))
	sessions, err := w.store.Sessions(t.Context(), "")
	if err != nil || len(sessions) != 1 || sessions[0].User != "bert" {
		t.Errorf("got %+v, %v", sessions, err)
	}
}

func TestCookiesOfALogIn(t *testing.T) {
	w := newWorld(t)
	w.user("anna", fleet.RoleViewer)
	for host, prefix := range map[string]string{
		"127.0.0.1:2525": "", "localhost": "", "[::1]:2525": "", "muster.example": auth.HostPrefix,
	} {
		b := w.browser()
		b.host = host
		b.want(http.StatusSeeOther, "/ui/", "POST", "/ui/login", account("anna", goodPassword))
		names := map[string]bool{}
		for _, cookie := range b.last.Cookies() {
			names[cookie.Name] = true
			if cookie.Secure != (prefix != "") || !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode ||
				cookie.Path != "/" || cookie.Domain != "" {
				t.Errorf("%s: got %v", host, cookie)
			}
		}
		if len(names) != 2 || !names[prefix+auth.SessionCookie] || !names[prefix+auth.DeviceCookie] {
			t.Errorf("%s: got %v", host, names)
		}
	}
}

// Behind a proxy that speaks TLS the Host may be a loopback name: the origin says that the browser is elsewhere.
func TestAProxyOnThisMachineGetsSecureCookies(t *testing.T) {
	w := newWorld(t)
	w.user("anna", fleet.RoleViewer)
	b := w.browser()
	b.header = http.Header{"Origin": {"https://muster.example"}}
	b.want(http.StatusSeeOther, "/ui/", "POST", "/ui/login", account("anna", goodPassword))
	cookies := b.last.Cookies()
	if len(cookies) != 2 || !cookies[0].Secure || !strings.HasPrefix(cookies[0].Name, auth.HostPrefix) {
		t.Fatalf("got %v", cookies)
	}
}

// Behind a proxy that gives Muster a loopback Host, the log-in has an Origin, and the pages after it have none.
func TestATokenWasRenewedIntoACookieForPlainHTTP(t *testing.T) {
	w := newWorld(t)
	w.user("anna", fleet.RoleViewer)
	b := w.browser()
	b.header = http.Header{"Origin": {"https://muster.example"}}
	b.want(http.StatusSeeOther, "/ui/", "POST", "/ui/login", account("anna", goodPassword))
	b.header = nil
	w.clock.by += 61 * time.Minute
	b.want(http.StatusOK, "anna", "GET", "/ui/", nil)
	renewed := b.last.Cookies()
	if len(renewed) != 1 || !renewed[0].Secure || renewed[0].Name != auth.HostPrefix+auth.SessionCookie {
		t.Errorf("got %v", renewed)
	}
	b.want(http.StatusSeeOther, "/ui/login", "POST", "/ui/logout", url.Values{})
	if _, kept := b.cookies[auth.HostPrefix+auth.SessionCookie]; kept {
		t.Error("the log-out leaves the cookie")
	}
}

func TestARequestOfAProxyGetsNoCookieForPlainHTTP(t *testing.T) {
	w := newWorld(t)
	w.user("anna", fleet.RoleViewer)
	for name, change := range map[string]func(*browser){
		"X-Forwarded-For":   func(b *browser) { b.header = http.Header{"X-Forwarded-For": {"127.0.0.1"}} },
		"X-Forwarded-Proto": func(b *browser) { b.header = http.Header{"X-Forwarded-Proto": {"https"}} },
		"Forwarded":         func(b *browser) { b.header = http.Header{"Forwarded": {"proto=https"}} },
		"Via":               func(b *browser) { b.header = http.Header{"Via": {"1.1 proxy"}} },
		"another machine":   func(b *browser) { b.from = "192.0.2.7:1234" },
	} {
		b := w.browser()
		change(b)
		b.want(http.StatusSeeOther, "/ui/", "POST", "/ui/login", account("anna", goodPassword))
		for _, cookie := range b.last.Cookies() {
			if !cookie.Secure || !strings.HasPrefix(cookie.Name, auth.HostPrefix) {
				t.Errorf("%s: got %v", name, cookie)
			}
		}
		token := b.cookies[auth.HostPrefix+auth.SessionCookie]
		b.cookies = map[string]string{auth.SessionCookie: token}
		b.want(http.StatusSeeOther, "/ui/login", "GET", "/ui/", nil) // others can set a cookie of this name
	}
}

func TestAnotherSiteChangesNothing(t *testing.T) {
	w := newWorld(t)
	w.user("anna", fleet.RoleAdmin)
	b := w.browser()
	b.want(http.StatusSeeOther, "/ui/", "POST", "/ui/login", account("anna", goodPassword))
	for _, b.site = range []string{"cross-site", "same-site"} { // same-site: another port of this machine
		for _, path := range []string{"/ui/logout", "/ui/login", Prefix + "/logout", Prefix + "/login"} {
			b.want(http.StatusForbidden, "a page of another site", "POST", path, account("anna", goodPassword))
		}
		for path, method := range map[string]string{"/tags/a": "DELETE", "/password": "PUT", "/users/anna": "DELETE"} {
			b.want(http.StatusForbidden, "a page of another site", method, Prefix+path, url.Values{})
		}
	}
	b.site = "same-origin"
	b.want(http.StatusOK, "<strong>anna</strong>", "GET", "/ui/", nil)
	b.host = "rebound.example"
	b.want(http.StatusMisdirectedRequest, "not called", "GET", "/ui/", nil)
}

// What a request names decides about no redirect.
func TestNoRedirectLeadsElsewhere(t *testing.T) {
	w := newWorld(t)
	w.user("anna", fleet.RoleViewer)
	for _, where := range []string{"//evil.example", "https://evil.example", "/\\evil.example", "%2F%2Fevil.example"} {
		for _, query := range []string{"?next=" + where, "?redirect=" + where, "?returnTo=" + where, "?code=&next=" + where} {
			b := w.browser()
			w.clock.by += time.Minute // log-ins of one user are limited
			form := account("anna", goodPassword)
			form.Set("next", where)
			for _, step := range []struct {
				method, path string
				form         url.Values
			}{{"GET", "/" + query, nil}, {"GET", "/ui" + query, nil}, {"GET", "/ui/" + query, nil},
				{"POST", "/ui/login" + query, form}, {"GET", "/ui/login" + query, nil}, {"POST", "/ui/logout" + query, form}} {
				if status, to, _ := b.send(step.method, step.path, step.form); status != http.StatusSeeOther ||
					to != "/ui/" && to != "/ui/login" {
					t.Errorf("%s %s: got %d to %q", step.method, step.path, status, to)
				}
			}
		}
		b := w.browser()
		if status, to, _ := b.send("GET", "/ui//"+where, nil); status < 400 || to != "" {
			t.Errorf("got %d to %q", status, to)
		}
	}
}

func TestATokenInTheURLOpensNothing(t *testing.T) {
	w := newWorld(t)
	w.user("anna", fleet.RoleAdmin)
	session := w.login("anna")
	for _, token := range []string{w.tokens[fleet.RoleAdmin], session} {
		for _, name := range []string{"token", "access_token", "api_key", "apikey", "X-API-Key", auth.SessionCookie} {
			for _, path := range []string{Prefix + "/whoami", Prefix + "/devices"} {
				w.problem(http.StatusUnauthorized, call{method: http.MethodGet, token: "-",
					path: path + "?" + url.Values{name: {token}}.Encode()})
			}
		}
		b := w.browser()
		b.want(http.StatusNotFound, "used before", "GET", auth.LoginPath+token, nil)
	}
}

func TestPagesRunTheirOwnScriptOnly(t *testing.T) {
	w := newWorld(t)
	w.user("anna", fleet.RoleViewer)
	b := w.browser()
	b.plain = true
	hostile := `"><script>alert(1)</script>`
	for _, step := range []struct {
		method, path string
		form         url.Values
	}{{"GET", "/ui/login", nil}, {"GET", auth.LoginPath + url.QueryEscape(hostile), nil},
		{"POST", "/ui/login", account(hostile, hostile)}, {"POST", "/ui/login", account("anna", goodPassword)},
		{"GET", "/ui/", nil}} {
		status, _, text := b.send(step.method, step.path, step.form)
		own := regexp.MustCompile(`<script type="module" src="[./]*/?ui/session.js"></script>`)
		if text = own.ReplaceAllString(
			text,
			"",
		); strings.Contains(text, "<script") || strings.Contains(text, " style=") ||
			strings.Contains(text, "onclick") {
			t.Errorf("%s %s: got\n%s", step.method, step.path, text)
		}
		policy := b.last.Header.Get("Content-Security-Policy")
		if strings.Contains(policy, "unsafe") || !strings.Contains(policy, "; script-src 'self';") ||
			!strings.HasPrefix(policy, "default-src 'none'") || !strings.Contains(policy, "frame-ancestors 'none'") {
			t.Errorf("%s %s: got %d with the policy %q", step.method, step.path, status, policy)
		}
		if got := b.last.Header.Get("Cache-Control"); got != "no-store" {
			t.Errorf("%s %s: got %q", step.method, step.path, got)
		}
	}
	resp := w.do(call{method: http.MethodGet, path: Prefix + "/devices"})
	if got := resp.Header.Get("Content-Security-Policy"); got != replyPolicy {
		t.Errorf("got the policy %q for JSON", got)
	}
	status, _, text := b.send("GET", "/ui/style.css", nil)
	const ownFont = "url(inter.woff2)"
	if status != http.StatusOK || !strings.HasPrefix(b.last.Header.Get("Content-Type"), "text/css") ||
		strings.Contains(strings.ReplaceAll(text, ownFont, ""), "url(") {
		t.Errorf("got %d %v", status, b.last.Header)
	}
}

func TestTooManyLogInsSayWhenToTryAgain(t *testing.T) {
	w := newWorld(t)
	w.user("anna", fleet.RoleViewer)
	known, stranger := w.browser(), w.browser()
	known.want(http.StatusSeeOther, "/ui/", "POST", "/ui/login", account("anna", goodPassword))
	for range 100 {
		if status, _, _ := stranger.send("POST", "/ui/login", account("anna", "wrong")); status != http.StatusUnauthorized {
			break
		}
	}
	stranger.want(http.StatusTooManyRequests, "too many attempts", "POST", "/ui/login", account("anna", goodPassword))
	if after := stranger.last.Header.Get("Retry-After"); after == "" || after == "0" {
		t.Errorf("got Retry-After %q", after)
	}
	resp := w.do(call{method: http.MethodPost, path: Prefix + "/login", token: "-",
		body: `{"userid":"anna","password":"` + goodPassword + `"}`})
	readProblem(t, resp, http.StatusTooManyRequests, http.MethodPost)
	known.want(http.StatusSeeOther, "/ui/", "POST", "/ui/login", account("anna", goodPassword))
}

func TestACookieIsRenewedWhileItIsUsed(t *testing.T) {
	w := newWorld(t)
	w.user("anna", fleet.RoleViewer)
	b := w.browser()
	b.want(http.StatusSeeOther, "/ui/", "POST", "/ui/login", account("anna", goodPassword))
	first := b.cookies[auth.SessionCookie]
	b.want(http.StatusOK, "[]", "GET", Prefix+"/devices", nil)
	if b.cookies[auth.SessionCookie] != first {
		t.Error("the cookie is renewed at once")
	}
	w.clock.by += 2 * time.Hour
	b.want(http.StatusOK, "[]", "GET", Prefix+"/devices", nil)
	if b.cookies[auth.SessionCookie] == first {
		t.Error("the cookie is not renewed after two hours")
	}
	b.want(http.StatusOK, "<strong>anna</strong>", "GET", "/ui/", nil)
}

func TestOnesOwnSessionsAreListedAndEnded(t *testing.T) {
	w := newWorld(t)
	w.user("anna", fleet.RoleViewer)
	w.user("bert", fleet.RoleViewer)
	own, other, bert := w.login("anna"), w.login("anna"), w.login("bert")
	list := w.want(http.StatusOK, call{method: http.MethodGet, path: Prefix + "/sessions", token: own})
	if strings.Count(list, `"user":"anna"`) != 2 || strings.Contains(list, "bert") || strings.Contains(list, own) ||
		strings.Count(list, `"current":true`) != 1 {
		t.Errorf("got %s", list)
	}
	sessions, err := w.store.Sessions(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sessions {
		path := call{method: http.MethodDelete, path: Prefix + "/sessions/" + s.ID, token: own}
		switch {
		case s.User == "bert":
			w.problem(http.StatusNotFound, path)
		case s.Hash != sessionHash(t, w, own):
			w.want(http.StatusNoContent, path)
		}
	}
	for token, want := range map[string]int{own: 200, other: 401, bert: 200} {
		if got := w.do(call{method: http.MethodGet, path: Prefix + "/whoami", token: token}).StatusCode; got != want {
			t.Errorf("got %d, want %d", got, want)
		}
	}
	if all := w.get(Prefix + "/sessions"); !strings.Contains(all, "bert") {
		t.Errorf("got %s for an administrator", all)
	}
}

// sessionHash is the hash of the session that has this token.
func sessionHash(t *testing.T, w *world, token string) string {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, "http://localhost/", nil)
	r.Header.Set("X-API-Key", token)
	who, err := w.setup.Auth.Authenticate(r)
	if err != nil {
		t.Fatal(err)
	}
	all, err := w.store.Sessions(t.Context(), who.Name)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if s.ID == who.Session {
			return s.Hash
		}
	}
	t.Fatal("the session is not kept")
	return ""
}

func TestUsersAreManagedByAnAdministrator(t *testing.T) {
	w := newWorld(t)
	w.user("root", fleet.RoleAdmin)
	const users = Prefix + "/users"
	for body, status := range map[string]int{
		`{"name":"root","role":"viewer"}`: http.StatusConflict, `{"name":"viewer","role":"viewer"}`: http.StatusConflict,
		`{"name":"muster","role":"viewer"}`: http.StatusUnprocessableEntity,
		`{"name":"bert","role":"king"}`:     http.StatusUnprocessableEntity, `{"name":"bert"}`: http.StatusUnprocessableEntity,
		`{"name":"bert","role":"viewer","password":"short"}`: http.StatusUnprocessableEntity,
	} {
		w.problem(status, call{method: http.MethodPost, path: users, body: body})
	}
	made := w.want(http.StatusCreated, call{method: http.MethodPost, path: users, body: `{"name":"Bert","role":"viewer"}`})
	if !strings.HasPrefix(made, `{"name":"bert","role":"viewer","tags":[],"hasPassword":false,`) ||
		!strings.HasSuffix(made, `"lastLoginAt":null,"disabledAt":null}`) {
		t.Errorf("got %s", made)
	}
	for _, method := range []string{http.MethodPut, http.MethodDelete} {
		p := w.problem(http.StatusConflict, call{method: method, path: users + "/root", body: `{"role":"viewer"}`})
		if !strings.Contains(p.Detail, "last administrator") {
			t.Errorf("%s: got %+v", method, p)
		}
		w.problem(http.StatusNotFound, call{method: method, path: users + "/nobody", body: `{"role":"viewer"}`})
	}
	w.want(http.StatusOK, call{method: http.MethodPut, path: users + "/BERT",
		body: `{"role":"admin","password":"` + goodPassword + `"}`})
	w.login("bert")
	if all := w.get(users); strings.Contains(all, "argon2") || strings.Count(all, `"role":"admin"`) != 2 {
		t.Errorf("got %s", all)
	}
	w.want(http.StatusNoContent, call{method: http.MethodDelete, path: users + "/root"})
	link := w.want(http.StatusOK, call{method: http.MethodPost, path: Prefix + "/login-links", body: `{"user":"bert"}`})
	if !strings.HasPrefix(link, `{"path":"/ui/login?code=`) || !strings.Contains(link, `"user":"bert"`) {
		t.Errorf("got %s", link)
	}
	w.problem(http.StatusNotFound, call{method: http.MethodPost, path: Prefix + "/login-links", body: `{"user":"nobody"}`})
}

// The pages and their redirects named the root of the host: behind a proxy that serves Muster below a prefix, they led
// outside of it.
func TestTheLogInPagesStayBelowThePrefixOfAProxy(t *testing.T) {
	w := newWorld(t)
	w.user("anna", fleet.RoleAuthor)
	const prefix = "/tools/muster"
	b := w.browser()
	proxied := httptest.NewServer(http.StripPrefix(prefix, http.HandlerFunc(func(
		out http.ResponseWriter, r *http.Request,
	) {
		r.Host = b.host
		w.api.ServeHTTP(out, r)
	})))
	defer proxied.Close()
	visits := 0
	client := &http.Client{CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if visits++; !strings.HasPrefix(r.URL.Path, prefix+"/") {
			t.Errorf("a redirect leads to %s", r.URL)
		}
		return nil
	}}
	for _, path := range []string{"/", "/ui", "/ui/", "/ui/login", auth.LoginPath + "nothing"} {
		resp, err := client.Get(proxied.URL + prefix + path)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		if err := errors.Join(err, resp.Body.Close()); err != nil {
			t.Fatal(err)
		}
		ways := regexp.MustCompile(`(?:href|action)="([^"]*)"`).FindAllSubmatch(text, -1)
		if len(ways) < 2 {
			t.Errorf("%s: got the page %s", path, text)
		}
		for _, way := range ways {
			if to, err := resp.Request.URL.Parse(string(way[1])); err != nil || !strings.HasPrefix(to.Path, prefix+"/ui/") {
				t.Errorf("%s: the page leads to %s, %v", path, to, err)
			}
		}
	}
	if visits == 0 {
		t.Error("no redirect was followed")
	}
}
