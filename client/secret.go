package client

import (
	"context"
	"net/http"

	"muster/api"
)

// Secrets are all secrets by name, without their values.
func (c *Client) Secrets(ctx context.Context) ([]api.Secret, error) {
	return get[[]api.Secret](ctx, c, path("secrets"))
}

// PutSecret creates or changes a secret; devices whose templates use it get the new value.
func (c *Client) PutSecret(ctx context.Context, name string, put api.PutSecret) (secret api.Secret, created bool,
	err error) {
	got, err := c.call(ctx, http.MethodPut, path("secrets", name), put, &secret)
	return secret, err == nil && got.status == http.StatusCreated, err
}

// DeleteSecret forgets a secret; templates that name it fail from then on.
func (c *Client) DeleteSecret(ctx context.Context, name string) error {
	return c.do(ctx, http.MethodDelete, path("secrets", name), nil)
}
