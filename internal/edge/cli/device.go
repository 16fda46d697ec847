package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"muster/api"
	"muster/client"
)

type deviceCommand struct {
	List       deviceListCommand       `cmd:"" help:"List devices with state, version, system, folders and tags."`
	Get        deviceGetCommand        `cmd:"" help:"Show how a device is reached, since when, its software and its tags."`
	Add        deviceAddCommand        `cmd:"" help:"Register a device by its ID and API key, which the server tries first. On the device's own machine muster enroll finds both and registers the device."`
	Edit       deviceEditCommand       `cmd:"" help:"Open label, address, tags, vars and settings of a device in $EDITOR, show what would change, and save it; or change fields by flags."`
	Rename     deviceRenameCommand     `cmd:"" help:"Give a device another label; first the plan is shown, because templates may read it."`
	SetKey     deviceSetKeyCommand     `cmd:"" help:"Replace the API key that Muster uses for a daemon; the server tries it first."`
	Restart    deviceRestartCommand    `cmd:"" help:"Restart daemons, and wait until they are back."`
	Rescan     deviceRescanCommand     `cmd:"" help:"Have daemons compare their folders with the disk."`
	Pause      deviceOrder             `cmd:"" help:"Pause the connections of daemons to all other devices."`
	Resume     deviceOrder             `cmd:"" help:"Resume the connections of daemons to all other devices."`
	Upgrade    deviceUpgradeCommand    `cmd:"" help:"Have daemons install the newest release of Syncthing, and restart."`
	Tag        deviceTagging           `cmd:"" help:"Put a tag on devices, in one generation; first the plan is shown."`
	Untag      deviceTagging           `cmd:"" help:"Take a tag off devices, in one generation; first the plan is shown."`
	Config     deviceConfigCommand     `cmd:"" help:"Print the configuration that a daemon was last seen with, secrets masked."`
	AtRisk     deviceAtRiskCommand     `cmd:"" help:"Show what would be lost with a device: in which folders its data is not proven to be on another device. The daemons are asked."`
	Disks      deviceDisksCommand      `cmd:"" help:"List the disks that a daemon uses, with what is free, and folders that are not there, as its agent tells it."`
	Settings   deviceSettingsCommand   `cmd:"" help:"Show the settings of devices, or change them: mode, plain HTTP, restarts, way of reaching."`
	Log        deviceLogCommand        `cmd:"" help:"Print the newest lines of a daemon's own log."`
	Vars       deviceVarsCommand       `cmd:"" help:"Show the vars that templates read of a device, or change the own vars of devices; first the plan is shown."`
	Revoke     deviceRevokeCommand     `cmd:"" help:"Take devices off every managed daemon, for good; first the plan is shown."`
	Revocation deviceRevocationCommand `cmd:"" help:"Print what is proven about a revoked device: on how many managed devices it is gone, and what it knew."`
	Delete     deviceDeleteCommand     `cmd:"" help:"Have Muster forget devices; their daemons stay as they are."`
	Trust      deviceTrustCommand      `cmd:"" help:"Show the certificate that the API of each device shows beside the pinned one, and take it."`
}

var deviceNoun = noun[api.Device]{
	all:     (*client.Client).Devices,
	columns: columns[api.Device]{name: func(d api.Device) string { return cmp.Or(d.Label, d.DeviceID) }},
	about:   func(d api.Device) string { return d.DeviceID },
}

// deviceVerbs are the commands that are described by data alone.
var deviceVerbs = deviceCommand{
	Restart: deviceRestartCommand{deviceOrder: deviceOrder{spec: client.OrderSpec{Type: client.OrderRestart}}},
	Rescan:  deviceRescanCommand{deviceOrder: deviceOrder{spec: client.OrderSpec{Type: client.OrderRescan}}},
	Pause:   deviceOrder{spec: client.OrderSpec{Type: client.OrderPause}},
	Resume:  deviceOrder{spec: client.OrderSpec{Type: client.OrderResume}},
	Upgrade: deviceUpgradeCommand{deviceOrder: deviceOrder{spec: client.OrderSpec{Type: client.OrderUpgrade}}},
	Tag:     deviceTagging{tagging: tagging{question: "Put the tag %q on %s?"}},
	Untag:   deviceTagging{tagging: tagging{question: "Take the tag %q off %s?", off: true}},
}

