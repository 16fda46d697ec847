package pages

import (
	"context"
	"net/http"

	"muster/internal/edge/auth"
	"muster/internal/fleet"
	"muster/internal/logkey"
)

// Sessions logs people in and out; see auth.People.
type Sessions interface {
	LogIn(ctx context.Context, name, password string, from auth.Client) (auth.Started, error)
	// Leave ends the session of a cookie.
	Leave(ctx context.Context, cookie string) (signedOn bool, err error)
	// Code returns the code that a page exchanges for the session.
	Code(started auth.Started) (string, error)
}

// Links are log-in links; see auth.People.
type Links interface {
	Link(ctx context.Context, code string) (fleet.LoginLink, error)
	UseLink(ctx context.Context, code, name, password string, from auth.Client) (auth.Started, error)
}

// homePage shows a page whose script asks who is logged in: the cookie, which is all that comes with a request for a
// page, proves nothing.
func (s *pages) homePage(w http.ResponseWriter, r *http.Request) error {
	return s.showPage(w, r, page{Kind: "home", Title: "Muster"})
}

func (s *pages) loginPage(w http.ResponseWriter, r *http.Request) error {
	code := r.URL.Query().Get("code")
	if code != "" { // the link is used up by the form only: a program may open links before a person does
		return s.showLink(w, r, page{Code: code}, nil)
	}
	return s.showPage(w, r, page{Kind: "login", Title: "Log in"})
}

// showLink shows the form of a log-in link, with an error about what was sent with it before.
func (s *pages) showLink(w http.ResponseWriter, r *http.Request, p page, about error) error {
	link, err := s.Links.Link(r.Context(), p.Code)
	if err != nil {
		return s.showError(w, r, page{Title: "This link does not work any more"}, err)
	}
	p.Kind, p.Title, p.User = "link", "Welcome", link.User
	if about != nil {
		return s.showError(w, r, p, about)
	}
	return s.showPage(w, r, p)
}

// form reads a form and answers it.
func (s *pages) form(answer Page) Page {
	return func(w http.ResponseWriter, r *http.Request) error {
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		if err := r.ParseForm(); err != nil {
			return s.showError(w, r, page{Title: "This form cannot be read"}, &fleet.Error{Code: fleet.CodeMalformed,
				Message: "the form is damaged or too large", Hint: "Go back and send it again.", Err: err})
		}
		return answer(w, r)
	}
}

func (s *pages) loginForm(w http.ResponseWriter, r *http.Request) error {
	name, password, code := r.PostForm.Get("userid"), r.PostForm.Get("password"), r.PostForm.Get("code")
	if code == "" {
		from := auth.ClientOf(r)
		from.Browser = true
		started, err := s.Sessions.LogIn(r.Context(), name, password, from)
		if err != nil {
			return s.showError(w, r, page{Kind: "login", Title: "Log in", Typed: name}, err)
		}
		return s.enter(w, r, started)
	}
	retry := page{Code: code, Typed: name}
	if password != r.PostForm.Get("repeated") {
		return s.showLink(w, r, retry, fleet.Invalidf("repeated", "the two passwords are not the same"))
	}
	started, err := s.Links.UseLink(r.Context(), code, name, password, auth.ClientOf(r))
	if err != nil {
		return s.showLink(w, r, retry, err)
	}
	return s.enter(w, r, started)
}

// enter ends the session that the browser had before. It shows a page that exchanges its code for the new session, and
// then opens the first page.
func (s *pages) enter(w http.ResponseWriter, r *http.Request, started auth.Started) error {
	s.endOwn(r)
	code, err := s.Sessions.Code(started)
	if err != nil {
		return s.showError(w, r, page{Title: "You are not logged in", Bare: true}, err)
	}
	return s.showPage(w, r, page{Kind: "entered", Title: "Logged in", Bare: true, User: started.Session.User, Code: code})
}

func (s *pages) logoutForm(w http.ResponseWriter, r *http.Request) error {
	signedOn := s.endOwn(r)
	http.SetCookie(w, auth.NoSessionCookie(r))
	if s.SignOn == nil || !signedOn || s.SignOn.LogOutURL() == "" {
		return goTo(w, r, auth.LogInPage)
	}
	// The person is still logged in at the provider.
	return s.showPage(w, r, page{Kind: "out", Title: "Logged out of Muster", SignOn: s.SignOn.ProviderName(),
		To: s.SignOn.LogOutURL()})
}

// endOwn ends the session of the cookie that comes with a request, if one comes. It reports whether single sign-on
// started the session.
func (s *pages) endOwn(r *http.Request) (signedOn bool) {
	cookie := auth.CookieOf(r, auth.SessionCookie)
	if cookie == "" {
		return false
	}
	signedOn, err := s.Sessions.Leave(r.Context(), cookie)
	if err != nil && fleet.CodeOf(err) != fleet.CodeNotFound {
		s.log.Warn("a session is not ended", logkey.Err(err))
	}
	return signedOn
}
