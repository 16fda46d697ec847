package client

import (
	"context"
	"net/http"

	"muster/api"
)

// Secrets are the names of all secrets, sorted.
func (c *Client) Secrets(ctx context.Context) ([]api.Secret, error) {
	return get[[]api.Secret](ctx, c, path("secrets"))
}

// PutSecret creates or replaces a secret of 1 to 65,536 bytes; devices whose templates use it get the new one.
func (c *Client) PutSecret(ctx context.Context, name, value string) (created bool, err error) {
	got, err := c.call(ctx, http.MethodPut, path("secrets", name), api.PutSecret{Value: &value}, nil)
	return err == nil && got.status == http.StatusCreated, err
}

// DeleteSecret forgets a secret; templates that name it fail from then on.
func (c *Client) DeleteSecret(ctx context.Context, name string) error {
	_, err := c.call(ctx, http.MethodDelete, path("secrets", name), nil, nil)
	return err
}
