package client

import (
	"context"
	"net/url"

	"muster/api"
)

// InventoryQuery says which rows of the inventory to get. The zero value is all of them, by label.
type InventoryQuery struct {
	Search   string   // text in label, ID or address
	Tags     []string // a device has to carry all of them
	States   []string // connections and configurations
	Versions []string // versions as daemons report them; <, <=, > or >= may come before one
	OS       []string
	Waiting  []string // causes, any or none
	Devices  []string // IDs; a device is one of them
	Stale    string   // time since the device was last seen: 36h or 7d

	FolderStates []string // a device has a folder in one of them
	DiskBelow    string   // percent that are free of a disk
	Outdated     bool     // a device has an older version than the newest that devices run

	Sort   string // label, -needBytes and others; "" is label
	Limit  int    // 0: no limit
	Offset int
}

func (q InventoryQuery) query() string {
	outdated := ""
	if q.Outdated {
		outdated = "true"
	}
	return query(url.Values{"outdated": {outdated},
		"tag": q.Tags, "state": q.States, "version": q.Versions, "os": q.OS, "waiting": q.Waiting,
		"folderState": q.FolderStates, "device": q.Devices, "stale": {q.Stale}, "diskBelow": {q.DiskBelow},
		"q": {q.Search}, "sort": {q.Sort}, "limit": {positive(q.Limit)}, "offset": {positive(q.Offset)}})
}

// Inventory is every device with what a table of the fleet shows.
func (c *Client) Inventory(ctx context.Context, q InventoryQuery) (api.Inventory, error) {
	return get[api.Inventory](ctx, c, path("inventory")+q.query())
}

// Differences is what the plans of the devices that a query picks would change, equal changes together.
func (c *Client) Differences(ctx context.Context, q InventoryQuery) (api.Differences, error) {
	return get[api.Differences](ctx, c, path("differences")+q.query())
}
