package client

import (
	"context"

	"muster/api"
)

// Version is the program that the server runs.
func (c *Client) Version(ctx context.Context) (api.Version, error) {
	return get[api.Version](ctx, c, path("version"))
}
