package client

import (
	"context"
	"net/http"

	"muster/api"
)

// Settings are the settings of the server with the values that hold.
func (c *Client) Settings(ctx context.Context) ([]api.Setting, error) {
	return get[[]api.Setting](ctx, c, path("settings"))
}

// Setting is one setting of the server.
func (c *Client) Setting(ctx context.Context, name string) (api.Setting, error) {
	return get[api.Setting](ctx, c, path("settings", name))
}

// PutSetting stores a value, which takes effect at once unless a flag overrides it.
func (c *Client) PutSetting(ctx context.Context, name, value string) (api.Setting, error) {
	return send[api.Setting](ctx, c, http.MethodPut, path("settings", name), api.PutSetting{Value: &value})
}

// TestSetting tries a value without setting it. A value that does not work is an error.
func (c *Client) TestSetting(ctx context.Context, name string, value *string) (api.SettingTested, error) {
	return send[api.SettingTested](ctx, c, http.MethodPost, path("settings", name, "test"), api.TestSetting{Value: value})
}

// ResetSetting removes the stored value, so that the default holds.
func (c *Client) ResetSetting(ctx context.Context, name string) (api.Setting, error) {
	return send[api.Setting](ctx, c, http.MethodPost, path("settings", name, "reset"), nil)
}
