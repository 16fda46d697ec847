package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
)

type eventsCommand struct {
	connection
	Follow bool     `short:"f" env:"-" help:"Go on until Ctrl-C; without it, ten events are printed."`
	Type   []string `env:"-" help:"Only events of this type, as device or plan; may be repeated." placeholder:"TYPE"`
	Device []string `env:"-" help:"Only events about this device: label, ID, or its first letters; may be repeated." placeholder:"DEVICE"`
	Tag    []string `env:"-" sep:"none" help:"Only events about devices with this tag; may be repeated." placeholder:"TAG"`
	Since  string   `env:"-" help:"Print what was kept since this time, oldest first: 2026-01-31, 2026-01-31T08:00:00Z, yesterday, or how long ago, like 12h or 1w. Kept are changes of state and configuration, and orders." placeholder:"TIME"`
	Folder string   `env:"-" help:"Of what is kept, only what is about this folder." placeholder:"FOLDER"`
	Kind   []string `env:"-" help:"Of what is kept, only this: connection, configuration, revision, folder, conflict, peers or order; may be repeated." placeholder:"KIND"`
	Output string   `short:"o" env:"-" help:"table: a text on each line; json: one object on each line; yaml: one document for each; csv: for spreadsheets; or name: the devices." default:"table" enum:"table,json,yaml,csv,name"`
	lines  csvLines
}

const (
	eventsWithoutFollow = 10
	eventsUsually       = 24 * time.Hour // of what is kept, where a folder or a kind is named and no time
)

// Run prints what is kept, and events as they come.
func (c *eventsCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	filter := client.EventFilter{Types: c.Type, Tags: c.Tag}
	for _, name := range c.Device {
		device, err := deviceNamed(ctx, server, name)
		if err != nil {
			return err
		}
		filter.Devices = append(filter.Devices, device.DeviceID)
	}
	if c.Since != "" || c.Folder != "" || len(c.Kind) > 0 {
		return c.runLog(ctx, env, server, filter)
	}
	label := labels(ctx, server)
	count := 0
	filter.Lost = env.tellLost
	for e, err := range server.Watch(ctx, filter, 0) {
		if err == nil {
			err = c.print(env, e, label)
		}
		if err != nil {
			return err
		}
		if count++; !c.Follow && count == eventsWithoutFollow {
			return nil
		}
	}
	return nil
}

// tellLost says on standard error that the server cannot be reached now and is tried again.
func (env *environment) tellLost(err error) {
	_, _ = fmt.Fprintf(env.Err, "%s; trying again\n", fleet.Reason(err))
}

// eventLine is an event as a line for spreadsheets: what happened is one cell, because its fields depend on the type.
type eventLine struct {
	ID     int64    `json:"id"`
	Time   api.Time `json:"time"`
	Type   string   `json:"type"`
	Device string   `json:"device"`
	Label  string   `json:"label"`
	Tags   []string `json:"tags"`
	Data   string   `json:"data"`
}

func (c *eventsCommand) print(env *environment, e api.Event, label func(fleet.DeviceID) string) error {
	switch c.Output {
	case "json":
		return json.NewEncoder(env.Out).Encode(e)
	case "yaml":
		fmt.Fprintln(env.Out, "---")
		return printValue(env, output{c.Output}, e)
	case "csv":
		return c.lines.print(env.Out, eventLine{e.ID, e.Time, e.Type, e.Device, label(fleet.DeviceID(e.Device)), e.Tags,
			string(e.Data)})
	case "name":
		if e.Device == "" {
			return nil
		}
		_, err := fmt.Fprintln(env.Out, cmp.Or(printable(label(fleet.DeviceID(e.Device))), e.Device))
		return err
	}
	about := ""
	if e.Device != "" {
		about = nameOf(e.Device, label(fleet.DeviceID(e.Device)))
	}
	_, err := fmt.Fprintln(env.Out, strings.TrimSpace(fmt.Sprintf("%s %-9s %s", e.Time.Local().Format(time.TimeOnly),
		e.Type, about)))
	return err
}
