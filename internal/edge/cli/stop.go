package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
)

// whose selects the mode that a command changes: the fleet's, unless a tag or a device is named. Variables of the
// environment do not count: one that was set for another command must not limit a stop to one tag.
type whose struct {
	Tag    string `help:"Only the devices with this tag." placeholder:"TAG" env:"-" xor:"whose"`
	Device string `help:"Only this device: label, ID or first letters of the ID." placeholder:"DEVICE" env:"-" xor:"whose"`
}

type stopCommand struct {
	connection
	output
	whose
	messaging
	Force bool `help:"Stop the tag also where no device carries it yet." env:"-"`
}

// readTime is how long a stop waits for the mode and the tags, which it needs only for its messages.
const readTime = 3 * time.Second

// Run sets the mode observe at once: everything is planned and nothing is written. A mode that is paused stays,
// because nothing is even watched then.
func (c *stopCommand) Run(ctx context.Context, env *environment) error {
	s, err := c.find(ctx, &c.connection)
	if err != nil {
		return err
	}
	// The stop is tried even if the mode or the tags cannot be read in time.
	reading, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	unused, err := c.unusedTag(reading, s.server, "stop")
	if err == nil && unused != nil && !c.Force {
		return unused
	}
	if now, err := s.mode(reading); err == nil && now == string(fleet.ModePaused) {
		return c.done(env, s.what, modeOf{s.what, now}, fmt.Sprintf("Stopped before: the mode is paused (not watched) and "+
			"stays so, nothing is written to %s. `muster resume%s` goes on.", s.who, c.flag()))
	}
	if err := s.set(ctx, env, fleet.ModeObserve); err != nil {
		return err
	}
	if c.Tag != "" && err != nil {
		fmt.Fprintf(env.Err, "Warning: it is not known whether a device carries the tag %q: %v\n", c.Tag, err)
	}
	return c.done(env, s.what, modeOf{s.what, string(fleet.ModeObserve)},
		fmt.Sprintf("Stopped: nothing is written to %s. `muster resume%s` goes on.", s.who, c.flag()))
}

// unusedTag is the error about a tag that no device carries, nil if a device does or no tag was given. verb is the
// command that the hint names.
func (w *whose) unusedTag(ctx context.Context, server *client.Client, verb string) (unused, err error) {
	if w.Tag == "" {
		return nil, nil
	}
	carriers, err := server.TagDevices(ctx, w.Tag, client.List{Mask: true})
	if err != nil || len(carriers) > 0 {
		return nil, err
	}
	tags, err := server.Tags(ctx, client.List{})
	if err != nil {
		return nil, err
	}
	hint := "Nothing was changed."
	if near := fleet.Nearest(w.Tag, tags); near != "" {
		hint += fmt.Sprintf(" Did you mean `muster %s --tag %s`?", verb, quoted(near))
	}
	if verb == "stop" {
		hint += " `muster stop` stops the whole fleet; --force stops the tag for devices that get it later."
	}
	message := fmt.Sprintf("no device carries the tag %q", w.Tag)
	return &fleet.Error{Code: fleet.CodeNotFound, Message: message, Hint: hint}, nil
}

// modeOf is what programs read of a stop.
type modeOf struct {
	Of   string `json:"of"`
	Mode string `json:"mode"`
}

type resumeCommand struct {
	connection
	output
	whose
	messaging
}

// Run lets Muster write again, and names the stops that are still in force.
func (c *resumeCommand) Run(ctx context.Context, env *environment) error {
	s, err := c.find(ctx, &c.connection)
	if err != nil {
		return err
	}
	before, err := s.mode(ctx)
	if err != nil {
		return err
	}
	stopped := before != string(fleet.ModeOn)
	if !stopped {
		if unused, err := c.unusedTag(ctx, s.server, "resume"); err != nil || unused != nil {
			return errors.Join(unused, err)
		}
	}
	if err := s.set(ctx, env, fleet.ModeOn); err != nil {
		return err
	}
	left, count, err := c.left(ctx, s)
	if err != nil {
		return err
	}
	if !c.forPeople() {
		return c.print(env, resumed{modeOf{s.what, string(fleet.ModeOn)}, left}, s.what)
	}
	switch {
	case !stopped:
		fmt.Fprintf(env.Out, "Nothing to resume: %s was not stopped.\n", s.what)
	case count == 0:
		fmt.Fprintf(env.Out, "Resumed: what the templates ask for is written to %s again.\n", s.who)
		return nil
	default:
		fmt.Fprintf(env.Out, "Resumed: the stop of %s has ended.\n", s.what)
	}
	if count > 0 {
		fmt.Fprintln(env.Out, "Still in force:")
		printFirstStops(env.Out, "  ", left, count)
	}
	return nil
}

