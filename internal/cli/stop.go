package cli

import (
	"context"
	"fmt"
	"time"

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

// readTime is how long a stop waits for what it only wants to know.
const readTime = 3 * time.Second

// Run makes Muster observe only, at once: everything is planned, nothing is written. What is paused is not even watched, and
// stays so.
func (c *stopCommand) Run(ctx context.Context, env *environment) error {
	s, err := c.find(ctx, &c.connection)
	if err != nil {
		return err
	}
	// Whatever keeps the mode from being read, the stop is tried, and soon.
	reading, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	if now, err := s.mode(reading); err == nil && now == string(fleet.ModePaused) {
		fmt.Fprintf(env.Out, "Stopped before: the mode is paused and stays so, nothing is written to %s. `muster resume%s` goes on.\n", s.who, c.flag())
		return c.warn(ctx, env, s)
	}
	return c.set(ctx, env, s, fleet.ModeObserve, "Stopped: nothing is written to "+s.who+". `muster resume"+c.flag()+"` goes on.")
}

type resumeCommand struct {
	connection
	whose
}

// Run lets Muster write again.
func (c *resumeCommand) Run(ctx context.Context, env *environment) error {
	s, err := c.find(ctx, &c.connection)
	if err != nil {
		return err
	}
	return c.set(ctx, env, s, fleet.ModeOn, "Resumed: what the templates ask for is written to "+s.who+" again.")
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

// setting is one mode of the server: whose it is, how it is read and how it is set.
type setting struct {
	server *client.Client
	who    string
	mode   func(ctx context.Context) (string, error)
	put    func(ctx context.Context, mode string) (warning string, err error)
}

func (w *whose) find(ctx context.Context, connection *connection) (setting, error) {
	server, err := connection.client()
	if err != nil {
		return setting{}, err
	}
	switch {
	case w.Device != "":
		device, err := deviceNamed(ctx, server, w.Device)
		if err != nil {
			return setting{}, err
		}
		return setting{
			server: server,
			who:    "device " + nameOf(api.DeviceEffect{DeviceID: device.DeviceID, Label: device.Label}),
			mode: func(ctx context.Context) (string, error) {
				settings, err := server.DeviceSettings(ctx, device.DeviceID)
				return settings.Mode, err
			},
			put: func(ctx context.Context, mode string) (string, error) {
				settings, err := server.PutDeviceSettings(ctx, device.DeviceID, api.PutDeviceSettings{Mode: &mode})
				return settings.Warning, err
			},
		}, nil
	case w.Tag != "":
		return setting{
			server: server,
			who:    fmt.Sprintf("devices with the tag %q", w.Tag),
			mode:   func(ctx context.Context) (string, error) { return server.TagMode(ctx, w.Tag) },
			put:    func(ctx context.Context, mode string) (string, error) { return server.SwitchTagMode(ctx, w.Tag, mode) },
		}, nil
	}
	return setting{server: server, who: "any device", mode: server.Mode, put: server.SwitchMode}, nil
}

func (w *whose) set(ctx context.Context, env *environment, s setting, mode fleet.Mode, done string) error {
	warning, err := s.put(ctx, string(mode))
	if err != nil {
		return err
	}
	fmt.Fprintln(env.Out, done)
	if warning != "" {
		fmt.Fprintf(env.Err, "Warning: %s\n", warning)
	}
	if err := w.warn(ctx, env, s); err != nil {
		return err
	}
	return w.explain(ctx, env, s.server, mode)
}

// warn says when the tag is one that nobody carries: it may be mistyped.
func (w *whose) warn(ctx context.Context, env *environment, s setting) error {
	if w.Tag == "" {
		return nil
	}
	return warnOfTag(ctx, env, s.server, w.Tag)
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
