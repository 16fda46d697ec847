package client

import (
	"context"
	"net/http"

	"muster/api"
)

// ApplyChanges changes templates and tags, all in one generation and one rollout, or none of them. 412: templates or
// tags were changed since the generation of the body.
func (c *Client) ApplyChanges(ctx context.Context, body api.ApplyChanges) (api.AppliedChanges, error) {
	return send[api.AppliedChanges](ctx, c, http.MethodPost, path("changes"), body)
}
