package client

import (
	"context"
	"encoding/json"
	"net/http"
)

// Ready is nil when the server can do its work.
func (c *Client) Ready(ctx context.Context) error {
	_, err := c.call(ctx, http.MethodGet, "/readyz", nil, nil)
	return err
}

// OpenAPI is the description of the API.
func (c *Client) OpenAPI(ctx context.Context) (json.RawMessage, error) {
	return get[json.RawMessage](ctx, c, path("openapi.json"))
}
