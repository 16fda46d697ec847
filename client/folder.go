package client

import (
	"context"

	"muster/api"
)

// Folders are all folders of the fleet, sorted by ID; List.Tag is not for them.
func (c *Client) Folders(ctx context.Context, l List) ([]api.Folder, error) {
	return list[api.Folder](ctx, c, path("folders"), l)
}

// FolderSummaries are the numbers of a folder, one entry per device that shares it, sorted by device ID. 404: no
// device's current configuration has a folder of that ID.
func (c *Client) FolderSummaries(ctx context.Context, folder string) ([]api.FolderSummary, error) {
	return get[[]api.FolderSummary](ctx, c, path("folders", folder))
}
