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

// Sessions logs people in and out; see auth.People.
type Sessions interface {
	LogIn(ctx context.Context, name, password string, from auth.Client) (auth.Started, error)
	// Exchange gives the session of a log-in by a page.
	Exchange(ctx context.Context, code string) (auth.Started, error)
	LogOut(ctx context.Context, who auth.Principal) error
	Sessions(ctx context.Context, who auth.Principal) ([]fleet.Session, error)
	EndSession(ctx context.Context, who auth.Principal, id string) error
	ChangePassword(ctx context.Context, who auth.Principal, current, password string, from auth.Client) (auth.Started,
		error)
}

// Tickets makes tickets, with which a browser downloads something; see auth.People.
type Tickets interface {
	Ticket(who auth.Principal, path string) (ticket string, until time.Time, err error)
}

// Renewer gives a new token for the cookie of a session whose time has come, "" before; see auth.People.
type Renewer interface {
	Renew(ctx context.Context, who auth.Principal, cookie string) (token string)
}

// SessionHandlers log people in and out.
type SessionHandlers struct {
	Sessions Sessions
	Tickets  Tickets // set where Sessions is
}

func (s SessionHandlers) routes(*base) []route {
	started := reflect.TypeFor[api.NewSession]()
	routes := []route{
		{method: http.MethodPost, path: Prefix + "/login", name: "login",
			summary:    "Log in; for a browser the reply sets the cookie of the session and gives its other half",
			permission: auth.Public,
			body:       reflect.TypeFor[api.Login](), reply: started, volatile: true, handle: s.login},
		{method: http.MethodPost, path: Prefix + "/login/code", name: "exchangeLoginCode",
			summary: "Get the session of a log-in by a page, with the code in that page", permission: auth.Public,
			body: reflect.TypeFor[api.ExchangeCode](), reply: started, volatile: true, conflicts: true,
			handle: s.exchangeCode},
		{method: http.MethodPost, path: Prefix + "/tickets", name: "createTicket",
			summary:    "Get a ticket with which a browser downloads something; it works once, for half a minute",
			permission: auth.Self, body: reflect.TypeFor[api.CreateTicket](), reply: reflect.TypeFor[api.Ticket](),
			volatile: true, conflicts: true, handle: s.createTicket},
		{method: http.MethodPost, path: Prefix + "/logout", name: "logout", summary: "End this session",
			permission: auth.Self, conflicts: true, handle: s.logout},
		{method: http.MethodGet, path: Prefix + "/whoami", name: "whoami", summary: "Whose credential this is",
			permission: auth.Self, reply: reflect.TypeFor[api.Whoami](), handle: s.whoami},
		{method: http.MethodGet, path: Prefix + "/sessions", name: "listSessions",
			summary: "One's own sessions, for an admin those of all users, newest first", permission: auth.Self,
			reply: reflect.TypeFor[[]api.Session](), handle: s.listSessions},
		{method: http.MethodDelete, path: Prefix + "/sessions/{session}", name: "endSession",
			summary: "End one of one's own sessions, as an admin any", permission: auth.Self, handle: s.endSession},
		{method: http.MethodPut, path: Prefix + "/password", name: "changePassword",
			summary: "Change one's own password; ends all of one's sessions and starts a new one", permission: auth.Self,
			body: reflect.TypeFor[api.ChangePassword](), reply: started, volatile: true, conflicts: true,
			handle: s.changePassword},
	}
	for i := range routes {
		routes[i].off = s.Sessions == nil
	}
	return routes
}

func (s SessionHandlers) login(r *request) (reply, error) {
	body, err := decode[api.Login](r, "userid", "password")
	if err != nil {
		return reply{}, err
	}
	from := auth.ClientOf(r.Request)
	from.Browser = body.Browser
	started, err := s.Sessions.LogIn(r.Context(), *body.UserID, *body.Password, from)
	if err != nil {
		return reply{}, err
	}
	return showStarted(r.Request, started)
}

func showStarted(r *http.Request, started auth.Started) (reply, error) {
	out, err := show(newSession(started))
	out.cookies = auth.CookiesOf(r, started)
	return out, err
}

// newSession shows the token to a program. A browser has it in its cookie, which no script reads.
func newSession(started auth.Started) api.NewSession {
	out := api.NewSession{Token: started.Token, Half: started.Half, ExpiresAt: api.Time{Time: started.Session.ExpiresAt}}
	if out.Half != "" {
		out.Token = ""
	}
	return out
}

