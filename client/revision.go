package client

import (
	"context"
	"net/http"

	"muster/api"
)

// Revisions are the configurations that a device was seen with, newest first.
func (c *Client) Revisions(ctx context.Context, id string, l List) ([]api.Revision, error) {
	return list[api.Revision](ctx, c, path("devices", id, "revisions"), l)
}

// Revision is one revision with its configuration, secrets masked.
func (c *Client) Revision(ctx context.Context, id string, n int64) (api.RevisionDetail, error) {
	return get[api.RevisionDetail](ctx, c, path("devices", id, "revisions", number(n)))
}

// CompareRevisions gives the changes from one revision to another.
func (c *Client) CompareRevisions(ctx context.Context, id string, from, to int64) (api.RevisionDiff, error) {
	return get[api.RevisionDiff](ctx, c, path("devices", id, "revisions", number(from), "diff", number(to)))
}

// RestoreRevision brings a device, or a section of its configuration, back to a revision. The changes are planned and
// guarded as all others. While one of them is held, nothing is sent and Done is false: send the request again with
// the digest of the plan and the consent.
func (c *Client) RestoreRevision(ctx context.Context, id string, n int64, what api.Restore) (api.Restored, error) {
	return send[api.Restored](ctx, c, http.MethodPost, path("devices", id, "revisions", number(n), "restore"), what)
}
