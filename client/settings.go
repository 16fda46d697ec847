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
func (c *Client) PutDeviceSettings(ctx context.Context, id string, settings api.PutDeviceSettings,
	conditions ...Condition) (api.DeviceSettingsStored, error) {
	return send[api.DeviceSettingsStored](ctx, c, http.MethodPut, path("devices", id, "settings"), settings,
		conditions...)
}

// TagMode says whether Muster writes to the devices with a tag: "on", "observe" or "paused".
func (c *Client) TagMode(ctx context.Context, tag string) (string, error) {
	setting, err := get[api.TagSettings](ctx, c, path("tags", tag, "settings"))
	return setting.Mode, err
}

// PutTagMode sets it.
func (c *Client) PutTagMode(ctx context.Context, tag, mode string) error {
	_, err := c.SwitchTagMode(ctx, tag, mode)
	return err
}

// SwitchTagMode sets it, and gives the server's warning where it is in force but would not survive a restart.
func (c *Client) SwitchTagMode(ctx context.Context, tag, mode string) (warning string, err error) {
	set, err := send[api.TagSettingsStored](ctx, c, http.MethodPut, path("tags", tag, "settings"),
		api.PutTagSettings{Mode: &mode})
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

// FolderRoots are the directories below which templates of authors may put folders without consent.
func (c *Client) FolderRoots(ctx context.Context) ([]string, error) {
	roots, err := get[api.FolderRoots](ctx, c, path("folder-roots"))
	return roots.FolderRoots, err
}

// PutFolderRoots replaces them.
func (c *Client) PutFolderRoots(ctx context.Context, roots []string, conditions ...Condition) ([]string, error) {
	set, err := send[api.FolderRoots](ctx, c, http.MethodPut, path("folder-roots"),
		api.PutFolderRoots{FolderRoots: append([]string{}, roots...)}, conditions...)
	return set.FolderRoots, err
}

// TagFolderRoots are those that a tag adds.
func (c *Client) TagFolderRoots(ctx context.Context, tag string) ([]string, error) {
	settings, err := get[api.TagSettings](ctx, c, path("tags", tag, "settings"))
	return settings.FolderRoots.FolderRoots, err
}

// PutTagFolderRoots replaces those that a tag adds.
func (c *Client) PutTagFolderRoots(ctx context.Context, tag string, roots []string) ([]string, error) {
	set, err := send[api.TagSettingsStored](ctx, c, http.MethodPut, path("tags", tag, "settings"),
		api.PutTagSettings{FolderRoots: append([]string{}, roots...)})
	return set.FolderRoots.FolderRoots, err
}
