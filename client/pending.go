package client

import (
	"context"
	"net/http"

	"muster/api"
)

// Pending is what asks managed daemons to be let in.
func (c *Client) Pending(ctx context.Context, l List) ([]api.Pending, error) {
	return list[api.Pending](ctx, c, path("pending"), l)
}

// AcceptPending lets in what has the ID in the list, and answers when the daemon was read back. 404: it does not ask
// any more; 422: a folder that the daemon does not have needs a path.
func (c *Client) AcceptPending(ctx context.Context, id string, how api.AcceptPending) error {
	return c.do(ctx, http.MethodPost, path("pending", id, "accept"), how)
}

// DismissPending has the daemon forget a request; the other device may ask again.
func (c *Client) DismissPending(ctx context.Context, id string) error {
	return c.do(ctx, http.MethodDelete, path("pending", id), nil)
}
