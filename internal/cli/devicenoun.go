package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"muster/api"
	"muster/client"
)

// namedDevice is the device that a command is about.
type namedDevice struct {
	connection
	Device string `arg:"" help:"Label or ID of a device, or the first letters of its ID."`
}

// find gives the server and the device.
func (c *namedDevice) find(ctx context.Context) (*client.Client, api.Device, error) {
	server, err := c.client()
	if err != nil {
		return nil, api.Device{}, err
	}
	device, err := deviceNamed(ctx, server, c.Device)
	return server, device, err
}

type deviceGetCommand struct {
	namedDevice
	output
	watching
}

// taggedDevices are devices and a tag that a command is about.
type taggedDevices struct {
	connection
	changing
	Tag     string   `arg:"" help:"The tag."`
	Devices []string `arg:"" name:"device" help:"Labels or IDs of devices, or the first letters of their IDs."`
}

// taggings are the tag on each device.
func (c *taggedDevices) taggings(ctx context.Context, server *client.Client) (all []api.WhatIfTag, err error) {
	for _, name := range c.Devices {
		device, err := deviceNamed(ctx, server, name)
		if err != nil {
			return nil, err
		}
		all = append(all, api.WhatIfTag{Tag: &c.Tag, Device: &device.DeviceID})
	}
	return all, nil
}

// named says how many devices are meant.
func (c *taggedDevices) named() string {
	if len(c.Devices) == 1 {
		return printable(c.Devices[0])
	}
	return fmt.Sprintf("%d devices", len(c.Devices))
}

// ask shows what the tag on, or off, the devices would change, and makes that in one generation.
func (c *taggedDevices) ask(ctx context.Context, env *environment, question string,
	change func([]api.WhatIfTag) api.WhatIfTags) error {
	server, err := c.client()
	if err != nil {
		return err
	}
	all, err := c.taggings(ctx, server)
	if err != nil {
		return err
	}
	tags := change(all)
	return c.make(ctx, env, server, api.WhatIf{Tags: &tags}, fmt.Sprintf(question, printable(c.Tag), c.named()))
}

type deviceTagCommand struct{ taggedDevices }

// Run puts a tag on devices.
func (c *deviceTagCommand) Run(ctx context.Context, env *environment) error {
	return c.ask(ctx, env, "Put the tag %q on %s?",
		func(all []api.WhatIfTag) api.WhatIfTags { return api.WhatIfTags{Added: all} })
}

type deviceUntagCommand struct{ taggedDevices }

// Run takes a tag off devices.
func (c *deviceUntagCommand) Run(ctx context.Context, env *environment) error {
	return c.ask(ctx, env, "Take the tag %q off %s?",
		func(all []api.WhatIfTag) api.WhatIfTags { return api.WhatIfTags{Removed: all} })
}

type deviceDeleteCommand struct {
	namedDevice
	output
	Yes bool `short:"y" env:"-" help:"Do not ask."`
}

// Run has Muster forget a device.
func (c *deviceDeleteCommand) Run(ctx context.Context, env *environment) error {
	server, device, err := c.find(ctx)
	if err != nil {
		return err
	}
	if !c.Yes {
		fmt.Fprintln(env.Out, "Muster forgets the device with its tags, revisions and certificate. Its daemon stays as "+
			"it is; templates no longer name it to others.")
		if err := confirm(env, "Delete "+named(device)+"?"); err != nil {
			return err
		}
	}
	if err := server.DeleteDevice(ctx, device.DeviceID); err != nil {
		return err
	}
	return c.done(env, device.DeviceID, changed{device.DeviceID, "deleted"}, "Deleted.")
}

type deviceConfigCommand struct {
	namedDevice
	Output string `short:"o" env:"-" help:"json, yaml, table: its options, one on each line; or name: the IDs of its folders." default:"json" enum:"table,json,yaml,name"`
}

// Run prints the configuration that the daemon was last seen with, secrets masked.
func (c *deviceConfigCommand) Run(ctx context.Context, env *environment) error {
	server, device, err := c.find(ctx)
	if err != nil {
		return err
	}
	config, err := server.DeviceConfig(ctx, device.DeviceID)
	if err != nil {
		return err
	}
	switch c.Output {
	case "name":
		return printFolderIDs(env, config)
	case "table":
		return printOptions(env, config)
	}
	return printValue(env, output{c.Output}, config)
}

// printFolderIDs prints the IDs of the folders of a configuration.
func printFolderIDs(env *environment, config json.RawMessage) error {
	var parts struct {
		Folders []struct{ ID string }
	}
	if err := json.Unmarshal(config, &parts); err != nil {
		return err
	}
	for _, folder := range parts.Folders {
		fmt.Fprintln(env.Out, printable(folder.ID))
	}
	return nil
}

// printOptions prints what is not in a list of a configuration, one key on each line.
func printOptions(env *environment, config json.RawMessage) error {
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(config, &parts); err != nil {
		return err
	}
	table := newTable(env.Out)
	fmt.Fprintln(table, "KEY\tVALUE")
	for _, section := range slices.Sorted(maps.Keys(parts)) {
		var fields map[string]json.RawMessage
		if json.Unmarshal(parts[section], &fields) != nil {
			continue // a list
		}
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			fmt.Fprintf(table, "%s\t%s\n", printable(section+"."+name), printable(valueIn(fields[name])))
		}
	}
	return table.Flush()
}

type deviceSettingsCommand struct {
	namedDevice
	Mode       *string `env:"-" help:"on, observe (plan, never write) or paused (do not even watch)." placeholder:"MODE"`
	AllowPlain *bool   `env:"-" help:"Allow plain HTTP although the address is not loopback." negatable:""`
	Restart    *bool   `env:"-" help:"Let Muster restart the daemon after a change that needs it." negatable:""`
	Way        *string `env:"-" help:"How the daemon is reached: auto (by its agent while that is connected), agent or direct." placeholder:"WAY"`
	Output     string  `short:"o" env:"-" help:"json, yaml, table, or name: that of the device." default:"yaml" enum:"table,json,yaml,name"`
}

// Run shows a device's settings, and changes those that flags name.
func (c *deviceSettingsCommand) Run(ctx context.Context, env *environment) error {
	server, device, err := c.find(ctx)
	if err != nil {
		return err
	}
	if c.Mode == nil && c.AllowPlain == nil && c.Restart == nil && c.Way == nil {
		settings, err := server.DeviceSettings(ctx, device.DeviceID)
		if err != nil {
			return err
		}
		return c.show(env, device, settings)
	}
	stored, err := server.PutDeviceSettings(ctx, device.DeviceID,
		api.PutDeviceSettings{Mode: c.Mode, AllowPlain: c.AllowPlain, Restart: c.Restart, Way: c.Way})
	if err != nil {
		return err
	}
	return c.show(env, device, stored)
}

func (c *deviceSettingsCommand) show(env *environment, device api.Device, settings any) error {
	how := output{c.Output}
	if !how.forPeople() {
		return how.print(env, settings, cmp.Or(device.Label, device.DeviceID))
	}
	text, err := json.Marshal(settings)
	if err != nil {
		return err
	}
	return printOptions(env, json.RawMessage(`{"settings":`+string(text)+`}`))
}
