package client

import (
	"context"
	"net/http"

	"muster/api"
)

// DeviceSettings are the settings of a device beyond the contract.
func (c *Client) DeviceSettings(ctx context.Context, id string) (api.DeviceSettings, error) {
	return get[api.DeviceSettings](ctx, c, path("devices", id, "settings"))
}

// PutDeviceSettings changes settings of a device; what is nil stays. They are in force also where the answer
// has a warning.
func (c *Client) PutDeviceSettings(ctx context.Context, id string, settings api.PutDeviceSettings, conditions ...Condition) (api.DeviceSettingsStored, error) {
	return send[api.DeviceSettingsStored](ctx, c, http.MethodPut, path("devices", id, "settings"), settings, conditions...)
}

// TagMode says whether Muster writes to the devices with a tag: "on", "observe" or "paused".
func (c *Client) TagMode(ctx context.Context, tag string) (string, error) {
	setting, err := get[api.ModeSetting](ctx, c, path("tags", tag, "settings"))
	return setting.Mode, err
}

// PutTagMode sets it.
func (c *Client) PutTagMode(ctx context.Context, tag, mode string) error {
	_, err := c.SwitchTagMode(ctx, tag, mode)
	return err
}

// SwitchTagMode sets it, and gives the server's warning where it is in force but would not survive a restart.
func (c *Client) SwitchTagMode(ctx context.Context, tag, mode string) (warning string, err error) {
	set, err := send[api.ModeSwitched](ctx, c, http.MethodPut, path("tags", tag, "settings"), api.PutMode{Mode: &mode})
	return set.Warning, err
}

// Mode says whether Muster writes to devices at all: "on", "observe" or "paused".
func (c *Client) Mode(ctx context.Context) (string, error) {
	setting, err := get[api.ModeSetting](ctx, c, path("configurator"))
	return setting.Mode, err
}

// PutMode sets it.
func (c *Client) PutMode(ctx context.Context, mode string) error {
	_, err := c.SwitchMode(ctx, mode)
	return err
}

// SwitchMode sets it, and gives the server's warning where it is in force but would not survive a restart.
func (c *Client) SwitchMode(ctx context.Context, mode string) (warning string, err error) {
	set, err := send[api.ModeSwitched](ctx, c, http.MethodPut, path("configurator"), api.PutMode{Mode: &mode})
	return set.Warning, err
}
