package client

import (
	"context"
	"net/http"

	"muster/api"
)

// TestDevice has the server try the address and the API key of a device, which may be registered or not. Nothing is
// stored. What is wrong is in the result and no error.
func (c *Client) TestDevice(ctx context.Context, id string, test api.TestDevice) (api.DeviceTest, error) {
	return send[api.DeviceTest](ctx, c, http.MethodPost, path("devices", id, "test"), test)
}
