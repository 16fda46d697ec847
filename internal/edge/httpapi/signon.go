package httpapi

import (
	"context"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"time"

	"muster/api"
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

	HasDevices(ctx context.Context) bool
	BeginDevice(ctx context.Context, from auth.Client) (auth.DeviceLogIn, error)
	FinishDevice(ctx context.Context, handle string, from auth.Client) (auth.Started, time.Duration, error)

	LogOut(ctx context.Context, token string, from auth.Client) error
}

const (
	signOnPage   = loginPage + "/single-sign-on"
	callbackPage = auth.CallbackPath
	logOutPage   = auth.BackChannelPath
)

func (s *server) signOnRoutes() []route {
	device := Prefix + "/login/device"
	return []route{
		{method: http.MethodGet, path: Prefix + "/login", name: "getLogin", summary: "How people log in here",
			permission: auth.Public, reply: reflect.TypeFor[api.LoginMethods](), off: s.Sessions == nil, handle: s.getLogin},
		{method: http.MethodPost, path: device, name: "beginDeviceLogin",
			summary:    "Begin the log-in of a program without a browser: a person types a code at the provider",
			permission: auth.Public, reply: reflect.TypeFor[api.DeviceLogin](), volatile: true, conflicts: true,
			off: s.SignOn == nil, handle: s.beginDevice},
		{method: http.MethodPost, path: device + "/session", name: "endDeviceLogin",
			summary: "Start the session of a log-in that was begun so, once the person has answered", permission: auth.Public,
			body: reflect.TypeFor[api.EndDeviceLogin](), reply: reflect.TypeFor[api.DeviceSession](), volatile: true,
			conflicts: true, off: s.SignOn == nil, handle: s.endDevice},
	}
}

func (s *server) getLogin(r *request) (reply, error) {
	out := api.LoginMethods{Password: true}
	if s.SignOn != nil {
		out.SingleSignOn = &api.SingleSignOn{Name: s.SignOn.ProviderName(), Path: signOnPage,
			Device: s.SignOn.HasDevices(r.Context()), Away: s.SignOn.Away()}
	}
	return show(out)
}

func (s *server) beginDevice(r *request) (reply, error) {
	begun, err := s.SignOn.BeginDevice(r.Context(), clientOf(r.Request))
	if err != nil {
		return reply{}, err
	}
	return show(api.DeviceLogin{Handle: begun.Handle, UserCode: begun.UserCode, URL: begun.URL, DirectURL: begun.Direct,
		IntervalS: int(begun.Interval.Seconds()), ExpiresAt: api.Time{Time: begun.Until}})
}

func (s *server) endDevice(r *request) (reply, error) {
	body, err := decode[api.EndDeviceLogin](r)
	if err != nil {
		return reply{}, err
	}
	if err := missing(map[string]bool{"handle": body.Handle == nil}); err != nil {
		return reply{}, err
	}
	started, wait, err := s.SignOn.FinishDevice(r.Context(), *body.Handle, clientOf(r.Request))
	if err != nil {
		return reply{}, err
	}
	if started.Token == "" {
		return show(api.DeviceSession{IntervalS: int(wait.Seconds())})
	}
	return show(api.DeviceSession{User: started.Session.User, Session: new(newSession(started))})
}

// handleSignOn adds the pages of single sign-on to the mux.
func (s *server) handleSignOn() {
	if s.SignOn == nil {
		return
	}
	s.mux.HandleFunc("GET "+signOnPage, s.beginSignOn)
	s.mux.HandleFunc("GET "+callbackPage, s.finishSignOn)
	s.mux.HandleFunc("POST "+logOutPage, s.logOutByProvider)
}

// signOnName is what the button of the log-in page names; "" is none.
func (s *server) signOnName() string {
	if s.SignOn == nil {
		return ""
	}
	return s.SignOn.ProviderName()
}

// beginSignOn sends the browser to the provider. It is a link and no form: a browser would hold the policy for forms
// against the provider. Only Muster's own pages and a person begin a log-in.
func (s *server) beginSignOn(w http.ResponseWriter, r *http.Request) {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
		goTo(w, r, loginPage)
		return
	}
	if s.PublicURL != nil && !strings.EqualFold(r.Host, s.PublicURL.Host) { // the provider sends the browser there
		goTo(w, r, s.PublicURL.JoinPath(loginPage).String())
		return
	}
	to, begun, err := s.SignOn.Begin(r.Context())
	if err != nil {
		s.showError(w, r, page{Kind: "login", Title: "Log in"}, err)
		return
	}
	http.SetCookie(w, signOnCookie(r, begun, int(auth.SignOnLife.Seconds())))
	goTo(w, r, to)
}

// finishSignOn ends a log-in with what the browser brings back.
func (s *server) finishSignOn(w http.ResponseWriter, r *http.Request) {
	begun := auth.CookieOf(r, auth.SignOnCookie)
	http.SetCookie(w, signOnCookie(r, "", -1))
	started, err := s.SignOn.Finish(r.Context(), begun, r.URL.Query(), clientOf(r))
	if err != nil {
		s.showError(w, r, page{Title: "You are not logged in", Bare: true}, err)
		return
	}
	s.enter(w, r, started)
}

// signOnCookie comes back with the browser that the provider sends here, which no other cookie of Muster does.
func signOnCookie(r *http.Request, value string, maxAge int) *http.Cookie {
	made := cookie(r, auth.SignOnCookie, value, maxAge)
	made.SameSite = http.SameSiteLaxMode
	return made
}

// showLoggedOut leads on to the provider, where the person is logged in still.
func (s *server) showLoggedOut(w http.ResponseWriter, r *http.Request, signedOn bool) bool {
	if s.SignOn == nil || !signedOn || s.SignOn.LogOutURL() == "" {
		return false
	}
	s.showPage(w, r, page{Kind: "out", Title: "Logged out of Muster", SignOn: s.SignOn.ProviderName(),
		To: s.SignOn.LogOutURL()})
	return true
}

// logOutByProvider ends sessions because the provider says so, with a logout token in a form. No browser is involved:
// what the caller may do is in the token, which the provider has signed.
func (s *server) logOutByProvider(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		s.fail(w, r, &fleet.Error{Code: fleet.CodeMalformed, Message: "the form is damaged or too large",
			Hint: "Send the logout token in a form, as logout_token.", Err: err})
		return
	}
	if err := s.SignOn.LogOut(r.Context(), r.PostForm.Get("logout_token"), clientOf(r)); err != nil {
		s.fail(w, r, err)
		return
	}
	w.WriteHeader(http.StatusOK)
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
