package pages

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"muster/internal/edge/auth"
	"muster/internal/fleet"
)

// provider plays single sign-on with one provider.
type provider struct {
	err      error // What every log-in ends with; nil: it works.
	finished string
	ended    string
}

func (p *provider) ProviderName() string { return "Example ID" }
func (p *provider) Away() bool           { return p.err != nil }
func (p *provider) LogOutURL() string    { return "https://id.example/out" }
func (p *provider) Begin(context.Context) (to, cookie string, err error) {
	return "https://id.example/in", "begun", p.err
}
func (p *provider) Finish(_ context.Context, cookie string, brought url.Values, _ auth.Client) (auth.Started, error) {
	p.finished = cookie + " " + brought.Get("state")
	return auth.Started{Session: fleet.Session{User: "anna"}}, p.err
}
func (p *provider) LogOut(_ context.Context, token string, _ auth.Client) error {
	p.ended = token
	return p.err
}

// signedOn is a person whose session was begun by single sign-on.
type signedOn struct{ nobody }

func (signedOn) Code(auth.Started) (string, error)           { return "code-of-the-page", nil }
func (signedOn) Leave(context.Context, string) (bool, error) { return true, nil }

// withProvider are the pages of a server with single sign-on, which people reach as muster.example.
func withProvider(p *provider) http.Handler {
	return served(Options{Sessions: signedOn{}, Links: nobody{}, SignOn: p,
		PublicURL: &url.URL{Scheme: "https", Host: "muster.example"},
		Classify: func(err error) (int, *fleet.Error) {
			return http.StatusServiceUnavailable, &fleet.Error{Message: err.Error()}
		}})
}

func ask(handler http.Handler, method, path, host string, header http.Header) *httptest.ResponseRecorder {
	path, form, _ := strings.Cut(path, " ")
	r := httptest.NewRequest(method, "https://"+host+path, strings.NewReader(form))
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for name, values := range header {
		r.Header[name] = values
	}
	rec := httptest.NewRecorder()
	handler.ServeHTTP(rec, r)
	return rec
}

func TestSingleSignOnBeginsAtTheAddressThatTheProviderKnows(t *testing.T) {
	pages := withProvider(&provider{})
	for name, test := range map[string]struct{ host, site, to string }{
		"a link of the log-in page": {"muster.example", "same-origin", "https://id.example/in"},
		"a bookmark":                {"muster.example", "none", "https://id.example/in"},
		"another site":              {"muster.example", "cross-site", "../../ui/login"},
		"another name":              {"other.example", "same-origin", "https://muster.example/ui/login"},
	} {
		got := ask(pages, http.MethodGet, auth.SignOnPage, test.host, http.Header{"Sec-Fetch-Site": {test.site}})
		if got.Code != http.StatusSeeOther || got.Header().Get("Location") != test.to {
			t.Errorf("%s: got %d to %q, want %q", name, got.Code, got.Header().Get("Location"), test.to)
		}
		cookies := got.Result().Cookies()
		if begins := strings.HasPrefix(test.to, "https://id."); begins != (len(cookies) == 1) {
			t.Errorf("%s: got the cookies %v", name, cookies)
		} else if begins && (cookies[0].SameSite != http.SameSiteLaxMode || !cookies[0].Secure || !cookies[0].HttpOnly ||
			cookies[0].Name != auth.HostPrefix+auth.SignOnCookie || cookies[0].Value != "begun") {
			t.Errorf("%s: got %v", name, cookies[0])
		}
	}
}

func TestSingleSignOnEndsWithACodeForTheScript(t *testing.T) {
	p := &provider{}
	got := ask(withProvider(p), http.MethodGet, auth.CallbackPath+"?state=xyz", "muster.example",
		http.Header{"Cookie": {auth.HostPrefix + auth.SignOnCookie + "=begun"}})
	if got.Code != http.StatusOK || !strings.Contains(got.Body.String(), `data-code="code-of-the-page"`) ||
		p.finished != "begun xyz" || got.Header().Get("Referrer-Policy") != "no-referrer" {
		t.Errorf("got %d %v\n%s, finished %q", got.Code, got.Header(), got.Body, p.finished)
	}
	if cookies := got.Result().Cookies(); len(cookies) != 1 || cookies[0].MaxAge >= 0 {
		t.Errorf("the cookie of the log-in stays: %v", cookies)
	}
	failed := ask(withProvider(&provider{err: fleet.NotFoundf("nobody began this")}), http.MethodGet, auth.CallbackPath,
		"muster.example", nil)
	if failed.Code != http.StatusServiceUnavailable || strings.Contains(failed.Body.String(), "data-code") ||
		!strings.Contains(failed.Body.String(), "nobody began this") {
		t.Errorf("got %d %s", failed.Code, failed.Body)
	}
}

func TestALogOutLeadsOnToTheProvider(t *testing.T) {
	session := http.Header{"Cookie": {auth.HostPrefix + auth.SessionCookie + "=muster_session_x"}}
	got := ask(withProvider(&provider{}), http.MethodPost, "/ui/logout", "muster.example", session)
	if got.Code != http.StatusOK || !strings.Contains(got.Body.String(), `href="https://id.example/out"`) {
		t.Errorf("got %d %s", got.Code, got.Body)
	}
	if cookies := got.Result().Cookies(); len(cookies) != 1 || cookies[0].MaxAge >= 0 {
		t.Errorf("the session's cookie stays: %v", cookies)
	}
	if got := ask(withProvider(&provider{}), http.MethodPost, "/ui/logout", "muster.example", nil); got.Code !=
		http.StatusSeeOther {
		t.Errorf("got %d for somebody without a session", got.Code)
	}
}

func TestTheProviderEndsSessionsWithItsToken(t *testing.T) {
	p := &provider{}
	if got := ask(withProvider(p), http.MethodPost, auth.BackChannelPath+" logout_token=signed", "muster.example",
		nil); got.Code != http.StatusOK || p.ended != "signed" || got.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("got %d %v, ended %q", got.Code, got.Header(), p.ended)
	}
	p.err = fleet.NotFoundf("not signed")
	if got := ask(withProvider(p), http.MethodPost, auth.BackChannelPath+" logout_token=forged", "muster.example",
		nil); got.Code == http.StatusOK {
		t.Errorf("got %d for a token that does not hold", got.Code)
	}
}

func TestThePublicAddressHasNoPathAndIsSafe(t *testing.T) {
	for text, works := range map[string]bool{
		"https://muster.example": true, "https://muster.example/": true, "http://localhost:2525": true,
		"http://muster.example": false, "https://muster.example/tools": false, "https://me@muster.example": false,
		"muster.example": false, "https://muster.example?x=1": false, "": false,
	} {
		if _, err := PublicAddress(text); (err == nil) != works {
			t.Errorf("%q: got %v", text, err)
		}
	}
}
