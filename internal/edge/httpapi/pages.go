package httpapi

import (
	"bytes"
	"embed"
	"errors"
	"html/template"
	"net/http"
	"strconv"
	"strings"

	"muster/internal/edge/auth"
	"muster/internal/fleet"
)

//go:embed pages
var pageFiles embed.FS

var pageTemplate = template.Must(template.ParseFS(pageFiles, "pages/page.html"))

const (
	homePage  = "/ui/"
	loginPage = auth.LogInPage

	manualPage = "/docs/"

	// pagePolicy lets a page load its own style sheet and its own script, ask this server, and send its own forms.
	pagePolicy = "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; form-action 'self'; " +
		"base-uri 'none'; frame-ancestors 'none'"
	// replyPolicy is for what is no page, should a browser show it as one.
	replyPolicy = "default-src 'none'; frame-ancestors 'none'"

	maxForm = 16 << 10 // bytes
)

// page is what a page shows.
type page struct {
	Kind  string // home, login, link, entered, out, or "" for an error alone
	Title string
	Error *fleet.Error
	User  string // who is logged in, or whose password the link sets
	Code  string // the code of the link, or the code that the page exchanges for a session
	Typed string // the user name that came with a form that failed

	SignOn string // the name of the provider of single sign-on; "": there is none
	Away   bool   // the provider did not answer when it was last asked
	To     string // where the person logs out of the provider
	Bare   bool   // the URL of the page holds what no other page is to be told

	Root   string // leads to the root of the server: "../"
	Manual bool   // there is a manual
	status int
}

// handlePages adds the log-in pages to the mux. They are no part of the API, and hold no data but the user's name.
func (s *server) handlePages() {
	redirect := func(to string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { goTo(w, r, to) }
	}
	s.mux.HandleFunc("GET /{$}", redirect(homePage))
	s.mux.HandleFunc("GET /ui", redirect(homePage))
	for _, file := range []string{"style.css", "session.js"} {
		s.mux.HandleFunc("GET /ui/"+file, func(w http.ResponseWriter, r *http.Request) {
			http.ServeFileFS(w, r, pageFiles, "pages/"+file)
		})
	}
	if s.Manual != nil {
		s.mux.HandleFunc("GET /docs", redirect(manualPage))
		s.mux.HandleFunc("GET "+manualPage, s.manualPage)
	}
	if s.Sessions == nil || s.LoginLinks == nil {
		return
	}
	if s.Console != nil {
		s.handleConsole()
	} else {
		s.mux.HandleFunc("GET "+homePage+"{$}", s.homePage)
	}
	s.mux.HandleFunc("GET "+loginPage, s.loginPage)
	s.mux.HandleFunc("POST "+loginPage, s.form(s.loginForm))
	s.mux.HandleFunc("POST /ui/logout", s.form(s.logoutForm))
	s.handleSignOn()
}

// goTo sends the browser to a page of Muster, or of the provider of single sign-on. No part of a request decides where
// to. The way to a page of Muster is relative, as in its pages: http.Redirect would drop the prefix of a proxy.
func goTo(w http.ResponseWriter, r *http.Request, page string) {
	if path, own := strings.CutPrefix(page, "/"); own {
		page = rootFrom(r) + path
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Location", page)
	w.WriteHeader(http.StatusSeeOther)
}

// rootFrom leads from the address of a request to the server's root, whatever prefix a proxy puts before both.
func rootFrom(r *http.Request) string {
	if depth := strings.Count(r.URL.EscapedPath(), "/") - 1; depth > 0 {
		return strings.Repeat("../", depth)
	}
	return "./"
}

// homePage shows a page whose script asks who is logged in: the cookie, which is all that comes with a request for a
// page, proves nothing.
func (s *server) homePage(w http.ResponseWriter, r *http.Request) {
	s.showPage(w, r, page{Kind: "home", Title: "Muster"})
}

func (s *server) loginPage(w http.ResponseWriter, r *http.Request) {
	code := r.URL.Query().Get("code")
	if code != "" { // the link is used up by the form only: a program may open links before a person does
		s.showLink(w, r, page{Code: code}, nil)
		return
	}
	s.showPage(w, r, page{Kind: "login", Title: "Log in"})
}

// showLink shows the form of a log-in link, with an error about what was sent with it before.
func (s *server) showLink(w http.ResponseWriter, r *http.Request, p page, about error) {
	link, err := s.LoginLinks.Link(r.Context(), p.Code)
	if err != nil {
		s.showError(w, r, page{Title: "This link does not work any more"}, err)
		return
	}
	p.Kind, p.Title, p.User = "link", "Welcome", link.User
	if about != nil {
		s.showError(w, r, p, about)
		return
	}
	s.showPage(w, r, p)
}

// form reads a form and answers it.
func (s *server) form(answer http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		if err := r.ParseForm(); err != nil {
			s.showError(w, r, page{Title: "This form cannot be read"}, &fleet.Error{Code: fleet.CodeMalformed,
				Message: "the form is damaged or too large", Hint: "Go back and send it again.", Err: err})
			return
		}
		answer(w, r)
	}
}

