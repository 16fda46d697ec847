package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
)

// acting is how a command has daemons do something.
type acting struct {
	output
	Yes    bool `short:"y" env:"-" help:"Do not ask."`
	NoWait bool `name:"no-wait" env:"-" help:"Do not wait until it is done; muster action show follows."`
}

// asks are the questions before what interrupts a daemon's work; the others need none.
var asks = map[fleet.DaemonAction]string{
	fleet.ActionRestart: "Restart the Syncthing of %s?",
	fleet.ActionPause:   "Pause all connections of %s?",
	fleet.ActionUpgrade: "Have %s install the newest Syncthing, and restart?",
}

// begin asks, gives the order and follows it.
func (c acting) begin(ctx context.Context, env *environment, server *client.Client, whom string, o fleet.ActionOrder,
	order func() (api.ActionRun, error)) error {
	if question := asks[o.Action]; question != "" && !c.Yes {
		if err := confirm(env, fmt.Sprintf(question, whom)); err != nil {
			return err
		}
	}
	run, err := order()
	if err != nil {
		return err
	}
	if c.NoWait {
		return c.done(env, strconv.FormatInt(run.ID, 10), run,
			fmt.Sprintf("Order %d is carried out. `muster action show %[1]d` shows how far it is.", run.ID))
	}
	return c.follow(ctx, env, server, run)
}

const actionEvery = 500 * time.Millisecond

// follow prints each device as it is through, and ends with the order.
func (c acting) follow(ctx context.Context, env *environment, server *client.Client, run api.ActionRun) error {
	told := 0
	tick := time.NewTicker(actionEvery)
	defer tick.Stop()
	for {
		for ; told < run.Done && run.Tag != "" && c.forPeople(); told++ {
			one := run.Devices[told]
			fmt.Fprintf(env.Out, "%d/%d %s: %s\n", told+1, len(run.Devices), nameOfActed(one), one.State)
		}
		if run.Status != string(fleet.ActionRunning) {
			break
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			fmt.Fprintf(env.Err, "Order %d goes on. `muster action show %[1]d` shows how far it is.\n", run.ID)
			return ctx.Err()
		}
		var err error
		if run, err = server.Action(ctx, run.ID); err != nil {
			return err
		}
	}
	if run.Status != string(fleet.ActionDone) {
		return errors.New(printable(run.Reason))
	}
	return c.done(env, strconv.FormatInt(run.ID, 10), run, "Done: "+printable(run.Reason)+".")
}

func nameOfActed(d api.ActionDevice) string {
	return nameOf(api.DeviceEffect{DeviceID: d.DeviceID, Label: d.Label})
}

// deviceAction has one daemon do something.
type deviceAction struct {
	namedDevice
	acting
}

func (c *deviceAction) act(ctx context.Context, env *environment, o fleet.ActionOrder) error {
	server, device, err := c.find(ctx)
	if err != nil {
		return err
	}
	return c.begin(ctx, env, server, named(device), o, func() (api.ActionRun, error) {
		return server.ActOnDevice(ctx, device.DeviceID, o)
	})
}

// tagAction has the daemons with a tag do something, one after the other.
type tagAction struct {
	namedTag
	acting
}

func (c *tagAction) act(ctx context.Context, env *environment, o fleet.ActionOrder) error {
	server, err := c.client()
	if err != nil {
		return err
	}
	devices, err := server.TagDevices(ctx, c.Tag, client.List{})
	if err != nil {
		return err
	}
	whom := fmt.Sprintf("%s with the tag %q, one after the other", counted(len(devices), "device"), printable(c.Tag))
	return c.begin(ctx, env, server, whom, o, func() (api.ActionRun, error) { return server.ActOnTag(ctx, c.Tag, o) })
}

