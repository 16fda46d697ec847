package client

import (
	"context"
	"net/url"

	"muster/api"
)

// Waiting is everything that waits for a person, grouped by cause. With the ID of a group it is that group with all
// its devices.
func (c *Client) Waiting(ctx context.Context, group string) (api.Waiting, error) {
	return get[api.Waiting](ctx, c, path("waiting")+query(url.Values{"group": {group}}))
}