func (s *server) loginForm(w http.ResponseWriter, r *http.Request) {
	name, password, code := r.PostForm.Get("userid"), r.PostForm.Get("password"), r.PostForm.Get("code")
	if code == "" {
		from := clientOf(r)
		from.Browser = true
		started, err := s.Sessions.LogIn(r.Context(), name, password, from)
		if err != nil {
			s.showError(w, r, page{Kind: "login", Title: "Log in", Typed: name}, err)
			return
		}
		s.enter(w, r, started)
		return
	}
	retry := page{Code: code, Typed: name}
	if password != r.PostForm.Get("repeated") {
		s.showLink(w, r, retry, fleet.Invalidf("repeated", "the two passwords are not the same"))
		return
	}
	started, err := s.LoginLinks.UseLink(r.Context(), code, name, password, clientOf(r))
	if err != nil {
		s.showLink(w, r, retry, err)
		return
	}
	s.enter(w, r, started)
}

// enter ends the session that the browser had before. It shows a page that exchanges its code for the new session, and
// then opens the first page.
func (s *server) enter(w http.ResponseWriter, r *http.Request, started auth.Started) {
	s.endOwn(r)
	code, err := s.Sessions.Code(started)
	if err != nil {
		s.showError(w, r, page{Title: "You are not logged in", Bare: true}, err)
		return
	}
	s.showPage(w, r, page{Kind: "entered", Title: "Logged in", Bare: true, User: started.Session.User, Code: code})
}

func (s *server) logoutForm(w http.ResponseWriter, r *http.Request) {
	signedOn := s.endOwn(r)
	http.SetCookie(w, noSessionCookie(r))
	if !s.showLoggedOut(w, r, signedOn) {
		goTo(w, r, loginPage)
	}
}

// endOwn ends the session of the cookie that comes with a request, if one comes. It tells whether the session was begun
// by single sign-on.
func (s *server) endOwn(r *http.Request) (signedOn bool) {
	cookie := auth.CookieOf(r, auth.SessionCookie)
	if cookie == "" {
		return false
	}
	signedOn, err := s.Sessions.Leave(r.Context(), cookie)
	if err != nil && fleet.CodeOf(err) != fleet.CodeNotFound {
		s.log.Warn("a session is not ended", "err", err)
	}
	return signedOn
}

func (s *server) showError(w http.ResponseWriter, r *http.Request, p page, err error) {
	p.status, p.Error = classify(err)
	if p.status == http.StatusInternalServerError {
		s.log.Error("page failed", "err", err)
		p.Error = &fleet.Error{Message: "something went wrong inside Muster", Hint: "Try again. The server's log has more."}
	}
	if e := (*fleet.Error)(nil); errors.As(err, &e) && e.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(e.RetryAfter.Seconds())))
	}
	s.showPage(w, r, p)
}

func (s *server) showPage(w http.ResponseWriter, r *http.Request, p page) {
	if p.Kind == "login" {
		p.SignOn = s.signOnName()
		p.Away = p.SignOn != "" && s.SignOn.Away()
	}
	p.Root, p.Manual = rootFrom(r), s.Manual != nil
	var text bytes.Buffer
	if err := pageTemplate.Execute(&text, p); err != nil {
		s.fail(w, r, err)
		return
	}
	header := w.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Content-Length", strconv.Itoa(text.Len()))
	header.Set("Content-Security-Policy", pagePolicy)
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Referrer-Policy", "same-origin") // with no-referrer a browser would send a form with the origin null
	if p.Bare {
		header.Set("Referrer-Policy", "no-referrer")
	}
	header.Set("Cache-Control", "no-store")
	w.WriteHeader(max(p.status, http.StatusOK))
	if r.Method != http.MethodHead {
		_, _ = w.Write(text.Bytes()) // a client that is gone needs no answer
	}
}
