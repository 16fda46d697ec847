package client

import (
	"context"
	"net/url"

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

// FolderShares is how each device shares a folder, 200 devices at most; see List.
func (c *Client) FolderShares(ctx context.Context, id string, l List) ([]api.FolderShare, error) {
	return list[api.FolderShare](ctx, c, path("folders", id, "shares"), l)
}

// OneSidedShares are the shares that one side has and the other one does not, sorted by folder. Search is in the IDs
// and labels of folder and devices; Tag is one of either device.
func (c *Client) OneSidedShares(ctx context.Context, l List) ([]api.OneSidedShare, error) {
	return list[api.OneSidedShare](ctx, c, path("overview", "one-sided-shares"), l)
}

// FolderMatrix is how each folder is on the first 60 devices that Search and Tag pick.
func (c *Client) FolderMatrix(ctx context.Context, l List) (api.FolderMatrix, error) {
	query := url.Values{}
	if l.Search != "" {
		query.Set("q", l.Search)
	}
	if l.Tag != "" {
		query.Set("tag", l.Tag)
	}
	return get[api.FolderMatrix](ctx, c, path("overview", "matrix")+"?"+query.Encode())
}
