package client

import (
	"context"
	"net/url"
	"strconv"

	"muster/api"
)

// InventoryQuery is which rows of the inventory to get. The zero value is all of them, by label.
type InventoryQuery struct {
	Search   string   // only devices with this text in label, ID or address
	Tags     []string // only devices with all of these
	States   []string // connections and configurations
	Versions []string
	OS       []string
	Waiting  []string // causes, any or none
	Sort     string   // as label or -needBytes; "": by label
	Limit    int      // 0: no limit
	Offset   int
}

func (q InventoryQuery) query() string {
	values := url.Values{"tag": q.Tags, "state": q.States, "version": q.Versions, "os": q.OS, "waiting": q.Waiting}
	for name, value := range map[string]string{"q": q.Search, "sort": q.Sort} {
		if value != "" {
			values.Set(name, value)
		}
	}
	for name, value := range map[string]int{"limit": q.Limit, "offset": q.Offset} {
		if value > 0 {
			values.Set(name, strconv.Itoa(value))
		}
	}
	if text := values.Encode(); text != "" {
		return "?" + text
	}
	return ""
}

// Inventory is every device with what a table of the fleet shows.
func (c *Client) Inventory(ctx context.Context, q InventoryQuery) (api.Inventory, error) {
	return get[api.Inventory](ctx, c, path("inventory")+q.query())
}

// Differences is what the plans of the devices that a query picks would change, equal changes together.
func (c *Client) Differences(ctx context.Context, q InventoryQuery) (api.Differences, error) {
	return get[api.Differences](ctx, c, path("differences")+q.query())
}
