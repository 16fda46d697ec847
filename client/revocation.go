package client

import (
	"context"
	"net/http"

	"muster/api"
)

// Revocations are the devices that are out for good, the newest first.
func (c *Client) Revocations(ctx context.Context) ([]api.Revocation, error) {
	return get[[]api.Revocation](ctx, c, path("revocations"))
}

// RevokeDevice takes a device off every managed daemon, for good. 409: it is revoked already, and stays as it is.
func (c *Client) RevokeDevice(ctx context.Context, id string, how api.RevokeDevice) (api.Revocation, error) {
	return send[api.Revocation](ctx, c, http.MethodPost, path("devices", id, "revoke"), how)
}

// DeleteRevocation ends a revocation. 404: the device is not revoked.
func (c *Client) DeleteRevocation(ctx context.Context, id string) error {
	return c.do(ctx, http.MethodDelete, path("revocations", id), nil)
}

// RevocationCertificate says on how many managed devices a revoked device is proven to be gone. 404: the device is not
// revoked.
func (c *Client) RevocationCertificate(ctx context.Context, id string) (api.RevocationCertificate, error) {
	return get[api.RevocationCertificate](ctx, c, path("revocations", id))
}

// RevocationProofs says of each managed device what is proven about a revoked device, by label. state narrows them
// down; "" means all.
func (c *Client) RevocationProofs(ctx context.Context, id, state string, l List) ([]api.RevocationProof, error) {
	if state != "" {
		l.FolderState = []string{state}
	}
	return list[api.RevocationProof](ctx, c, path("revocations", id, "devices"), l)
}