func (s SessionHandlers) exchangeCode(r *request) (reply, error) {
	body, err := decode[api.ExchangeCode](r, "code")
	if err != nil {
		return reply{}, err
	}
	started, err := s.Sessions.Exchange(r.Context(), *body.Code)
	if err != nil {
		return reply{}, err
	}
	return showStarted(r.Request, started)
}

// ticketParam is the parameter of a URL with a ticket.
const ticketParam = "ticket"

func (s SessionHandlers) createTicket(r *request) (reply, error) {
	body, err := decode[api.CreateTicket](r, "path")
	if err != nil {
		return reply{}, err
	}
	to, err := url.Parse(*body.Path)
	if err != nil || !strings.HasPrefix(*body.Path, Prefix+"/") || to.Fragment != "" || to.Query().Has(ticketParam) {
		return reply{}, requestf("path", "a ticket is for a path that begins with %s/", Prefix)
	}
	path := to.EscapedPath()
	if to.RawQuery != "" {
		path += "?" + to.RawQuery
	}
	ticket, until, err := s.Tickets.Ticket(r.who, path)
	if err != nil {
		return reply{}, err
	}
	query := ticketParam + "=" + ticket
	if to.RawQuery != "" {
		query = to.RawQuery + "&" + query
	}
	return show(api.Ticket{Path: to.EscapedPath() + "?" + query, ExpiresAt: api.Time{Time: until}})
}

// withTicket takes a ticket out of the URL of a request. Handlers do not see it, and logs do not have it.
func withTicket(r *http.Request) *http.Request {
	before, ticket, found := strings.Cut(r.URL.RawQuery, ticketParam+"=")
	if r.Method != http.MethodGet || !found || strings.Contains(ticket, "&") ||
		before != "" && !strings.HasSuffix(before, "&") {
		return r
	}
	moved := *r
	at := *r.URL
	at.RawQuery = strings.TrimSuffix(before, "&")
	moved.URL = &at
	path := at.EscapedPath()
	if at.RawQuery != "" {
		path += "?" + at.RawQuery
	}
	return moved.WithContext(auth.WithTicket(r.Context(), ticket, path))
}

func (s SessionHandlers) logout(r *request) (reply, error) {
	if err := s.Sessions.LogOut(r.Context(), r.who); err != nil {
		return reply{}, err
	}
	return reply{status: http.StatusNoContent, cookies: []*http.Cookie{auth.NoSessionCookie(r.Request)}}, nil
}

func (s SessionHandlers) whoami(r *request) (reply, error) {
	out := api.Whoami{Name: r.who.Name, Role: string(r.who.Role), Credential: string(r.who.Credential)}
	if !r.who.ExpiresAt.IsZero() {
		out.ExpiresAt = &api.Time{Time: r.who.ExpiresAt}
	}
	return show(out)
}

func (s SessionHandlers) listSessions(r *request) (reply, error) {
	sessions, err := s.Sessions.Sessions(r.Context(), r.who)
	if err != nil {
		return reply{}, err
	}
	return show(mapped(sessions, func(v fleet.Session) api.Session {
		return api.Session{
			ID: v.ID, User: v.User, CreatedAt: api.Time{Time: v.CreatedAt}, LastUsedAt: api.Time{Time: v.LastUsedAt},
			ExpiresAt: api.Time{Time: v.ExpiresAt}, Address: v.Address, Client: v.Client, Current: v.ID == r.who.Session,
		}
	}))
}

func (s SessionHandlers) endSession(r *request) (reply, error) {
	return nothing(orNotFound(s.Sessions.EndSession(r.Context(), r.who, r.segment("session")),
		notThere(fleet.SeeSessions, "GET "+Prefix+"/sessions lists all.", "there is no such session")))
}

func (s SessionHandlers) changePassword(r *request) (reply, error) {
	body, err := decode[api.ChangePassword](r, "current", "password")
	if err != nil {
		return reply{}, err
	}
	started, err := s.Sessions.ChangePassword(r.Context(), r.who, *body.Current, *body.Password, auth.ClientOf(r.Request))
	if err != nil {
		return reply{}, err
	}
	return showStarted(r.Request, started)
}

// renew replaces the token in the cookie of a request when its time has come. Streams keep theirs.
func (s *server) renew(w http.ResponseWriter, r *http.Request, who auth.Principal) {
	if who.Credential != auth.CredentialCookie || s.options.Renewer == nil {
		return
	}
	if token := s.options.Renewer.Renew(r.Context(), who, auth.CookieOf(r, auth.SessionCookie)); token != "" {
		http.SetCookie(w, auth.NewSessionCookie(r, token))
	}
}
