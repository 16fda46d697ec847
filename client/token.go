package client

import (
	"context"
	"net/http"

	"muster/api"
)

// Tokens are all tokens by name, without their secrets. Only an administrator may list and change tokens.
func (c *Client) Tokens(ctx context.Context) ([]api.Token, error) {
	return get[[]api.Token](ctx, c, path("tokens"))
}

// CreateToken makes a token with the role viewer, operator, author or admin, for the whole fleet and without an end.
// Its secret is in this answer and nowhere else. 409: a token has that name.
func (c *Client) CreateToken(ctx context.Context, name, role string) (api.NewToken, error) {
	return c.CreateTokenWith(ctx, api.CreateToken{Name: &name, Role: &role})
}

// CreateTokenWith is CreateToken with a tag scope or an end.
func (c *Client) CreateTokenWith(ctx context.Context, body api.CreateToken) (api.NewToken, error) {
	return send[api.NewToken](ctx, c, http.MethodPost, path("tokens"), body)
}

// RotateToken gives a token another secret, which is in this answer and nowhere else.
func (c *Client) RotateToken(ctx context.Context, name string, body api.RotateToken) (api.NewToken, error) {
	return send[api.NewToken](ctx, c, http.MethodPost, path("tokens", name, "rotate"), body)
}

// DeleteToken revokes a token at once. 409: it is the last one of an administrator.
func (c *Client) DeleteToken(ctx context.Context, name string) error {
	return c.do(ctx, http.MethodDelete, path("tokens", name), nil)
}