type (
	deviceRestartCommand struct{ deviceAction }
	devicePauseCommand   struct{ deviceAction }
	deviceResumeCommand  struct{ deviceAction }
	deviceRescanCommand  struct {
		deviceAction
		Folder string `env:"-" help:"Only the folder with this ID." placeholder:"ID"`
	}
	deviceUpgradeCommand struct {
		deviceAction
		Major bool `env:"-" help:"Also to another major version."`
	}

	tagRestartCommand struct{ tagAction }
	tagPauseCommand   struct{ tagAction }
	tagResumeCommand  struct{ tagAction }
	tagRescanCommand  struct {
		tagAction
		Folder string `env:"-" help:"Only the folder with this ID." placeholder:"ID"`
	}
	tagUpgradeCommand struct {
		tagAction
		Major bool `env:"-" help:"Also to another major version."`
	}
)

// Run restarts it.
func (c *deviceRestartCommand) Run(ctx context.Context, env *environment) error {
	return c.act(ctx, env, fleet.ActionOrder{Action: fleet.ActionRestart})
}

// Run pauses its connections.
func (c *devicePauseCommand) Run(ctx context.Context, env *environment) error {
	return c.act(ctx, env, fleet.ActionOrder{Action: fleet.ActionPause})
}

// Run resumes its connections.
func (c *deviceResumeCommand) Run(ctx context.Context, env *environment) error {
	return c.act(ctx, env, fleet.ActionOrder{Action: fleet.ActionResume})
}

// Run has it scan.
func (c *deviceRescanCommand) Run(ctx context.Context, env *environment) error {
	return c.act(ctx, env, fleet.ActionOrder{Action: fleet.ActionRescan, Folder: c.Folder})
}

// Run upgrades it.
func (c *deviceUpgradeCommand) Run(ctx context.Context, env *environment) error {
	return c.act(ctx, env, fleet.ActionOrder{Action: fleet.ActionUpgrade, Major: c.Major})
}

// Run restarts them.
func (c *tagRestartCommand) Run(ctx context.Context, env *environment) error {
	return c.act(ctx, env, fleet.ActionOrder{Action: fleet.ActionRestart})
}

// Run pauses their connections.
func (c *tagPauseCommand) Run(ctx context.Context, env *environment) error {
	return c.act(ctx, env, fleet.ActionOrder{Action: fleet.ActionPause})
}

// Run resumes their connections.
func (c *tagResumeCommand) Run(ctx context.Context, env *environment) error {
	return c.act(ctx, env, fleet.ActionOrder{Action: fleet.ActionResume})
}

// Run has them scan.
func (c *tagRescanCommand) Run(ctx context.Context, env *environment) error {
	return c.act(ctx, env, fleet.ActionOrder{Action: fleet.ActionRescan, Folder: c.Folder})
}

// Run upgrades them.
func (c *tagUpgradeCommand) Run(ctx context.Context, env *environment) error {
	return c.act(ctx, env, fleet.ActionOrder{Action: fleet.ActionUpgrade, Major: c.Major})
}

type actionCommand struct {
	List actionListCommand `cmd:"" help:"List what daemons were told to do, newest first, and what came of it."`
	Show actionShowCommand `cmd:"" help:"Show how far an order is, device by device."`
}

type actionListCommand struct {
	connection
	output
	watching
	Limit int `env:"-" help:"At most so many." default:"20" placeholder:"N"`
}

// Run prints one line for each order.
func (c *actionListCommand) Run(ctx context.Context, env *environment) error {
	server, err := c.client()
	if err != nil {
		return err
	}
	all, err := server.Actions(ctx, client.List{Page: c.Limit})
	if err != nil {
		return err
	}
	return printList(env, c.output, columns[api.ActionRun]{titles: []string{"ID", "ACTION", "WHOM", "STATUS", "DONE", "BY",
		"REASON"}, name: func(r api.ActionRun) string { return strconv.FormatInt(r.ID, 10) }, row: actionRow}, all)
}

