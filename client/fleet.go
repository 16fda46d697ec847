package client

import (
	"context"
	"net/http"

	"muster/api"
)

// Fleet is the fleet in the form of the files.
func (c *Client) Fleet(ctx context.Context) (api.Fleet, error) {
	return get[api.Fleet](ctx, c, path("fleet"))
}

// PlanFleet is the plan of the changes that files ask for. Nothing is changed.
func (c *Client) PlanFleet(ctx context.Context, body api.PlanFleet) (api.FleetPlan, error) {
	return send[api.FleetPlan](ctx, c, http.MethodPost, path("fleet", "plan"), body)
}

// ApplyFleet makes the changes that files ask for. 412: something was changed since the plan with the digest.
func (c *Client) ApplyFleet(ctx context.Context, body api.ApplyFleet) (api.AppliedFleet, error) {
	return send[api.AppliedFleet](ctx, c, http.MethodPost, path("fleet", "apply"), body)
}

// ForgetSource gives a source up: its templates stay, and may be changed by everybody who may change templates.
func (c *Client) ForgetSource(ctx context.Context, name string) error {
	return c.do(ctx, http.MethodDelete, path("sources", name), nil)
}
