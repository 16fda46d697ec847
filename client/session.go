package client

import (
	"context"
	"net/http"
	"strings"

	"muster/api"
)

// deviceCookie proves to the server that this client logged in before; see Login.
const deviceCookie = "muster-device"

// Login starts a session for a user. device is the newDevice of the last log-in of the same user, "" without one:
// with it the user can log in even while others try passwords. 401: the name or the password is wrong. 429: there
// were too many attempts.
func (c *Client) Login(ctx context.Context, user, password, device string) (session api.NewSession, newDevice string,
	err error) {
	know := func(h http.Header) {
		if device != "" {
			h.Set("Cookie", deviceCookie+"="+device+"; __Host-"+deviceCookie+"="+device)
		}
	}
	a, err := c.call(ctx, http.MethodPost, path("login"), api.Login{UserID: &user, Password: &password}, &session, know)
	for _, cookie := range (&http.Response{Header: a.header}).Cookies() {
		if strings.TrimPrefix(cookie.Name, "__Host-") == deviceCookie {
			newDevice = cookie.Value
		}
	}
	return session, newDevice, err
}

// LoginMethods say how people log in to the server.
func (c *Client) LoginMethods(ctx context.Context) (api.LoginMethods, error) {
	return get[api.LoginMethods](ctx, c, path("login"))
}

// BeginDeviceLogin begins a log-in by single sign-on without a browser. 409: the provider has no such log-in.
func (c *Client) BeginDeviceLogin(ctx context.Context) (api.DeviceLogin, error) {
	return send[api.DeviceLogin](ctx, c, http.MethodPost, path("login", "device"), nil)
}

// EndDeviceLogin asks for the session of a log-in that BeginDeviceLogin began. 429: it was asked too often.
func (c *Client) EndDeviceLogin(ctx context.Context, handle string) (api.DeviceSession, error) {
	return send[api.DeviceSession](ctx, c, http.MethodPost, path("login", "device", "session"),
		api.EndDeviceLogin{Handle: &handle})
}

// ExchangeLoginCode gets the half of a session that a page began; the cookie is in the answer. 409: the code was used.
func (c *Client) ExchangeLoginCode(ctx context.Context, code string) (api.NewSession, error) {
	return send[api.NewSession](ctx, c, http.MethodPost, path("login", "code"), api.ExchangeCode{Code: &code})
}

// CreateTicket gets a ticket for a download of a browser. 409: this client has a token, with which it needs none.
func (c *Client) CreateTicket(ctx context.Context, download string) (api.Ticket, error) {
	return send[api.Ticket](ctx, c, http.MethodPost, path("tickets"), api.CreateTicket{Path: &download})
}

// Logout ends the session of this client. 409: it has a token and no session.
func (c *Client) Logout(ctx context.Context) error {
	return c.do(ctx, http.MethodPost, path("logout"), nil)
}

// Whoami says whose credential this client has.
func (c *Client) Whoami(ctx context.Context) (api.Whoami, error) {
	return get[api.Whoami](ctx, c, path("whoami"))
}

// Sessions are those of the user, for an administrator those of all users, the newest first.
func (c *Client) Sessions(ctx context.Context) ([]api.Session, error) {
	return get[[]api.Session](ctx, c, path("sessions"))
}

// EndSession ends a session.
func (c *Client) EndSession(ctx context.Context, id string) error {
	return c.do(ctx, http.MethodDelete, path("sessions", id), nil)
}

// CreateLoginLink makes a link that sets the password of a user, or without a user one that makes a new administrator.
func (c *Client) CreateLoginLink(ctx context.Context, body api.CreateLoginLink) (api.LoginLink, error) {
	return send[api.LoginLink](ctx, c, http.MethodPost, path("login-links"), body)
}
