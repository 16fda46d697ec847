package client

import (
	"context"
	"net/http"
	"strings"

	"muster/api"
)

// deviceCookie proves to the server that this client logged in before; see Login.
const deviceCookie = "muster-device"

// Login starts a session for a user. 401: the name or the password is wrong. 429: too many tried. device is what the
// last log-in of the same user gave, "" without one: with it, what others try does not keep the user out.
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
func (c *Client) BeginDeviceLogin(ctx context.Context) (begun api.DeviceLogin, err error) {
	_, err = c.call(ctx, http.MethodPost, path("login", "device"), nil, &begun)
	return begun, err
}

// EndDeviceLogin asks for the session of a log-in that BeginDeviceLogin began. 429: it was asked too often.
func (c *Client) EndDeviceLogin(ctx context.Context, handle string) (api.DeviceSession, error) {
	return send[api.DeviceSession](ctx, c, http.MethodPost, path("login", "device", "session"),
		api.EndDeviceLogin{Handle: &handle})
}

// Logout ends the session of this client. 409: it has a token and no session.
func (c *Client) Logout(ctx context.Context) error {
	_, err := c.call(ctx, http.MethodPost, path("logout"), nil, nil)
	return err
}

// Whoami says whose credential this client has.
func (c *Client) Whoami(ctx context.Context) (api.Whoami, error) {
	return get[api.Whoami](ctx, c, path("whoami"))
}

// Sessions are those of the user, for an administrator those of all users, the newest first.
func (c *Client) Sessions(ctx context.Context) ([]api.Session, error) {
	return get[[]api.Session](ctx, c, path("sessions"))
}

// EndSession ends one of them.
func (c *Client) EndSession(ctx context.Context, id string) error {
	_, err := c.call(ctx, http.MethodDelete, path("sessions", id), nil, nil)
	return err
}

// CreateLoginLink makes a link that sets the password of a user, or with user "" one that makes a new administrator.
func (c *Client) CreateLoginLink(ctx context.Context, user string) (api.LoginLink, error) {
	var body api.CreateLoginLink
	if user != "" {
		body.User = &user
	}
	return send[api.LoginLink](ctx, c, http.MethodPost, path("login-links"), body)
}
