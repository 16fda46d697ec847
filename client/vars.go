package client

import (
	"context"
	"encoding/json"
	"net/http"

	"muster/api"
)

// DeviceVars are the vars of a device itself.
func (c *Client) DeviceVars(ctx context.Context, id string) (map[string]json.RawMessage, error) {
	vars, err := get[api.Vars](ctx, c, path("devices", id, "vars"))
	return vars.Vars, err
}

// PutDeviceVars replaces the vars of a device itself.
func (c *Client) PutDeviceVars(ctx context.Context, id string, vars map[string]json.RawMessage,
	conditions ...Condition) (map[string]json.RawMessage, error) {
	stored, err := send[api.Vars](ctx, c, http.MethodPut, path("devices", id, "vars"), api.PutVars{Vars: vars},
		conditions...)
	return stored.Vars, err
}

// EffectiveVars are all vars that templates read of a device, those of its tags among them.
func (c *Client) EffectiveVars(ctx context.Context, id string) (map[string]api.EffectiveVar, error) {
	vars, err := get[api.EffectiveVars](ctx, c, path("devices", id, "vars", "effective"))
	return vars.Vars, err
}

// TagVars are the vars of the devices with a tag.
func (c *Client) TagVars(ctx context.Context, tag string) (map[string]json.RawMessage, error) {
	vars, err := get[api.Vars](ctx, c, path("tags", tag, "vars"))
	return vars.Vars, err
}

// PutTagVars replaces the vars of the devices with a tag.
func (c *Client) PutTagVars(ctx context.Context, tag string, vars map[string]json.RawMessage,
	conditions ...Condition) (map[string]json.RawMessage, error) {
	stored, err := send[api.Vars](ctx, c, http.MethodPut, path("tags", tag, "vars"), api.PutVars{Vars: vars},
		conditions...)
	return stored.Vars, err
}
