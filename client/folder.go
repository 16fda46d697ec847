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

// DeviceFolders are how the folders of a device stand there, sorted by folder.
func (c *Client) DeviceFolders(ctx context.Context, deviceID string) ([]api.FolderStanding, error) {
	return get[[]api.FolderStanding](ctx, c, path("devices", deviceID, "folders"))
}

// FolderDevices are how a folder stands on each device that has it, sorted by the device's label. Search is in label,
// ID and address of the device; FolderState is of the folder.
func (c *Client) FolderDevices(ctx context.Context, folder string, l List) ([]api.FolderStanding, error) {
	return list[api.FolderStanding](ctx, c, path("folders", folder, "devices"), l)
}

// FleetFolder is how a folder stands on all devices together.
func (c *Client) FleetFolder(ctx context.Context, folder string) (api.FleetFolder, error) {
	return get[api.FleetFolder](ctx, c, path("folders", folder, "state"))
}

// FileOnDevices asks the daemons that have a folder for one file of it. Tag is of the devices.
func (c *Client) FileOnDevices(ctx context.Context, folder, file string, l List) ([]api.FileOnDevice, error) {
	l.Path = file
	return list[api.FileOnDevice](ctx, c, path("folders", folder, "files"), l)
}

// FolderCopies asks the daemons that have a folder on which of them all its data is proven to be.
func (c *Client) FolderCopies(ctx context.Context, folder string) (api.FolderCopies, error) {
	return get[api.FolderCopies](ctx, c, path("folders", folder, "copies"))
}

// FailedItems are the items of a folder that daemons could not sync: all of List.Device, whose daemon is asked, or the
// first of each device as last told.
func (c *Client) FailedItems(ctx context.Context, folder string, l List) ([]api.FailedItem, error) {
	return list[api.FailedItem](ctx, c, path("folders", folder, "failed"), l)
}

// ConflictFiles are the conflict files of a folder, the newest first: on all devices, or on List.Device.
func (c *Client) ConflictFiles(ctx context.Context, folder string, l List) ([]api.ConflictFile, error) {
	return list[api.ConflictFile](ctx, c, path("folders", folder, "conflicts"), l)
}

// FolderHistory is a folder in numbers over the last "day" by minutes, or the last "month" by hours.
func (c *Client) FolderHistory(ctx context.Context, folder, span string) (api.FolderHistory, error) {
	return get[api.FolderHistory](ctx, c, path("folders", folder, "history")+"?span="+url.QueryEscape(span))
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

// FolderMatrix is how each folder is on the first 60 devices that a query picks. Devices is not for it.
func (c *Client) FolderMatrix(ctx context.Context, q InventoryQuery) (api.FolderMatrix, error) {
	return get[api.FolderMatrix](ctx, c, path("overview", "matrix")+q.query())
}
