package browser_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"muster/api"
	"muster/internal/edge/auth"
	"muster/internal/fleet"
	"muster/test/wait"
)

// One browser and one server are for all tests. Those of attacks compare what the server has before and after: they run
// first, one by one.
func TestChromium(t *testing.T) {
	w := newWorld(t)
	for _, one := range []struct {
		name     string
		test     func(*testing.T, *world)
		parallel bool
	}{
		{"the attack finds a server that is open to all", attackAnOpenServer, false},
		{"a page of another origin", attackFromOtherOrigins, false},
		{"a page whose name leads to the server", attackFromAReboundName, false},
		{"a person logs in by password and out", logInAndOut, true},
		{"a person comes by a log-in link", comeByALink, true},
		{"no script of a page reads the session", hideTheSession, true},
		{"no script runs in a page", blockScripts, true},
		{"a program on another port replays the cookie", stealTheCookie, true},
		{"a log-in leads to no other site", stayAfterLogIn, true},
		{"a session from before the log-in is not kept", replaceTheSession, true},
		{"a page of a sibling plants no session", refusePlantedCookies, true},
	} {
		t.Run(one.name, func(t *testing.T) {
			if one.parallel {
				t.Parallel()
			}
			one.test(t, w)
		})
	}
}

func logInAndOut(t *testing.T, w *world) {
	w.user(t, "in-and-out", fleet.RoleViewer)
	b := w.tab(t)
	b.do(chromedp.Navigate(w.origin + "/"))
	b.wait(loginForm)
	if at := b.location(); at != w.origin+"/ui/login" {
		t.Errorf("a new visitor is at %s", at)
	}
	b.fill(map[string]string{"userid": "in-and-out", "password": "another " + password})
	b.wait(`[role="alert"]`)
	if text := strings.ToLower(b.text()); !strings.Contains(text, "the user name or the password is wrong") {
		t.Errorf("a wrong password is answered with %q", text)
	}
	b.login(w, "in-and-out")
	session := b.cookies()[sessionCookie]
	if at, text := b.location(), b.text(); at != w.origin+"/ui/" ||
		!strings.Contains(text, "in-and-out with the role viewer") || session == nil ||
		b.whoami() != "in-and-out" {
		t.Fatalf("at %s: %q, %+v", at, text, session)
	}
	b.do(chromedp.Click(logoutForm + " button"))
	b.wait(loginForm)
	if left := b.cookies()[sessionCookie]; left != nil || w.hasSession(t, "in-and-out") {
		t.Errorf("the session goes on after the log-out: %+v", left)
	}
	b.do(chromedp.Navigate(w.origin + "/ui/"))
	b.wait(loginForm)
	if kept := eval[string](b, `localStorage.getItem("muster-session") ?? ""`); kept != "" {
		t.Errorf("the browser keeps %q", kept)
	}
}

// hasSession tells whether the server knows a session of a user.
func (w *world) hasSession(t *testing.T, user string) bool {
	t.Helper()
	all, err := w.Client.Sessions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(all, func(s api.Session) bool { return s.User == user })
}

// A program on another port of the host gets the cookie as soon as a page leads there. It replayed it as the
// administrator.
func stealTheCookie(t *testing.T, w *world) {
	b := w.victim(t, "robbed")
	var mu sync.Mutex
	var stolen string
	thief := w.serve(t, ownName, http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if cookie, err := r.Cookie(sessionCookie); err == nil {
			mu.Lock()
			stolen = cookie.Value
			mu.Unlock()
		}
		serveHTML(out, r)
	}))
	b.do(chromedp.Navigate(thief + "/"))
	mu.Lock()
	defer mu.Unlock()
	if stolen == "" {
		t.Fatal("the browser sends no cookie to another port: this test would find nothing")
	}
	if kept := eval[int](b, `localStorage.length`); kept != 0 {
		t.Errorf("a page of another port reads %d things that Muster's page keeps", kept)
	}
	if who := w.replay(t, w.URL, stolen); who != "" {
		t.Errorf("the thief is %q", who)
	}
	b.do(chromedp.Navigate(w.origin + "/ui/"))
	b.wait(logoutForm)
	if who := b.whoami(); who != "robbed" {
		t.Errorf("the person is %q", who)
	}
}

func comeByALink(t *testing.T, w *world) {
	link, err := w.Client.CreateLoginLink(t.Context(), api.CreateLoginLink{})
	if err != nil {
		t.Fatal(err)
	}
	b := w.tab(t)
	b.do(chromedp.Navigate(w.origin + link.Path))
	b.fill(map[string]string{"userid": "first", "password": password, "repeated": password})
	b.wait(logoutForm)
	if text := b.text(); !strings.Contains(text, "first with the role admin") {
		t.Errorf("got %q", text)
	}
	again := w.tab(t)
	again.do(chromedp.Navigate(w.origin + link.Path))
	if text := again.text(); !strings.Contains(text, "used before") {
		t.Errorf("the link works a second time: %q", text)
	}
}

func hideTheSession(t *testing.T, w *world) {
	w.user(t, "hidden", fleet.RoleViewer)
	b := w.tab(t)
	b.login(w, "hidden")
	cookies := b.cookies()
	for _, name := range []string{sessionCookie, auth.HostPrefix + auth.DeviceCookie} {
		if c := cookies[name]; c == nil || !c.HTTPOnly || !c.Secure || c.SameSite != network.CookieSameSiteStrict ||
			c.Path != "/" || c.Domain != ownName {
			t.Errorf("the cookie %s is %+v", name, c)
		}
	}
	readable := eval[string](b, `document.cookie`)
	if len(cookies) != 2 || readable != "" {
		t.Errorf("a script reads %q of %d cookies", readable, len(cookies))
	}
}

