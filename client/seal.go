package client

import (
	"context"
	"net/http"

	"muster/api"
)

// Seal is the state of the keys that seal the server's database.
func (c *Client) Seal(ctx context.Context) (api.Seal, error) {
	return get[api.Seal](ctx, c, path("seal"))
}

// RotateSeal begins to seal the server's database with a new key.
func (c *Client) RotateSeal(ctx context.Context) (api.Seal, error) {
	return send[api.Seal](ctx, c, http.MethodPost, path("seal", "rotate"), nil)
}
