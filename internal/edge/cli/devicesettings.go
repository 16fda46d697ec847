package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"

	"muster/api"
	"muster/client"
)

type deviceSettingsCommand struct {
	connection
	selecting
	messaging
	Mode       *string `env:"-" help:"on, observe (plan, never write) or paused (not watched: neither read nor write)." placeholder:"MODE"`
	AllowPlain *bool   `env:"-" help:"Allow plain HTTP although the address is not loopback." negatable:""`
	Restart    *bool   `env:"-" help:"Let Muster restart the daemon after a change that needs it." negatable:""`
	QuietAfter *span   `env:"-" help:"How long the device may be away before that is trouble, as 48h or 2d; 0: as its tags say, or as usual." placeholder:"DURATION"`
	Way        *string `env:"-" help:"How the daemon is reached: auto (by its agent while that is connected), agent or direct." placeholder:"WAY"`
	Yes        bool    `short:"y" env:"-" help:"Do not ask before the settings of several devices are changed."`
	Output     string  `short:"o" env:"-" help:"json, yaml, table, csv: for spreadsheets, or name: that of the device." default:"yaml" enum:"table,json,yaml,csv,name"`
}

// deviceSettings are the settings of one of several devices, as programs read them.
type deviceSettings struct {
	DeviceID string                   `json:"deviceID"`
	Label    string                   `json:"label"`
	Settings api.DeviceSettingsStored `json:"settings"`
}

// Run shows the settings of devices, and changes those that flags name.
func (c *deviceSettingsCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	devices, err := c.selected(ctx, server)
	if err != nil {
		return err
	}
	request := func(device api.Device) (api.DeviceSettingsStored, error) {
		settings, err := server.DeviceSettings(ctx, device.DeviceID)
		return api.DeviceSettingsStored{DeviceSettings: settings}, err
	}
	put, changes := c.wanted()
	if changes {
		if err := c.agreed(env, devices); err != nil {
			return err
		}
		request = func(device api.Device) (api.DeviceSettingsStored, error) {
			return server.PutDeviceSettings(ctx, device.DeviceID, put)
		}
	}
	all := []deviceSettings{}
	_, failures, err := forEachOf(ctx, devices, func(device api.Device) error {
		settings, err := request(device)
		if err == nil {
			all = append(all, deviceSettings{device.DeviceID, device.Label, settings})
		}
		return err
	})
	switch {
	case len(devices) == 1 && err != nil:
		return err
	case len(devices) == 1:
		return c.show(env, devices[0], all[0].Settings)
	}
	were := "have unknown settings"
	if changes {
		were = "keep their settings"
	}
	// An interruption does not hide what was done before it.
	if listed := printList(env, output{c.Output}, settingsColumns, all); listed != nil || err != nil {
		tellFailures(env, failures, len(devices), were)
		return errors.Join(err, listed)
	}
	return notAll(failures, len(devices), were)
}

// wanted are the settings that flags name; changes is false without any.
func (c *deviceSettingsCommand) wanted() (put api.PutDeviceSettings, changes bool) {
	put = api.PutDeviceSettings{Mode: c.Mode, AllowPlain: c.AllowPlain, Restart: c.Restart, Way: c.Way}
	if c.QuietAfter != nil {
		seconds := int64(time.Duration(*c.QuietAfter) / time.Second)
		put.QuietAfter = &seconds
	}
	return put, put != api.PutDeviceSettings{}
}

// agreed is an error unless the person agrees to change several devices, or devices that flags pick.
func (c *deviceSettingsCommand) agreed(env *environment, devices []api.Device) error {
	if c.Yes || len(devices) == 1 && !c.isUsed() {
		return nil
	}
	c.selecting.show(env, output{c.Output}, devices)
	which := counted(len(devices), "device")
	if len(devices) == 1 {
		which = named(devices[0])
	}
	return confirm(env, "Change the settings of "+which+"?")
}

func (c *deviceSettingsCommand) show(env *environment, device api.Device, settings api.DeviceSettingsStored) error {
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

var settingsColumns = columns[deviceSettings]{
	titles: []string{"DEVICE", "MODE", "WAY", "PLAIN HTTP", "RESTART", "QUIET AFTER"},
	name:   func(s deviceSettings) string { return s.DeviceID },
	row: func(s deviceSettings) []string {
		quiet := "as usual"
		if s.Settings.QuietAfter > 0 {
			quiet = (time.Duration(s.Settings.QuietAfter) * time.Second).String()
		}
		return []string{nameOf(s.DeviceID, s.Label), s.Settings.Mode, s.Settings.Way, yesOrNo(s.Settings.AllowPlain),
			yesOrNo(s.Settings.Restart), quiet}
	},
}
