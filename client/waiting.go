package client

import (
	"context"
	"net/url"

	"muster/api"
)

// Waiting is everything that waits for a person, grouped by cause; with the ID of a group, that one with all its
// devices.
func (c *Client) Waiting(ctx context.Context, group string) (api.Waiting, error) {
	at := path("waiting")
	if group != "" {
		at += "?group=" + url.QueryEscape(group)
	}
	return get[api.Waiting](ctx, c, at)
}