// inject puts scripts into the page in every way, and tells which of them ran.
const inject = `new Promise((resolve) => {
	window.ran = [];
	const script = document.createElement("script");
	script.textContent = "window.ran.push('script')";
	document.body.append(script);
	const image = document.createElement("img");
	image.setAttribute("onerror", "window.ran.push('handler')");
	image.src = "data:,";
	document.body.append(image);
	const link = document.createElement("a");
	link.href = "javascript:window.ran.push('link')";
	document.body.append(link);
	link.click();
	const other = document.createElement("script");
	other.onload = other.onerror = () => setTimeout(() => resolve(window.ran.sort().join()), 200);
	other.src = "data:text/javascript,window.ran.push('file')";
	document.body.append(other);
})`

func blockScripts(t *testing.T, w *world) {
	w.user(t, "scripted", fleet.RoleViewer)
	b := w.tab(t)
	b.login(w, "scripted")
	for _, path := range []string{"/ui/", "/ui/login?code=x", "/api/v1/devices", "/nowhere"} {
		b.do(chromedp.Navigate(w.origin + path))
		if ran := eval[string](b, inject); ran != "" {
			t.Errorf("%s: the policy lets run %s", path, ran)
		}
	}
	b.do(chromedp.Navigate(w.attacker(t, foreignName)))
	eval[string](b, inject)
	wait.Until(t, func() string { // a busy browser runs some of them later
		if ran := eval[string](b, `window.ran.sort().join()`); ran != "file,handler,link,script" {
			return fmt.Sprintf("without a policy only %q ran: this test would find nothing", ran)
		}
		return ""
	})
}

func stayAfterLogIn(t *testing.T, w *world) {
	w.user(t, "redirected", fleet.RoleViewer)
	elsewhere := w.attacker(t, foreignName)
	query := url.Values{}
	for _, name := range []string{"next", "redirect", "return_to", "continue", "url"} {
		query.Set(name, elsewhere)
	}
	b := w.tab(t)
	b.do(chromedp.Navigate(w.origin + "/ui/login?" + query.Encode()))
	b.fill(map[string]string{"userid": "redirected", "password": password})
	b.wait(logoutForm)
	if at := b.location(); at != w.origin+"/ui/" {
		t.Errorf("the log-in leads to %s", at)
	}
	b.do(chromedp.Navigate(w.origin + "/ui//" + strings.TrimPrefix(elsewhere, "https://")))
	if at := b.location(); !strings.HasPrefix(at, w.origin+"/") {
		t.Errorf("a path leads to %s", at)
	}
}

func replaceTheSession(t *testing.T, w *world) {
	w.user(t, "mallory", fleet.RoleViewer)
	w.user(t, "victim", fleet.RoleAdmin)
	mallory := w.tab(t)
	mallory.login(w, "mallory")
	planted := mallory.cookies()[sessionCookie].Value
	b := w.tab(t)
	b.do(chromedp.Navigate(w.origin + "/ui/style.css"))
	b.setCookie(w, sessionCookie, planted)
	b.do(chromedp.Navigate(w.origin + "/ui/"))
	b.wait(loginForm) // the planted cookie does not count
	b.do(chromedp.Navigate(w.origin + "/ui/style.css"))
	// mallory's cookie goes to the form without a visit of the log-in page
	eval[chromedp.Void](b, `(() => {
		const form = document.createElement("form");
		form.method = "post";
		form.action = "/ui/login";
		for (const [name, value] of [["userid", "victim"], ["password", "`+password+`"]]) {
			const field = document.createElement("input");
			field.name = name;
			field.value = value;
			form.append(field);
		}
		document.body.replaceChildren(form);
		form.submit();
	})()`)
	b.wait(logoutForm)
	session := b.cookies()[sessionCookie]
	if session == nil || session.Value == planted || b.whoami() != "victim" {
		t.Errorf("after the log-in the session is %+v", session)
	}
	if who := mallory.whoami(); who != "" {
		t.Errorf("the session of before is %q", who)
	}
}

// A page of the same site cannot give the browser a session, as the cookie's name begins with __Host-.
func refusePlantedCookies(t *testing.T, w *world) {
	w.user(t, "planter", fleet.RoleViewer)
	planted, _, err := w.As("").Login(t.Context(), "planter", password, "")
	if err != nil {
		t.Fatal(err)
	}
	b := w.tab(t)
	b.do(chromedp.Navigate(w.attacker(t, siblingName)))
	set := eval[string](b, `(() => {
		for (const name of ["`+sessionCookie+`", "`+auth.SessionCookie+`"])
			document.cookie = name + "=`+planted.Token+`; domain=`+ownName+`; path=/; secure";
		document.cookie = "control=1; domain=`+ownName+`; path=/; secure";
		return document.cookie;
	})()`)
	if !strings.Contains(set, "control=1") {
		t.Errorf("the sibling sets no cookie at all: %q", set)
	}
	b.do(chromedp.Navigate(w.origin + "/ui/"))
	b.wait(loginForm)
	if c := b.cookies()[sessionCookie]; c != nil {
		t.Errorf("a sibling planted %+v", c)
	}
}
