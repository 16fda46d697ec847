package client

import (
	"context"
	"net/http"
	"time"

	"muster/api"
)

// DeviceSettings are the settings of a device beyond the contract.
func (c *Client) DeviceSettings(ctx context.Context, id string) (api.DeviceSettings, error) {
	return get[api.DeviceSettings](ctx, c, path("devices", id, "settings"))
}

// PutDeviceSettings changes settings of a device. Fields that are nil stay. The settings are in force even if the
// answer has a warning.
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

// PutTagMode sets the mode of the devices with a tag.
func (c *Client) PutTagMode(ctx context.Context, tag, mode string) error {
	_, err := c.SwitchTagMode(ctx, tag, mode)
	return err
}

// SwitchTagMode is PutTagMode. It also gives the warning of a server that could not store the mode: a restart would
// forget it.
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

// PutMode sets the mode of the fleet.
func (c *Client) PutMode(ctx context.Context, mode string) error {
	_, err := c.SwitchMode(ctx, mode)
	return err
}

// SwitchMode is PutMode. It also gives the warning of a server that could not store the mode: a restart would forget
// it.
func (c *Client) SwitchMode(ctx context.Context, mode string) (warning string, err error) {
	set, err := send[api.ModeSwitched](ctx, c, http.MethodPut, path("configurator"), api.PutMode{Mode: &mode})
	return set.Warning, err
}

// FolderRoots are the directories below which templates of authors may put folders without consent.
func (c *Client) FolderRoots(ctx context.Context) ([]string, error) {
	roots, err := get[api.FolderRoots](ctx, c, path("folder-roots"))
	return roots.FolderRoots, err
}

// PutFolderRoots replaces the folder roots of the fleet.
func (c *Client) PutFolderRoots(ctx context.Context, roots []string, conditions ...Condition) ([]string, error) {
	set, err := send[api.FolderRoots](ctx, c, http.MethodPut, path("folder-roots"),
		api.PutFolderRoots{FolderRoots: append([]string{}, roots...)}, conditions...)
	return set.FolderRoots, err
}

// TagFolderRoots are the folder roots that a tag adds.
func (c *Client) TagFolderRoots(ctx context.Context, tag string) ([]string, error) {
	settings, err := get[api.TagSettings](ctx, c, path("tags", tag, "settings"))
	return settings.FolderRoots.FolderRoots, err
}

// PutTagFolderRoots replaces the folder roots that a tag adds.
func (c *Client) PutTagFolderRoots(ctx context.Context, tag string, roots []string) ([]string, error) {
	set, err := send[api.TagSettingsStored](ctx, c, http.MethodPut, path("tags", tag, "settings"),
		api.PutTagSettings{FolderRoots: append([]string{}, roots...)})
	return set.FolderRoots.FolderRoots, err
}

// AuthorKeys are the keys that templates of authors may set without consent, besides what every author may.
func (c *Client) AuthorKeys(ctx context.Context) ([]string, error) {
	keys, err := get[api.AuthorKeys](ctx, c, path("author-keys"))
	return keys.AuthorKeys, err
}

// PutAuthorKeys replaces the author keys of the fleet.
func (c *Client) PutAuthorKeys(ctx context.Context, keys []string, conditions ...Condition) ([]string, error) {
	set, err := send[api.AuthorKeys](ctx, c, http.MethodPut, path("author-keys"),
		api.PutAuthorKeys{AuthorKeys: append([]string{}, keys...)}, conditions...)
	return set.AuthorKeys, err
}

// TagAuthorKeys are the author keys that a tag adds.
func (c *Client) TagAuthorKeys(ctx context.Context, tag string) ([]string, error) {
	settings, err := get[api.TagSettings](ctx, c, path("tags", tag, "settings"))
	return settings.AuthorKeys.AuthorKeys, err
}

// PutTagAuthorKeys replaces the author keys that a tag adds.
func (c *Client) PutTagAuthorKeys(ctx context.Context, tag string, keys []string) ([]string, error) {
	set, err := send[api.TagSettingsStored](ctx, c, http.MethodPut, path("tags", tag, "settings"),
		api.PutTagSettings{AuthorKeys: append([]string{}, keys...)})
	return set.AuthorKeys.AuthorKeys, err
}

// TagQuiet is how long the devices with a tag may be away before that is trouble; 0: as usual.
func (c *Client) TagQuiet(ctx context.Context, tag string) (time.Duration, error) {
	settings, err := get[api.TagSettings](ctx, c, path("tags", tag, "settings"))
	return time.Duration(settings.QuietAfter) * time.Second, err
}

// PutTagQuiet sets it.
func (c *Client) PutTagQuiet(ctx context.Context, tag string, quiet time.Duration) (time.Duration, error) {
	seconds := int64(quiet / time.Second)
	set, err := send[api.TagSettingsStored](ctx, c, http.MethodPut, path("tags", tag, "settings"),
		api.PutTagSettings{QuietAfter: &seconds})
	return time.Duration(set.QuietAfter) * time.Second, err
}
