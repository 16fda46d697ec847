package client

import (
	"context"

	"muster/api"
)

// Folders are all folders of the fleet, sorted.
func (c *Client) Folders(ctx context.Context, l List) ([]api.Folder, error) {
	return list[api.Folder](ctx, c, path("folders"), l)
}

// FolderSummaries are the numbers of a folder, one entry per device that shares it.
func (c *Client) FolderSummaries(ctx context.Context, folder string) ([]api.FolderSummary, error) {
	return get[[]api.FolderSummary](ctx, c, path("folders", folder))
}
