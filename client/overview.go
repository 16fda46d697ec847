package client

import (
	"context"

	"muster/api"
)

// Overview is the fleet in numbers.
func (c *Client) Overview(ctx context.Context) (api.Overview, error) {
	return get[api.Overview](ctx, c, path("overview"))
}
