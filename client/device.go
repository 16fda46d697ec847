package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"muster/api"
)

// Devices are all devices by label, then ID; never nil.
func (c *Client) Devices(ctx context.Context, l List) ([]api.Device, error) {
	return list[api.Device](ctx, c, path("devices"), l)
}

// Device is one device; its API key is masked unless the token may write devices.
func (c *Client) Device(ctx context.Context, id string) (api.Device, error) {
	return get[api.Device](ctx, c, path("devices", id))
}

// DeviceETag is Device with the ETag for IfMatch.
func (c *Client) DeviceETag(ctx context.Context, id string) (device api.Device, etag string, err error) {
	got, err := c.call(ctx, http.MethodGet, path("devices", id), nil, &device)
	return device, got.header.Get("ETag"), err
}

// PutDevice creates or replaces a device, and gives it as it is stored. A nil APIKey keeps the stored one and is 422
// for a new device; every other field that is nil becomes its default. The token has to be an administrator's.
func (c *Client) PutDevice(ctx context.Context, id string, device api.PutDevice,
	conditions ...Condition) (stored api.Device, created bool, err error) {
	got, err := c.call(ctx, http.MethodPut, path("devices", id), device, &stored, conditions...)
	return stored, err == nil && got.status == http.StatusCreated, err
}

// DeleteDevice forgets a device with its tags, revisions and pin; its daemon stays as it is. Again: 404.
func (c *Client) DeleteDevice(ctx context.Context, id string, conditions ...Condition) error {
	return c.do(ctx, http.MethodDelete, path("devices", id), nil, conditions...)
}

// DeviceStatus is what the daemon last reported about itself, also while it is offline. 404: it was never reached.
func (c *Client) DeviceStatus(ctx context.Context, id string) (api.DeviceStatus, error) {
	return get[api.DeviceStatus](ctx, c, path("devices", id, "status"))
}

// DeviceVersion is the software that the daemon runs. 404: it was never reached.
func (c *Client) DeviceVersion(ctx context.Context, id string) (api.DeviceVersion, error) {
	return get[api.DeviceVersion](ctx, c, path("devices", id, "version"))
}

// DeviceState is the state of a device with its reason and what comes next. Every registered device has one.
func (c *Client) DeviceState(ctx context.Context, id string) (api.DeviceState, error) {
	return get[api.DeviceState](ctx, c, path("devices", id, "state"))
}

// DeviceAtRisk asks what would be lost with a device: in which of its folders its data is not proven to be on
// another device. It takes seconds for each folder.
func (c *Client) DeviceAtRisk(ctx context.Context, id string) (api.DeviceAtRisk, error) {
	return get[api.DeviceAtRisk](ctx, c, path("devices", id, "at-risk"))
}

// DeviceDisks are the disks that a daemon uses, as its agent tells; never nil, empty where no agent told of any.
func (c *Client) DeviceDisks(ctx context.Context, id string) ([]api.DiskUse, error) {
	return get[[]api.DiskUse](ctx, c, path("devices", id, "disks"))
}

// States are the states of all devices, in the order of Devices.
func (c *Client) States(ctx context.Context, l List) ([]api.ListedState, error) {
	return list[api.ListedState](ctx, c, path("states"), l)
}

// DeviceConfig is the configuration last seen, a JSON object with the daemon's own names, secrets masked; 404 before
// it was read.
func (c *Client) DeviceConfig(ctx context.Context, id string) (json.RawMessage, error) {
	return get[json.RawMessage](ctx, c, path("devices", id, "config"))
}

// DevicePlan is what would be changed on the device now; without changes it is empty. 404 before its configuration was
// read.
func (c *Client) DevicePlan(ctx context.Context, id string) (api.Plan, error) {
	return get[api.Plan](ctx, c, path("devices", id, "plan"))
}

// DeviceWhy says where the value of a key of the device's configuration comes from. 404 before its configuration was
// read; 422 where a template of the device fails.
func (c *Client) DeviceWhy(ctx context.Context, id, key string) (api.Why, error) {
	return get[api.Why](ctx, c, path("devices", id, "why")+"?key="+url.QueryEscape(key))
}

// DeviceManagedKeys are the keys of the device's configuration that templates manage. 404 before its configuration was
// read; 422 where a template of the device fails.
func (c *Client) DeviceManagedKeys(ctx context.Context, id string) ([]api.ManagedKey, error) {
	return get[[]api.ManagedKey](ctx, c, path("devices", id, "config", "managed"))
}

// DeviceTemplates are the templates that apply to the device now, in the order in which they apply.
func (c *Client) DeviceTemplates(ctx context.Context, id string) ([]api.WhyTemplate, error) {
	return get[[]api.WhyTemplate](ctx, c, path("devices", id, "templates"))
}

// ApplyPlan applies the plan with the digest, with consent to what is held. It answers when the daemon was read back.
// 409: the plan has changed since, or the daemon cannot be written to; 403: the consent needs another role.
func (c *Client) ApplyPlan(ctx context.Context, id string, plan api.ApplyPlan) (api.AppliedPlan, error) {
	return send[api.AppliedPlan](ctx, c, http.MethodPost, path("devices", id, "apply"), plan)
}

// DeviceTags are the device's tags, sorted; never nil.
func (c *Client) DeviceTags(ctx context.Context, id string) ([]string, error) {
	return get[[]string](ctx, c, path("devices", id, "tags"))
}

// TagDevice attaches a tag and gives all tags of the device, sorted. It is no error if the device has the tag
// already.
func (c *Client) TagDevice(ctx context.Context, id, tag string, conditions ...Condition) ([]string, error) {
	return send[[]string](ctx, c, http.MethodPut, path("devices", id, "tags", tag), nil, conditions...)
}

// UntagDevice takes a tag off and gives the remaining tags, sorted. It is no error if the device does not have the
// tag.
func (c *Client) UntagDevice(ctx context.Context, id, tag string, conditions ...Condition) ([]string, error) {
	return send[[]string](ctx, c, http.MethodDelete, path("devices", id, "tags", tag), nil, conditions...)
}

// DeviceLog is the newest lines of the daemon's own log, the oldest first; those after since, unless that is zero.
func (c *Client) DeviceLog(ctx context.Context, id string, since time.Time) ([]api.LogLine, error) {
	only := url.Values{}
	if !since.IsZero() {
		only.Set("since", since.UTC().Format(time.RFC3339Nano))
	}
	return get[[]api.LogLine](ctx, c, path("devices", id, "log")+query(only))
}
