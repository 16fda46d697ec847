package client

import (
	"context"
	"net/url"

	"muster/api"
)

// Overview is the fleet in numbers.
func (c *Client) Overview(ctx context.Context) (api.Overview, error) {
	return get[api.Overview](ctx, c, path("overview"))
}

// OverviewOf is Overview of the devices that a search or tag picks.
func (c *Client) OverviewOf(ctx context.Context, of List) (api.Overview, error) {
	return get[api.Overview](ctx, c, path("overview")+List{Search: of.Search, Tag: of.Tag}.query())
}

// History is the fleet in numbers over the last "day" by minutes, or the last "month" by hours.
func (c *Client) History(ctx context.Context, span string) (api.History, error) {
	return get[api.History](ctx, c, path("overview", "history")+"?span="+url.QueryEscape(span))
}

// Stops are the modes that keep Muster from writing.
func (c *Client) Stops(ctx context.Context, l List) ([]api.ModeStop, error) {
	return list[api.ModeStop](ctx, c, path("stops"), l)
}

// FolderOverviews are folders with the numbers of their devices, sorted. FolderState is one that a device has it in.
func (c *Client) FolderOverviews(ctx context.Context, l List) ([]api.FolderOverview, error) {
	return list[api.FolderOverview](ctx, c, path("overview", "folders"), l)
}

// TagOverviews are all tags with what carries them.
func (c *Client) TagOverviews(ctx context.Context) ([]api.TagOverview, error) {
	return get[[]api.TagOverview](ctx, c, path("overview", "tags"))
}
