package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"muster/api"
	"muster/internal/fleet"
)

// ActOnDevice has a daemon do something. It answers when the order is kept; Action tells what came of it. 409: Muster
// does not write to the device, or another order is carried out on it; 503: it cannot be reached.
func (c *Client) ActOnDevice(ctx context.Context, id string, o fleet.ActionOrder) (api.ActionRun, error) {
	return send[api.ActionRun](ctx, c, http.MethodPost,
		path("devices", id, "actions", string(o.Action))+actionQuery(o), nil)
}

// ActOnTag is ActOnDevice for the devices with a tag, one after the other, ending at the first that fails.
func (c *Client) ActOnTag(ctx context.Context, tag string, o fleet.ActionOrder) (api.ActionRun, error) {
	return send[api.ActionRun](ctx, c, http.MethodPost, path("tags", tag, "actions", string(o.Action))+actionQuery(o), nil)
}

func actionQuery(o fleet.ActionOrder) string {
	query := url.Values{}
	if o.Folder != "" {
		query.Set("folder", o.Folder)
	}
	if o.Major {
		query.Set("major", strconv.FormatBool(o.Major))
	}
	if len(query) == 0 {
		return ""
	}
	return "?" + query.Encode()
}

// Actions are the orders to daemons, newest first.
func (c *Client) Actions(ctx context.Context, l List) ([]api.ActionRun, error) {
	return list[api.ActionRun](ctx, c, path("actions"), l)
}

// Action is how far an order is.
func (c *Client) Action(ctx context.Context, id int64) (api.ActionRun, error) {
	return get[api.ActionRun](ctx, c, path("actions", number(id)))
}
