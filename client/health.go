package client

import (
	"context"
	"encoding/json"
	"net/http"
)

// Healthy is nil when the server's process answers. It needs no token.
func (c *Client) Healthy(ctx context.Context) error {
	return c.do(ctx, http.MethodGet, "/healthz", nil)
}

// Ready is nil when the server can do its work, unavailable while it starts. It needs no token.
func (c *Client) Ready(ctx context.Context) error {
	return c.do(ctx, http.MethodGet, "/readyz", nil)
}

// Metrics are the server's numbers in the text form of Prometheus.
func (c *Client) Metrics(ctx context.Context) (string, error) {
	var text []byte
	_, err := c.call(ctx, http.MethodGet, "/metrics", nil, &text)
	return string(text), err
}

// OpenAPI is the description of the API, OpenAPI 3.1 in JSON.
func (c *Client) OpenAPI(ctx context.Context) (json.RawMessage, error) {
	return get[json.RawMessage](ctx, c, path("openapi.json"))
}
