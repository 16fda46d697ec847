package client

import (
	"context"
	"net/http"

	"muster/api"
)

// Demo tells whether a demo runs beside the server.
func (c *Client) Demo(ctx context.Context) (api.Demo, error) {
	return get[api.Demo](ctx, c, path("demo"))
}

// StartDemo starts one, for whoever is at the server's machine.
func (c *Client) StartDemo(ctx context.Context) (started api.Demo, err error) {
	_, err = c.call(ctx, http.MethodPost, path("demo"), nil, &started)
	return started, err
}

// EndDemo ends it, and throws away all that it had.
func (c *Client) EndDemo(ctx context.Context) error {
	_, err := c.call(ctx, http.MethodDelete, path("demo"), nil, nil)
	return err
}
