package cli

import (
	"context"
	"fmt"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
)

// whose says whose mode a command is about: the fleet's unless a tag or a device is named.
// Neither is read from the environment: what somebody set there once for something else must not make a stop smaller.
type whose struct {
	Tag    string `help:"Only the devices with this tag." placeholder:"TAG" env:"-" xor:"whose"`
	Device string `help:"Only this device: its label or ID, or the first letters of its ID." placeholder:"DEVICE" env:"-" xor:"whose"`
}

type stopCommand struct {
	connection
	whose
}

// Run makes Muster observe only, at once: everything is planned, nothing is written.
func (c *stopCommand) Run(ctx context.Context, env *environment) error {
	return c.set(ctx, env, &c.connection, fleet.ModeObserve, func(who string) string {
		return "Stopped: nothing is written to " + who + ". `muster resume" + c.flag() + "` goes on."
	})
}

type resumeCommand struct {
	connection
	whose
}

// Run lets Muster write again.
func (c *resumeCommand) Run(ctx context.Context, env *environment) error {
	return c.set(ctx, env, &c.connection, fleet.ModeOn, func(who string) string {
		return "Resumed: what the templates ask for is written to " + who + " again."
	})
}

// flag is how the same devices are named again.
func (w *whose) flag() string {
	switch {
	case w.Device != "":
		return " --device " + quoted(w.Device)
	case w.Tag != "":
		return " --tag " + quoted(w.Tag)
	}
	return ""
}

func (w *whose) set(ctx context.Context, env *environment, connection *connection, mode fleet.Mode, says func(who string) string) error {
	server, err := connection.client()
	if err != nil {
		return err
	}
	who, warning, err := w.put(ctx, server, string(mode))
	if err != nil {
		return err
	}
	fmt.Fprintln(env.Out, says(who))
	if warning != "" {
		fmt.Fprintf(env.Err, "Warning: %s\n", warning)
	}
	if w.Tag != "" {
		if err := warnOfTag(ctx, env, server, w.Tag); err != nil {
			return err
		}
	}
	return w.explain(ctx, env, server, mode)
}

func (w *whose) put(ctx context.Context, server *client.Client, mode string) (who, warning string, err error) {
	switch {
	case w.Device != "":
		device, err := deviceNamed(ctx, server, w.Device)
		if err != nil {
			return "", "", err
		}
		settings, err := server.PutDeviceSettings(ctx, device.DeviceID, api.PutDeviceSettings{Mode: &mode})
		return "device " + nameOf(api.DeviceEffect{DeviceID: device.DeviceID, Label: device.Label}), settings.Warning, err
	case w.Tag != "":
		warning, err = server.SwitchTagMode(ctx, w.Tag, mode)
		return fmt.Sprintf("devices with the tag %q", w.Tag), warning, err
	}
	warning, err = server.SwitchMode(ctx, mode)
	return "any device", warning, err
}

// explain says what still keeps Muster from writing after a resume: the strictest mode wins.
func (w *whose) explain(ctx context.Context, env *environment, server *client.Client, mode fleet.Mode) error {
	if mode != fleet.ModeOn || w.Tag == "" && w.Device == "" {
		return nil
	}
	all, err := server.Mode(ctx)
	if err == nil && all != string(fleet.ModeOn) {
		fmt.Fprintf(env.Out, "The whole fleet's mode still is %s: resume that one, too.\n", all)
	}
	return err
}
