package cli

import (
	"context"
	"strings"

	"muster/api"
	"muster/client"
)

type deviceRenameCommand struct {
	namedDevice
	output
	asking
	allowing
	Label string `arg:"" help:"The new name for people."`
}

// Run shows what another label would change, because templates may read it, and stores it after an answer.
func (c *deviceRenameCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	device, err := c.find(ctx, server)
	if err != nil {
		return err
	}
	now, err := readEdited(ctx, server, device.DeviceID)
	if err != nil {
		return err
	}
	change, err := changeOf(writtenDevice{PlanFleetDevice: api.PlanFleetDevice{Label: &c.Label}}, now)
	if err != nil {
		return err
	}
	edit := deviceEditCommand{namedDevice: c.namedDevice, output: c.output, asking: c.asking, allowing: c.allowing}
	return edit.change(ctx, env, server, now, change)
}

type deviceSetKeyCommand struct {
	namedDevice
	output
	messaging
	checking
	KeyFile string `env:"-" help:"File with the daemon's API key (Actions > Settings > GUI), - for standard input. There is no flag for the key itself: others would see it in the list of processes." default:"-" placeholder:"FILE"`
}

// Run replaces the API key that Muster uses for a daemon. Everything else of the device stays.
func (c *deviceSetKeyCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	device, err := c.find(ctx, server)
	if err != nil {
		return err
	}
	key, err := secretFrom(env, c.KeyFile)
	if err != nil {
		return err
	}
	key = strings.TrimSpace(key)
	current, etag, err := server.DeviceETag(ctx, device.DeviceID)
	if err != nil {
		return err
	}
	stored, err := storeRecord(ctx, server, c.checking, current, etag, api.PutDevice{APIKey: &key})
	if err != nil {
		return err
	}
	return c.done(env, stored.DeviceID, stored, named(stored)+" has the new API key.")
}

// storeRecord replaces the fields of a device's record that are not nil, after a test of the access.
func storeRecord(ctx context.Context, server *client.Client, check checking, current api.Device, etag string,
	put api.PutDevice) (api.Device, error) {
	if put.Label == nil {
		put.Label = &current.Label
	}
	reached := put.APIAddress != nil || put.APIPort != nil || put.APIKey != nil
	if put.APIAddress == nil {
		put.APIAddress = &current.APIAddress
	}
	if put.APIPort == nil {
		put.APIPort = &current.APIPort
	}
	if reached {
		if err := check.check(ctx, server, current.DeviceID, put); err != nil {
			return api.Device{}, err
		}
	}
	stored, _, err := server.PutDevice(ctx, current.DeviceID, put, client.IfMatch(etag))
	return stored, changedBetween(err)
}
