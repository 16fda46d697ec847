package cli

import (
	"context"
	"fmt"
	"strings"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
)

type deviceAddCommand struct {
	connection
	output
	asking
	checking
	ID      string   `arg:"" help:"Device ID, in any spelling."`
	Label   string   `env:"-" help:"Name for people." placeholder:"TEXT"`
	Address string   `env:"-" help:"Host name or IP of the daemon's API; without it, the address is discovered." placeholder:"HOST"`
	Port    int64    `env:"-" help:"Port of the daemon's API." default:"8384" placeholder:"PORT"`
	KeyFile string   `env:"-" help:"File with the daemon's API key (Actions > Settings > GUI), - for standard input. There is no flag for the key itself: others would see it in the list of processes." default:"-" placeholder:"FILE"`
	Pin     string   `env:"-" help:"Fingerprint of the certificate that the API shows: sha256:HEX, or as openssl prints it. Without it, the first one that is shown is trusted." placeholder:"HEX"`
	Tag     []string `env:"-" sep:"none" help:"Tag to put on the device; may be repeated." placeholder:"TAG"`
}

// Run registers a device.
func (c *deviceAddCommand) Run(ctx context.Context, env *environment) error {
	id, err := fleet.ParseDeviceID(c.ID)
	if err != nil {
		return err
	}
	pin := ""
	if c.Pin != "" {
		if pin, err = fleet.ParsePin(fromOpenSSL(c.Pin)); err != nil {
			return err
		}
	}
	key, err := secretFrom(env, c.KeyFile)
	if err != nil {
		return err
	}
	server, err := c.client()
	if err != nil {
		return err
	}
	if err := c.agreedLabel(ctx, env, server, c.Label, string(id)); err != nil {
		return err
	}
	key = strings.TrimSpace(key)
	put := api.PutDevice{APIKey: &key, APIAddress: &c.Address, APIPort: &c.Port, Label: &c.Label}
	found, err := c.try(ctx, server, string(id), put, pin)
	switch {
	case err != nil:
		return err
	case found.Registered:
		return registeredAlready(id, found.Label)
	case found.Problem != "":
		return notReached(found)
	}
	var device api.Device
	if pin == "" {
		device, _, err = server.PutDevice(ctx, string(id), put, client.IfAbsent())
	} else {
		device, _, err = server.PutPinnedDevice(ctx, string(id), put, pin, client.IfAbsent())
	}
	if fleet.CodeOf(err) == fleet.CodePrecondition {
		known, _ := server.Device(ctx, string(id)) // Without its label the message is shorter.
		return registeredAlready(id, known.Label)
	}
	if err != nil {
		return err
	}
	for _, tag := range c.Tag {
		if _, err := server.TagDevice(ctx, device.DeviceID, tag); err != nil {
			return fmt.Errorf("%s is registered, and does not carry the tag %q: %w", named(device), printable(tag), err)
		}
	}
	return c.done(env, device.DeviceID, device,
		fmt.Sprintf("%s is registered. `muster device get %s` shows how it is reached.", named(device), id.Short()))
}
