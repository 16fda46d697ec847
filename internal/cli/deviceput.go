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
	key = strings.TrimSpace(key)
	put := api.PutDevice{APIKey: &key, APIAddress: &c.Address, APIPort: &c.Port, Label: &c.Label}
	var device api.Device
	if pin == "" {
		device, _, err = server.PutDevice(ctx, string(id), put, client.IfAbsent())
	} else {
		device, _, err = server.PutPinnedDevice(ctx, string(id), put, pin, client.IfAbsent())
	}
	if fleet.CodeOf(err) == fleet.CodePrecondition {
		return &fleet.Error{Code: fleet.CodeConflict, Message: fmt.Sprintf("device %s is registered already", id.Short()),
			Hint: "`muster device edit " + id.Short() + "` changes it."}
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

type deviceEditCommand struct {
	namedDevice
	output
	asking
	Label   *string `env:"-" help:"Name for people." placeholder:"TEXT"`
	Address *string `env:"-" help:"Host name or IP of the daemon's API; '' has it discovered." placeholder:"HOST"`
	Port    *int64  `env:"-" help:"Port of the daemon's API." placeholder:"PORT"`
	KeyFile string  `env:"-" help:"File with another API key of the daemon, - for standard input; without it, the stored one stays." placeholder:"FILE"`
	File    string  `short:"f" env:"-" help:"Make the device what this file says, as an editor showed it; first the plan is shown." placeholder:"FILE"`
	Editor  string  `env:"VISUAL,EDITOR" hidden:""`
}

// Help says what happens without flags.
func (deviceEditCommand) Help() string {
	return `Without flags, label, address, tags, vars and settings are opened in $EDITOR. Then the plan is shown, and the change made
after an answer. With flags, the record of the device is changed at once.`
}

// Run changes what flags name of a device's record, or opens all of it in an editor.
func (c *deviceEditCommand) Run(ctx context.Context, env *environment) error {
	byFlags := c.Label != nil || c.Address != nil || c.Port != nil || c.KeyFile != ""
	switch {
	case byFlags && c.File != "":
		return &fleet.Error{Code: fleet.CodeInvalid, Message: "--file and flags for single fields contradict each other",
			Hint: "Put the fields into the file; --key-file is for a command of its own."}
	case c.File != "":
		return c.saveFile(ctx, env)
	case !byFlags:
		return c.edit(ctx, env)
	}
	server, device, err := c.find(ctx)
	if err != nil {
		return err
	}
	current, etag, err := server.DeviceETag(ctx, device.DeviceID)
	if err != nil {
		return err
	}
	put := api.PutDevice{APIAddress: &current.APIAddress, APIPort: &current.APIPort, Label: &current.Label}
	if c.Label != nil {
		put.Label = c.Label
	}
	if c.Address != nil {
		put.APIAddress = c.Address
	}
	if c.Port != nil {
		put.APIPort = c.Port
	}
	if c.KeyFile != "" {
		key, err := secretFrom(env, c.KeyFile)
		if err != nil {
			return err
		}
		key = strings.TrimSpace(key)
		put.APIKey = &key
	}
	stored, _, err := server.PutDevice(ctx, device.DeviceID, put, client.IfMatch(etag))
	if fleet.CodeOf(err) == fleet.CodePrecondition {
		return &fleet.Error{Code: fleet.CodeConflict, Message: "the device was changed meanwhile: nothing was changed here",
			Hint: "Type the command again."}
	}
	if err != nil {
		return err
	}
	return c.done(env, stored.DeviceID, stored, fmt.Sprintf("%s is at %s, port %d.", named(stored),
		orDiscovered(stored.APIAddress), stored.APIPort))
}

func orDiscovered(address string) string {
	if address == "" {
		return "whatever address discovery finds"
	}
	return printable(address)
}