// resumed is what programs read of the end of a stop.
type resumed struct {
	modeOf
	Left []api.ModeStop `json:"stillInForce"`
}

// left are the first stops that still keep something from being written to the devices that the command named, and how
// many there are.
func (c *resumeCommand) left(ctx context.Context, s setting) (first []api.ModeStop, count int, err error) {
	switch {
	case s.device.DeviceID != "":
		first, err = stopsOfDevice(ctx, s.server, s.device.DeviceID)
	case c.Tag != "":
		first, err = stopsOfTag(ctx, s.server, c.Tag)
	default:
		overview, err := s.server.Overview(ctx)
		return overview.Stops, overview.StopCount, err
	}
	return first, len(first), err
}

// flag returns the command-line flag that selects the same devices in a different command.
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
	device api.Device // zero unless it is the mode of a device
	what   string     // name of the stopped devices in texts: "the fleet"
	who    string     // the same after "nothing is written to": "any device"
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
		name := "device " + named(device)
		return setting{
			server: server, device: device, what: name, who: name,
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
			server: server, what: fmt.Sprintf("the tag %q", w.Tag), who: fmt.Sprintf("devices with the tag %q", w.Tag),
			mode: func(ctx context.Context) (string, error) { return server.TagMode(ctx, w.Tag) },
			put:  func(ctx context.Context, mode string) (string, error) { return server.SwitchTagMode(ctx, w.Tag, mode) },
		}, nil
	}
	return setting{server: server, what: "the fleet", who: "any device", mode: server.Mode, put: server.SwitchMode}, nil
}

// set puts the mode, and prints what the server warns of.
func (s setting) set(ctx context.Context, env *environment, mode fleet.Mode) error {
	warning, err := s.put(ctx, string(mode))
	if err == nil && warning != "" {
		fmt.Fprintf(env.Err, "Warning: %s\n", warning)
	}
	return err
}

const (
	stopsPage   = 1000 // stops in one answer
	stopsListed = 100  // lines that a person reads
)

// printFirstStops prints the first of count stops.
func printFirstStops(out io.Writer, indent string, stops []api.ModeStop, count int) {
	stops = stops[:min(len(stops), stopsListed)]
	printStops(out, indent, stops)
	if left := count - len(stops); left > 0 {
		fmt.Fprintf(out, "%sand %s more: `muster status DEVICE` shows those of a device.\n", indent, counted(left, "stop"))
	}
}

// printStops prints one line for each stop: what it keeps from being written, since when, and how it is ended.
func printStops(out io.Writer, indent string, stops []api.ModeStop) {
	for _, stop := range stops {
		fmt.Fprintf(out, "%s%s\n", indent, stopLine(stop))
	}
}

func stopLine(stop api.ModeStop) string {
	what, end := "", ""
	switch stop.Scope {
	case "server":
		what = "any device: the server was started with --configurator=" + stop.Mode
		end = "Start it without that flag to end this."
	case "tag":
		what = fmt.Sprintf("the devices with the tag %q (%d)", stop.Tag, stop.Devices)
		end = "`muster resume --tag " + quoted(stop.Tag) + "` ends this."
	case "device":
		short, _, _ := strings.Cut(stop.DeviceID, "-")
		what = "device " + nameOf(stop.DeviceID, stop.Label)
		end = "`muster resume --device " + short + "` ends this."
	default:
		what = "any device"
		end = "`muster resume` ends this."
	}
	line := "Observe only: nothing is written to " + what
	if stop.Mode == string(fleet.ModePaused) {
		line = "Not watched: nothing is read from or written to " + what
	}
	if stop.Since != nil {
		line += ", since " + stop.Since.Time.Local().Format("2006-01-02 15:04:05 MST")
	}
	if stop.By != "" {
		line += ", by " + printable(stop.By)
	}
	return line + ". " + end
}

// stopsOfDevice are the stops that concern a registered device.
func stopsOfDevice(ctx context.Context, server *client.Client, id string) ([]api.ModeStop, error) {
	return server.Stops(ctx, client.List{Device: id})
}

// stopsOfTag are the stops that concern some device with the tag.
func stopsOfTag(ctx context.Context, server *client.Client, tag string) ([]api.ModeStop, error) {
	return server.Stops(ctx, client.List{Tag: tag, Page: stopsPage})
}
