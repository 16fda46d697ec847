package client

import (
	"context"
	"net/http"

	"muster/api"
)

// PutPinnedDevice is PutDevice with the certificate that the daemon's API has to show, "sha256:<hex>", also on first
// contact. It replaces the pin that is there.
func (c *Client) PutPinnedDevice(
	ctx context.Context, id string, device api.PutDevice, pin string, conditions ...Condition,
) (stored api.Device, created bool, err error) {
	return c.PutDevice(ctx, id, device, append(conditions, func(h http.Header) { h.Set(api.PinHeader, pin) })...)
}

// DeviceTrust is the certificate that proves the device, and the one that was shown last.
func (c *Client) DeviceTrust(ctx context.Context, id string) (api.DeviceTrust, error) {
	return get[api.DeviceTrust](ctx, c, path("devices", id, "trust"))
}

// TrustDevice pins the certificate that the device showed last. 409: that is not the certificate with this
// fingerprint.
func (c *Client) TrustDevice(ctx context.Context, id, fingerprint string) (api.DeviceTrust, error) {
	body := api.TrustDevice{Fingerprint: &fingerprint}
	return send[api.DeviceTrust](ctx, c, http.MethodPost, path("devices", id, "trust"), body)
}