func actionRow(r api.ActionRun) []string {
	whom := "tag " + r.Tag
	if r.Tag == "" && len(r.Devices) > 0 {
		whom = nameOfActed(r.Devices[0])
	}
	return []string{strconv.FormatInt(r.ID, 10), r.Action, whom, r.Status, fmt.Sprintf("%d/%d", r.Done, len(r.Devices)),
		r.By, r.Reason}
}

type actionShowCommand struct {
	connection
	output
	watching
	ID int64 `arg:"" help:"Number of the order; muster action list shows them."`
}

// Run prints an order with its devices.
func (c *actionShowCommand) Run(ctx context.Context, env *environment) error {
	server, err := c.client()
	if err != nil {
		return err
	}
	run, err := server.Action(ctx, c.ID)
	if err != nil {
		return err
	}
	if !c.forPeople() {
		return c.print(env, run, strconv.FormatInt(run.ID, 10))
	}
	row := actionRow(run)
	fmt.Fprintf(env.Out, "Order %s: %s of %s, %s (%s), by %s.\n", row[0], row[1], printable(row[2]), row[3], row[4],
		printable(row[5]))
	if run.Reason != "" {
		fmt.Fprintln(env.Out, "  "+printable(run.Reason))
	}
	for _, one := range run.Devices {
		fmt.Fprintf(env.Out, "  %-10s %s\n", one.State, nameOfActed(one))
	}
	return nil
}

type eventsCommand struct {
	connection
	Follow bool     `short:"f" env:"-" help:"Go on until Ctrl-C; without it, ten events are printed."`
	Type   []string `env:"-" help:"Only events of this type, as device or plan; may be repeated." placeholder:"TYPE"`
	Device []string `env:"-" help:"Only events about this device: label, ID, or its first letters; may be repeated." placeholder:"DEVICE"`
	Tag    []string `env:"-" sep:"none" help:"Only events about devices with this tag; may be repeated." placeholder:"TAG"`
	Output string   `short:"o" env:"-" help:"table: a text on each line; json: one object on each line; yaml: one document for each; or name: the devices." default:"table" enum:"table,json,yaml,name"`
}

const eventsWithoutFollow = 10

// Run prints events as they come.
func (c *eventsCommand) Run(ctx context.Context, env *environment) error {
	server, err := c.client()
	if err != nil {
		return err
	}
	filter := client.EventFilter{Types: c.Type, Tags: c.Tag}
	for _, name := range c.Device {
		device, err := deviceNamed(ctx, server, name)
		if err != nil {
			return err
		}
		filter.Devices = append(filter.Devices, device.DeviceID)
	}
	label := labels(ctx, server)
	enough, count := errors.New("enough events"), 0
	for last := int64(0); ; {
		last, err = server.Events(ctx, filter, last, func(e api.Event) error {
			if count++; !c.Follow && count == eventsWithoutFollow {
				err = enough
			}
			return errors.Join(c.print(env, e, label), err)
		})
		if errors.Is(err, enough) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (c *eventsCommand) print(env *environment, e api.Event, label func(fleet.DeviceID) string) error {
	switch c.Output {
	case "json":
		return json.NewEncoder(env.Out).Encode(e)
	case "yaml":
		fmt.Fprintln(env.Out, "---")
		return printValue(env, output{c.Output}, e)
	case "name":
		if e.Device == "" {
			return nil
		}
		_, err := fmt.Fprintln(env.Out, cmp.Or(printable(label(fleet.DeviceID(e.Device))), e.Device))
		return err
	}
	about := ""
	if e.Device != "" {
		about = nameOf(api.DeviceEffect{DeviceID: e.Device, Label: label(fleet.DeviceID(e.Device))})
	}
	_, err := fmt.Fprintln(env.Out, strings.TrimSpace(fmt.Sprintf("%s %-9s %s", e.Time.Local().Format(time.TimeOnly),
		e.Type, about)))
	return err
}
