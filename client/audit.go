package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"muster/api"
)

// Audit is who did what, newest first: at most limit entries, 0 for as many as the server gives, older than the one
// with the ID before, 0 for the newest.
func (c *Client) Audit(ctx context.Context, before int64, limit int) ([]api.AuditEntry, error) {
	query := url.Values{}
	if before > 0 {
		query.Set("after", strconv.FormatInt(before, 10))
	}
	if limit > 0 {
		query.Set("limit", strconv.Itoa(limit))
	}
	var entries []api.AuditEntry
	_, err := c.call(ctx, http.MethodGet, path("audit")+"?"+query.Encode(), nil, &entries)
	return entries, err
}
