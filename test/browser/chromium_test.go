// Package browser_test opens pages of a server with TLS in a real Chromium. It tests what pages of other origins
// cannot read or change, and how people log in.
//
//muster:needs daemons browser
package browser_test

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"muster/api"
	"muster/internal/edge/auth"
	"muster/internal/fleet"
	"muster/test/page"
	"muster/test/server"
)

func TestMain(m *testing.M) {
	server.Main()
	m.Run()
}

// Names that lead to this machine in the browser; all others lead nowhere.
const (
	ownName     = "muster.example"
	siblingName = "other.muster.example" // of the same site: cookies of SameSite=Strict go along
	foreignName = "evil.example"
	reboundName = "rebound.example"
)

const (
	password      = "correct horse battery"
	sessionCookie = auth.HostPrefix + auth.SessionCookie
	tabLimit      = 2 * time.Minute
)

// world is a server, and a browser that trusts its certificate.
type world struct {
	*server.Server
	origin      string
	certificate tls.Certificate
	browser     context.Context
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{}
	cert, key := server.Certificate(t, ownName, siblingName, foreignName, reboundName)
	var err error
	if w.certificate, err = tls.LoadX509KeyPair(cert, key); err != nil {
		t.Fatal(err)
	}
	w.Server = server.Start(t, server.Options{Mode: fleet.ModeObserve, TLSCert: cert, TLSKey: key,
		AllowHosts: []string{ownName}})
	at, err := url.Parse(w.URL)
	if err != nil {
		t.Fatal(err)
	}
	w.origin = "https://" + net.JoinHostPort(ownName, at.Port())
	w.startChromium(t)
	return w
}

// startChromium starts the one browser of these tests, with an empty profile. Nothing of it leaves the machine.
func (w *world) startChromium(t *testing.T) {
	t.Helper()
	known := sha256.Sum256(w.certificate.Leaf.RawSubjectPublicKeyInfo)
	ctx, cancel := chromedp.NewExecAllocator(context.Background(),
		chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
		chromedp.Flag("disable-dev-shm-usage", true),
		chromedp.Flag("ignore-certificate-errors-spki-list", base64.StdEncoding.EncodeToString(known[:])),
		chromedp.Flag("host-resolver-rules", "MAP *.example 127.0.0.1,MAP * ~NOTFOUND"))
	t.Cleanup(cancel)
	w.browser, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	if err := chromedp.Do(w.browser); err != nil {
		t.Fatalf("chromium does not start: %v", err)
	}
}

// user makes a user with the password.
func (w *world) user(t *testing.T, name string, role fleet.Role) {
	t.Helper()
	text, is := password, string(role)
	if _, err := w.Client.CreateUser(t.Context(), api.CreateUser{Name: &name, Role: &is, Password: &text}); err != nil {
		t.Fatal(err)
	}
}

// tab is a page of a browser with cookies of its own.
type tab struct {
	t   *testing.T
	ctx context.Context
}

func (w *world) tab(t *testing.T) tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(w.browser, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil { // opens it
		t.Fatal(err)
	}
	ctx, cancel = context.WithTimeout(ctx, tabLimit)
	t.Cleanup(cancel)
	return tab{t, ctx}
}

func (b tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := page.Do(b.ctx, steps...); err != nil {
		b.t.Fatal(err)
	}
}

// ask runs an action and gives its value.
func ask[T any](b tab, action chromedp.Action[T]) T {
	b.t.Helper()
	value, err := page.Run(b.ctx, action)
	if err != nil {
		b.t.Fatal(err)
	}
	return value
}

// wait waits for an element.
func (b tab) wait(selector chromedp.CSS) {
	b.t.Helper()
	b.do(chromedp.WaitVisible(selector))
}

// fill types into the form of a page and sends it.
func (b tab) fill(fields map[string]string) {
	b.t.Helper()
	for name, text := range fields {
		b.do(chromedp.SendKeys(chromedp.CSS("#"+name), text))
	}
	b.do(chromedp.Click(chromedp.CSS("main form button")))
}

const (
	loginForm  = chromedp.CSS(`form[action$="/ui/login"]`)
	logoutForm = chromedp.CSS(`form[action$="/ui/logout"]`)
)

// login logs a user in by the page. It tries again while the server refuses because other log-ins take all its time.
func (b tab) login(w *world, name string) {
	b.t.Helper()
	for {
		b.do(chromedp.Navigate(w.origin + "/ui/login"))
		b.fill(map[string]string{"userid": name, "password": password})
		b.wait(logoutForm + `, [role="alert"]:not([hidden])`)
		text := strings.ToLower(b.text())
		if strings.Contains(text, "the user name or the password is wrong") {
			b.t.Fatal(text)
		}
		if !strings.Contains(text, "too many people log in at the same time") {
			break
		}
	}
	b.wait(logoutForm)
}

func (b tab) text() string {
	b.t.Helper()
	return ask(b, chromedp.Text(chromedp.CSS("body")))
}

func (b tab) location() string {
	b.t.Helper()
	return ask(b, chromedp.Location())
}

// eval runs a script in the page, and waits for what it promises.
func eval[T any](b tab, script string) T {
	b.t.Helper()
	return ask(b, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
}

// cookies are those that go to the server of the page, by name.
func (b tab) cookies() map[string]*network.Cookie {
	b.t.Helper()
	found := map[string]*network.Cookie{}
	b.do(chromedp.Func(func(ctx context.Context, page *chromedp.Target) error {
		all, err := cdp.Call(ctx, page, network.GetCookies, network.GetCookiesParams{})
		for _, cookie := range all.Cookies {
			found[cookie.Name] = cookie
		}
		return err
	}))
	return found
}

// setCookie gives the browser a cookie, as somebody does who had the machine before.
func (b tab) setCookie(w *world, name, value string) {
	b.t.Helper()
	yes := true
	b.do(chromedp.Func(func(ctx context.Context, page *chromedp.Target) error {
		_, err := cdp.Call(ctx, page, network.SetCookie, network.SetCookieParams{Name: name, Value: value,
			URL: w.origin + "/", Path: "/", Secure: &yes, HTTPOnly: &yes})
		return err
	}))
}

// whoami is the user of the session that the page of a tab has; "" where it has none.
func (b tab) whoami() string {
	b.t.Helper()
	return eval[string](b, `fetch("/api/v1/whoami", {headers: {"`+auth.SessionHeader+`":
		localStorage.getItem("muster-session") ?? ""}}).then((answer) => answer.json()).then((who) => who.name ?? "")`)
}

// replay sends the cookie of a session in every way that a program can, without the other half. It gives the user; ""
// where no user has it.
func (w *world) replay(t *testing.T, at, cookie string) string {
	t.Helper()
	for _, header := range [][2]string{{"Authorization", "Bearer " + cookie}, {"X-API-Key", cookie},
		{"Cookie", auth.SessionCookie + "=" + cookie + "; " + sessionCookie + "=" + cookie}} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at+"/api/v1/whoami", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set(header[0], header[1])
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true,
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} //nolint:gosec // a thief does not care
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		var who api.Whoami
		err = errors.Join(json.NewDecoder(resp.Body).Decode(&who), resp.Body.Close())
		if resp.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s: got %d, %v", header[0], resp.StatusCode, err)
			return who.Name
		}
	}
	return ""
}
