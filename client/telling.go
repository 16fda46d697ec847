package client

import (
	"context"
	"net/http"

	"muster/api"
)

// Channels are the receivers of messages about problems, by name.
func (c *Client) Channels(ctx context.Context) ([]api.Channel, error) {
	return get[[]api.Channel](ctx, c, path("channels"))
}

// PutChannel makes a channel, or changes it; what is left out stays.
func (c *Client) PutChannel(ctx context.Context, name string, body api.PutChannel) (api.Channel, error) {
	return send[api.Channel](ctx, c, http.MethodPut, path("channels", name), body)
}

// DeleteChannel deletes a channel. 409: a route names it.
func (c *Client) DeleteChannel(ctx context.Context, name string) error {
	return c.do(ctx, http.MethodDelete, path("channels", name), nil)
}

// TestChannel sends a message of trial. 422: the channel did not accept it.
func (c *Client) TestChannel(ctx context.Context, name string) (api.ChannelTested, error) {
	return send[api.ChannelTested](ctx, c, http.MethodPost, path("channels", name, "test"), nil)
}

// Deliveries are the last messages that were sent to a channel, the newest first.
func (c *Client) Deliveries(ctx context.Context, channel string) ([]api.Delivery, error) {
	return get[[]api.Delivery](ctx, c, path("channels", channel, "deliveries"))
}

// Routes say which problems are told to which channels, by name.
func (c *Client) Routes(ctx context.Context) ([]api.Route, error) {
	return get[[]api.Route](ctx, c, path("routes"))
}

// PutRoute makes a route or replaces it.
func (c *Client) PutRoute(ctx context.Context, name string, body api.PutRoute) (api.Route, error) {
	return send[api.Route](ctx, c, http.MethodPut, path("routes", name), body)
}

// DeleteRoute deletes a route.
func (c *Client) DeleteRoute(ctx context.Context, name string) error {
	return c.do(ctx, http.MethodDelete, path("routes", name), nil)
}

// Silences are those that have not ended, the one that ends first at the beginning.
func (c *Client) Silences(ctx context.Context) ([]api.Silence, error) {
	return get[[]api.Silence](ctx, c, path("silences"))
}

// CreateSilence keeps Muster from telling anybody of some problems until a time.
func (c *Client) CreateSilence(ctx context.Context, body api.CreateSilence) (api.Silence, error) {
	return send[api.Silence](ctx, c, http.MethodPost, path("silences"), body)
}

// EndSilence ends a silence now.
func (c *Client) EndSilence(ctx context.Context, id string) error {
	return c.do(ctx, http.MethodDelete, path("silences", id), nil)
}
