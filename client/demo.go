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

// StartDemo starts a demo. It works on the server's machine only.
func (c *Client) StartDemo(ctx context.Context) (api.Demo, error) {
	return send[api.Demo](ctx, c, http.MethodPost, path("demo"), nil)
}

// EndDemo ends the demo and deletes its data.
func (c *Client) EndDemo(ctx context.Context) error {
	return c.do(ctx, http.MethodDelete, path("demo"), nil)
}
