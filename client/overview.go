package client

import (
	"context"

	"muster/api"
)

// Overview is the fleet in numbers.
func (c *Client) Overview(ctx context.Context) (api.Overview, error) {
	return get[api.Overview](ctx, c, path("overview"))
}

// Stops are what keeps Muster from writing.
func (c *Client) Stops(ctx context.Context, l List) ([]api.ModeStop, error) {
	return list[api.ModeStop](ctx, c, path("stops"), l)
}