// namedDevice is the device that a command is about.
type namedDevice struct {
	connection
	Device string `arg:"" help:"Label or ID of a device, or the first letters of its ID."`
}

func (c *namedDevice) find(ctx context.Context, server *client.Client) (api.Device, error) {
	return deviceNamed(ctx, server, c.Device)
}

type deviceGetCommand struct {
	namedDevice
	output
	watching
	paging
}

// deviceTagging puts a tag on devices or takes it off.
type deviceTagging struct {
	connection
	changing
	Tag string `arg:"" help:"The tag."`
	selecting
	tagging
}

// Run shows what that would change, and makes it in one generation.
func (c *deviceTagging) Run(ctx context.Context, env *environment, server *client.Client) error {
	devices, err := c.selected(ctx, server)
	if err != nil {
		return err
	}
	if c.isUsed() {
		c.show(env, c.output, devices)
	}
	var all []api.WhatIfTag
	for _, device := range devices {
		all = append(all, api.WhatIfTag{Tag: &c.Tag, Device: &device.DeviceID})
	}
	which := counted(len(devices), "device")
	if len(devices) == 1 {
		which = printable(cmp.Or(devices[0].Label, devices[0].DeviceID))
	}
	return c.make(ctx, env, server, c.change(all...), fmt.Sprintf(c.question, printable(c.Tag), which))
}

type deviceDeleteCommand struct {
	connection
	output
	selecting
	messaging
	Yes bool `short:"y" env:"-" help:"Do not ask."`
}

// Run has Muster forget devices.
func (c *deviceDeleteCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	devices, err := c.selected(ctx, server)
	if err != nil {
		return err
	}
	if c.isUsed() {
		c.show(env, c.output, devices)
	}
	which, what := named(devices[0]), "the device with its tags, revisions and certificate. Its daemon stays as it is; "+
		"templates no longer name it to others."
	if len(devices) > 1 {
		which, what = counted(len(devices), "device"), "the devices with their tags, revisions and certificates. Their "+
			"daemons stay as they are; templates no longer name them to others."
	}
	if !c.Yes {
		fmt.Fprintln(c.texts(env), "Muster forgets "+what)
		if err := confirm(env, "Delete "+which+"?"); err != nil {
			return err
		}
	}
	return c.delete(ctx, env, server, devices)
}

// delete goes on after a failure, and ends with what failed.
func (c *deviceDeleteCommand) delete(ctx context.Context, env *environment, server *client.Client,
	devices []api.Device) error {
	done, failures, err := forEachOf(ctx, devices, func(device api.Device) error {
		err := server.DeleteDevice(ctx, device.DeviceID)
		if err == nil && c.forPeople() && len(devices) > 1 {
			fmt.Fprintln(env.Out, "Deleted "+named(device)+".")
		}
		return err
	})
	if err != nil && len(devices) == 1 {
		return err
	}
	var deleted []changed // An interruption does not hide what was deleted before it.
	for _, device := range done {
		deleted = append(deleted, changed{device.DeviceID, "deleted"})
	}
	const were = "were not deleted"
	if told := c.tell(env, idsOf(done), deleted, len(devices)); told != nil || err != nil {
		tellFailures(env, failures, len(devices), were)
		return errors.Join(err, told)
	}
	return notAll(failures, len(devices), were)
}

// tell prints what was deleted: for programs one change where one device was to be deleted, and else a list.
func (c *deviceDeleteCommand) tell(env *environment, names []string, deleted []changed, asked int) error {
	switch {
	case asked == 1:
		return c.done(env, names[0], deleted[0], "Deleted.")
	case c.forPeople():
		return nil
	}
	return c.print(env, append([]changed{}, deleted...), names...)
}
