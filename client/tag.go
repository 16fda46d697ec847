package client

import (
	"context"
	"net/http"

	"muster/api"
)

// Tags are all tags, sorted.
func (c *Client) Tags(ctx context.Context, l List) ([]string, error) {
	return list[string](ctx, c, path("tags"), l)
}

// DeleteTag takes a tag off everything and gives the tags that remain, sorted. 404: nothing carries it.
func (c *Client) DeleteTag(ctx context.Context, tag string, conditions ...Condition) ([]string, error) {
	return send[[]string](ctx, c, http.MethodDelete, path("tags", tag), nil, conditions...)
}

// TagDevices are the devices that carry a tag, in the order of Devices; none for an unknown tag.
func (c *Client) TagDevices(ctx context.Context, tag string, l List) ([]api.Device, error) {
	return list[api.Device](ctx, c, path("tags", tag, "devices"), l)
}

// TagTemplates are the templates that carry a tag, in the order of Templates; none for an unknown tag.
func (c *Client) TagTemplates(ctx context.Context, tag string, l List) ([]api.Template, error) {
	return list[api.Template](ctx, c, path("tags", tag, "templates"), l)
}

// TagProtected tells whether only an admin puts the tag on a device or takes it off.
func (c *Client) TagProtected(ctx context.Context, tag string) (bool, error) {
	is, err := get[api.TagProtection](ctx, c, path("tags", tag, "protection"))
	return is.Protected, err
}

// ProtectTag sets whether only an admin puts the tag on a device or takes it off.
func (c *Client) ProtectTag(ctx context.Context, tag string, protected bool) error {
	_, err := send[api.TagProtection](ctx, c, http.MethodPut, path("tags", tag, "protection"),
		api.PutTagProtection{Protected: &protected})
	return err
}
