package client

import (
	"context"
	"net/http"

	"muster/api"
)

// Users are all users by name. Only an administrator may list and change users.
func (c *Client) Users(ctx context.Context) ([]api.User, error) {
	return get[[]api.User](ctx, c, path("users"))
}

// User is one user. 404: no user has that name.
func (c *Client) User(ctx context.Context, name string) (api.User, error) {
	return get[api.User](ctx, c, path("users", name))
}

// CreateUser makes a user. 409: a user or a token has that name.
func (c *Client) CreateUser(ctx context.Context, user api.CreateUser) (api.User, error) {
	return send[api.User](ctx, c, http.MethodPost, path("users"), user)
}

// PutUser changes the role, tag scope or password of a user and ends the user's sessions. What is nil stays. 409: it is
// the last administrator.
func (c *Client) PutUser(ctx context.Context, name string, user api.PutUser) (api.User, error) {
	return send[api.User](ctx, c, http.MethodPut, path("users", name), user)
}

// DeleteUser deletes a user. 409: it is the last administrator.
func (c *Client) DeleteUser(ctx context.Context, name string) error {
	return c.do(ctx, http.MethodDelete, path("users", name), nil)
}

// DisableUser ends the sessions of a user, who cannot log in any more. 409: it is the last administrator.
func (c *Client) DisableUser(ctx context.Context, name string) (api.User, error) {
	return send[api.User](ctx, c, http.MethodPut, path("users", name, "disabled"), nil)
}

// EnableUser lets a user log in again.
func (c *Client) EnableUser(ctx context.Context, name string) (api.User, error) {
	return send[api.User](ctx, c, http.MethodDelete, path("users", name, "disabled"), nil)
}

// ChangePassword gives the user of this session another password, and a new session. 403: the current one is wrong.
func (c *Client) ChangePassword(ctx context.Context, current, password string) (api.NewSession, error) {
	return send[api.NewSession](ctx, c, http.MethodPut, path("password"),
		api.ChangePassword{Current: &current, Password: &password})
}
