package client

import (
	"context"
	"net/http"

	"muster/api"
)

// Enrollments are the devices whose agents ask to be accepted, and those that were rejected, oldest first.
func (c *Client) Enrollments(ctx context.Context, l List) ([]api.Enrollment, error) {
	return list[api.Enrollment](ctx, c, path("enrollments"), l)
}

// EnrollmentCounts are how many devices wait, and the bounds.
func (c *Client) EnrollmentCounts(ctx context.Context) (api.EnrollmentCounts, error) {
	return get[api.EnrollmentCounts](ctx, c, path("enrollments", "counts"))
}

// AcceptEnrollment registers a device that waits or was rejected. 404: it does not ask; 409: it is registered already.
func (c *Client) AcceptEnrollment(ctx context.Context, id string, how api.AcceptEnrollment) (api.Device, error) {
	return send[api.Device](ctx, c, http.MethodPost, path("enrollments", id, "accept"), how)
}

// RejectEnrollment refuses a device that waits, until it is accepted or forgotten. 404: it does not ask.
func (c *Client) RejectEnrollment(ctx context.Context, id string) error {
	return c.do(ctx, http.MethodPost, path("enrollments", id, "reject"), nil)
}

// ForgetEnrollment has a rejected device wait again when its agent connects. 404: it was not rejected.
func (c *Client) ForgetEnrollment(ctx context.Context, id string) error {
	return c.do(ctx, http.MethodDelete, path("enrollments", id), nil)
}

// EnrollKeys are all enrol keys, without the keys themselves.
func (c *Client) EnrollKeys(ctx context.Context) ([]api.EnrollKey, error) {
	return get[[]api.EnrollKey](ctx, c, path("enroll-keys"))
}

// CreateEnrollKey makes a key. It is in this answer and nowhere else.
func (c *Client) CreateEnrollKey(ctx context.Context, body api.CreateEnrollKey) (api.NewEnrollKey, error) {
	return send[api.NewEnrollKey](ctx, c, http.MethodPost, path("enroll-keys"), body)
}

// DeleteEnrollKey revokes a key at once. Devices that it registered stay.
func (c *Client) DeleteEnrollKey(ctx context.Context, id string) error {
	return c.do(ctx, http.MethodDelete, path("enroll-keys", id), nil)
}

// EnrollChallenge is what a device has to sign with its claim.
func (c *Client) EnrollChallenge(ctx context.Context) (api.Challenge, error) {
	return send[api.Challenge](ctx, c, http.MethodPost, path("enroll", "challenge"), nil)
}

// Enroll registers the device that signed a claim; the client's token is an enrol key. 409: it is registered already.
func (c *Client) Enroll(ctx context.Context, claim api.DeviceClaim) (api.Device, error) {
	return send[api.Device](ctx, c, http.MethodPost, path("enroll"), claim)
}

// RenewEnrollment gives the registered device that signed a claim the access that the claim says; no token is needed.
// 404: it is not registered, or the signature is not its own. 429: it was asked too often.
func (c *Client) RenewEnrollment(ctx context.Context, claim api.DeviceClaim) (api.Device, error) {
	return send[api.Device](ctx, c, http.MethodPost, path("enroll", "renew"), claim)
}
