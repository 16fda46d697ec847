package pages

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"muster/internal/edge/auth"
	"muster/internal/fleet"
)

// SignOn logs people in by the provider of single sign-on; see auth.SignOn.
type SignOn interface {
	ProviderName() string
	Away() bool
	LogOutURL() string
	Begin(ctx context.Context) (to, cookie string, err error)
	Finish(ctx context.Context, cookie string, brought url.Values, from auth.Client) (auth.Started, error)
	LogOut(ctx context.Context, token string, from auth.Client) error
}

// beginSignOn sends the browser to the provider. It is a link and no form: a browser would hold the policy for forms
// against the provider. Only Muster's own pages and a person begin a log-in.
func (s *pages) beginSignOn(w http.ResponseWriter, r *http.Request) error {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
		return goTo(w, r, auth.LogInPage)
	}
	if s.PublicURL != nil && !strings.EqualFold(r.Host, s.PublicURL.Host) { // the provider sends the browser there
		return goTo(w, r, s.PublicURL.JoinPath(auth.LogInPage).String())
	}
	to, begun, err := s.SignOn.Begin(r.Context())
	if err != nil {
		return s.showError(w, r, page{Kind: "login", Title: "Log in"}, err)
	}
	http.SetCookie(w, auth.NewSignOnCookie(r, begun))
	return goTo(w, r, to)
}

// finishSignOn ends a log-in with what the browser brings back.
func (s *pages) finishSignOn(w http.ResponseWriter, r *http.Request) error {
	begun := auth.CookieOf(r, auth.SignOnCookie)
	http.SetCookie(w, auth.NoSignOnCookie(r))
	started, err := s.SignOn.Finish(r.Context(), begun, r.URL.Query(), auth.ClientOf(r))
	if err != nil {
		return s.showError(w, r, page{Title: "You are not logged in", Bare: true}, err)
	}
	return s.enter(w, r, started)
}

// logOutByProvider ends sessions because the provider says so, with a logout token in a form. No browser is involved:
// what the caller may do is in the token, which the provider has signed.
func (s *pages) logOutByProvider(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Cache-Control", "no-store")
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		return &fleet.Error{Code: fleet.CodeMalformed, Message: "the form is damaged or too large",
			Hint: "Send the logout token in a form, as logout_token.", Err: err}
	}
	if err := s.SignOn.LogOut(r.Context(), r.PostForm.Get("logout_token"), auth.ClientOf(r)); err != nil {
		return err
	}
	w.WriteHeader(http.StatusOK)
	return nil
}

// PublicAddress is the URL that people reach the server by, without a path.
func PublicAddress(text string) (*url.URL, error) {
	at, err := url.Parse(strings.TrimRight(text, "/"))
	if err != nil || at.Scheme != "https" && at.Scheme != "http" || at.Host == "" || at.Path != "" || at.User != nil ||
		at.RawQuery != "" || at.Fragment != "" {
		return nil, &fleet.Error{Code: fleet.CodeInvalid, Message: "--public-url is no address of a server",
			Hint: "For example --public-url https://muster.example.org, without a path."}
	}
	if at.Scheme == "http" && !auth.LoopbackHost(at.Host) {
		return nil, &fleet.Error{Code: fleet.CodeInvalid, Message: "--public-url begins with http://",
			Hint: "People log in over https:// only; plain HTTP is for loopback addresses."}
	}
	return at, nil
}
