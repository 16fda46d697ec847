// Package pages has what a browser sees besides the API: the pages of logging in and out, the console, and the way to
// the manual. They hold no data: whatever a person sees of the fleet, a script asks the API for.
package pages

import (
	"bytes"
	"embed"
	"errors"
	"html/template"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"muster/internal/edge/auth"
	"muster/internal/fleet"
	"muster/internal/logkey"
)

//go:embed files
var files embed.FS

var pageTemplate = template.Must(template.New("page.html").Funcs(template.FuncMap{"prose": prose}).
	ParseFS(files, "files/page.html"))

// prose is a sentence of the server as HTML. What is between backticks is code.
func prose(text string) template.HTML {
	var out strings.Builder
	for i, part := range strings.Split(text, "`") {
		part = template.HTMLEscapeString(part)
		if i%2 == 1 {
			part = "<code>" + part + "</code>"
		}
		out.WriteString(part)
	}
	return template.HTML(out.String()) //nolint:gosec // each part is escaped
}

const (
	home   = "/ui/"
	manual = "/docs/"

	// pagePolicy lets a page load its own style sheet, font and script, ask this server, and send its own forms.
	pagePolicy = "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; font-src 'self'; " +
		"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

	maxForm = 16 << 10 // bytes
)

// Options are what the pages stand on.
type Options struct {
	Log       *slog.Logger
	Sessions  Sessions // nil: there are no pages of logging in
	Links     Links
	SignOn    SignOn   // nil: there is no single sign-on
	PublicURL *url.URL // People reach the server by it; nil: it is not known.
	Console   fs.FS    // The browser console; nil: the pages log people in and out, and nothing more.
	Manual    Page     // nil: there is none
	// Classify gives the status of an error, and what a person is told of it.
	Classify func(err error) (status int, known *fleet.Error)
}

// Page answers a request. Where it gives an error it wrote nothing: the caller tells of the error as the API does.
// fs.ErrNotExist: there is nothing at the path.
type Page = func(w http.ResponseWriter, r *http.Request) error

// pages answers requests of browsers.
type pages struct {
	Options
	log *slog.Logger
}

// New gives the pages by their patterns, as http.ServeMux has them.
func New(o Options) map[string]Page {
	s := &pages{Options: o, log: o.Log.With(logkey.Component, "pages")}
	all := map[string]Page{"GET /{$}": redirect(home), "GET /ui": redirect(home)}
	for _, file := range []string{"style.css", "session.js"} {
		all["GET /ui/"+file] = func(w http.ResponseWriter, r *http.Request) error {
			http.ServeFileFS(w, r, files, "files/"+file)
			return nil
		}
	}
	if s.Manual != nil {
		all["GET /docs"], all["GET "+manual] = redirect(manual), s.Manual
	}
	if s.Sessions == nil {
		return all
	}
	if s.Console != nil {
		s.addConsole(all)
	} else {
		all["GET "+home+"{$}"] = s.homePage
	}
	all["GET "+auth.LogInPage] = s.loginPage
	all["POST "+auth.LogInPage] = s.form(s.loginForm)
	all["POST /ui/logout"] = s.form(s.logoutForm)
	if s.SignOn != nil {
		all["GET "+auth.SignOnPage] = s.beginSignOn
		all["GET "+auth.CallbackPath] = s.finishSignOn
		all["POST "+auth.BackChannelPath] = s.logOutByProvider
	}
	return all
}

func redirect(to string) Page {
	return func(w http.ResponseWriter, r *http.Request) error { return goTo(w, r, to) }
}

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

// goTo sends the browser to a page of Muster, or of the provider of single sign-on. No part of a request decides where
// to. The way to a page of Muster is relative, as in its pages: http.Redirect would drop the prefix of a proxy.
func goTo(w http.ResponseWriter, r *http.Request, page string) error {
	if path, own := strings.CutPrefix(page, "/"); own {
		page = rootFrom(r) + path
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Location", page)
	w.WriteHeader(http.StatusSeeOther)
	return nil
}

// rootFrom leads from the address of a request to the server's root, whatever prefix a proxy puts before both.
func rootFrom(r *http.Request) string {
	if depth := strings.Count(r.URL.EscapedPath(), "/") - 1; depth > 0 {
		return strings.Repeat("../", depth)
	}
	return "./"
}

func (s *pages) showError(w http.ResponseWriter, r *http.Request, p page, err error) error {
	p.status, p.Error = s.Classify(err)
	if p.status == http.StatusInternalServerError {
		s.log.Error("page failed", logkey.Err(err))
		p.Error = &fleet.Error{Message: "something went wrong inside Muster", Hint: "Try again. The server's log has more."}
	}
	if e := (*fleet.Error)(nil); errors.As(err, &e) && e.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(e.RetryAfter.Seconds())))
	}
	return s.showPage(w, r, p)
}

func (s *pages) showPage(w http.ResponseWriter, r *http.Request, p page) error {
	if p.Kind == "login" && s.SignOn != nil {
		p.SignOn, p.Away = s.SignOn.ProviderName(), s.SignOn.Away()
	}
	p.Root, p.Manual = rootFrom(r), s.Manual != nil
	var text bytes.Buffer
	if err := pageTemplate.Execute(&text, p); err != nil {
		return err
	}
	referrer := "same-origin" // With no-referrer a browser would send a form with the origin null.
	if p.Bare {
		referrer = "no-referrer"
	}
	header := w.Header()
	header.Set("Content-Security-Policy", pagePolicy)
	header.Set("Referrer-Policy", referrer)
	return write(w, r, max(p.status, http.StatusOK), text.Bytes())
}

// write sends a page, after the headers that every page has.
func write(w http.ResponseWriter, r *http.Request, status int, text []byte) error {
	header := w.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Content-Length", strconv.Itoa(len(text)))
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(text) // a client that is gone needs no answer
	}
	return nil
}
