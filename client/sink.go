package client

import (
	"context"
	"net/http"

	"muster/api"
)

// Sinks are all sinks by name, and how far each is.
func (c *Client) Sinks(ctx context.Context) ([]api.Sink, error) {
	return get[[]api.Sink](ctx, c, path("sinks"))
}

// PutSink adds or changes a sink. A new one begins with what is recorded from now on.
func (c *Client) PutSink(ctx context.Context, name string, put api.PutSink) (sink api.Sink, created bool, err error) {
	got, err := c.call(ctx, http.MethodPut, path("sinks", name), put, &sink)
	return sink, err == nil && got.status == http.StatusCreated, err
}

// DeleteSink removes a sink.
func (c *Client) DeleteSink(ctx context.Context, name string) error {
	return c.do(ctx, http.MethodDelete, path("sinks", name), nil)
}

// TestSink sends a record of trial to a sink and waits for its answer.
func (c *Client) TestSink(ctx context.Context, name string) error {
	return c.do(ctx, http.MethodPost, path("sinks", name, "test"), nil)
}

// ReplaySink has a sink get again what was recorded since a time.
func (c *Client) ReplaySink(ctx context.Context, name string, replay api.ReplaySink) error {
	return c.do(ctx, http.MethodPost, path("sinks", name, "replay"), replay)
}

// SinkRefusals are the entries that a sink refused, the newest first.
func (c *Client) SinkRefusals(ctx context.Context, name string) ([]api.SinkRefusal, error) {
	return get[[]api.SinkRefusal](ctx, c, path("sinks", name, "refusals"))
}
