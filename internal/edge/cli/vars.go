package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
)

// varsHelp tells how vars are written on the command line.
const varsHelp = `KEY=VALUE sets a var, KEY- takes it out; the others stay. A VALUE that is JSON is that: 10, true, [1, 2],
'"10"' for the text. Any other VALUE is a text. Templates read them as device.vars.KEY: those of the device's tags in
the order of the tags' names, then its own. Everybody who sees the device sees its vars: keep secrets with muster
secret put.`

type deviceVarsCommand struct {
	connection
	changing
	Device string   `arg:"" optional:"" help:"Label or ID of a device, or the first letters of its ID; left out with --tag or --filter."`
	Vars   []string `arg:"" optional:"" name:"var" help:"KEY=VALUE to set a var, KEY- to take it out; without any, the vars are shown."`
	picking
}

// Help tells how vars are written.
func (deviceVarsCommand) Help() string { return varsHelp }

// Run shows the vars that templates read of a device, or changes the own vars of devices.
func (c *deviceVarsCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	devices, vars, err := c.chosen(ctx, server)
	if err != nil {
		return err
	}
	if len(vars) == 0 {
		effective, err := server.EffectiveVars(ctx, devices[0].DeviceID)
		if err != nil {
			return err
		}
		return printVars(env, c.output, effective)
	}
	before, err := generationNow(ctx, server)
	if err != nil {
		return err
	}
	changed := map[string]map[string]json.RawMessage{}
	for _, device := range devices {
		own, err := server.DeviceVars(ctx, device.DeviceID)
		if err != nil {
			return err
		}
		if err := changeVars(own, vars); err != nil {
			return err
		}
		changed[device.DeviceID] = own
	}
	question := "Change the vars of " + named(devices[0]) + "?"
	if c.isUsed() {
		c.picking.show(env, c.output, devices)
		question = fmt.Sprintf("Change the vars of %s?", counted(len(devices), "device"))
	}
	return c.makeSince(ctx, env, server, before, api.WhatIf{Vars: &api.WhatIfVars{Devices: changed}}, question)
}

// chosen are the devices, and the changes of their vars. Where flags pick the devices, every argument is a change.
func (c *deviceVarsCommand) chosen(ctx context.Context, server *client.Client) (devices []api.Device, vars []string,
	err error) {
	switch {
	case !c.isUsed() && c.Device == "":
		return nil, nil, noDevice()
	case !c.isUsed():
		device, err := deviceNamed(ctx, server, c.Device)
		return []api.Device{device}, c.Vars, err
	case c.Device == "":
		return nil, nil, &fleet.Error{Code: fleet.CodeInvalid, Message: "no var is given for the devices that are picked",
			Hint: "Give KEY=VALUE or KEY-. `muster device vars DEVICE` shows the vars of one device."}
	}
	vars = append([]string{c.Device}, c.Vars...)
	if err := changeVars(map[string]json.RawMessage{}, vars); err != nil {
		return nil, nil, err
	}
	devices, err = c.picked(ctx, server)
	return devices, vars, err
}

type tagVarsCommand struct {
	namedTag
	changing
	Vars []string `arg:"" optional:"" name:"var" help:"KEY=VALUE to set a var, KEY- to take it out; without any, the vars are shown."`
}

// Help tells how vars are written.
func (tagVarsCommand) Help() string { return varsHelp }

// Run shows the vars of the devices with a tag, or changes them.
func (c *tagVarsCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	if len(c.Vars) > 0 {
		return c.change(ctx, env, server)
	}
	vars, err := server.TagVars(ctx, c.Tag)
	if err != nil {
		return err
	}
	shown := map[string]api.EffectiveVar{}
	for name, value := range vars {
		shown[name] = api.EffectiveVar{Value: value, Tag: c.Tag}
	}
	return printVars(env, c.output, shown)
}

// change changes the vars that the arguments name.
func (c *tagVarsCommand) change(ctx context.Context, env *environment, server *client.Client) error {
	before, err := generationNow(ctx, server)
	if err != nil {
		return err
	}
	vars, err := server.TagVars(ctx, c.Tag)
	if err != nil {
		return err
	}
	if err := changeVars(vars, c.Vars); err != nil {
		return err
	}
	change := api.WhatIf{Vars: &api.WhatIfVars{Tags: map[string]map[string]json.RawMessage{c.Tag: vars}}}
	question := fmt.Sprintf("Change the vars of the tag %q?", printable(c.Tag))
	return c.makeSince(ctx, env, server, before, change, question)
}

// changeVars sets and removes vars as the arguments say. A name in another spelling of upper and lower case replaces
// the one that is there.
func changeVars(vars map[string]json.RawMessage, arguments []string) error {
	for _, argument := range arguments {
		name, value, sets := strings.Cut(argument, "=")
		if !sets {
			var removes bool
			if name, removes = strings.CutSuffix(argument, "-"); !removes {
				return fleet.Invalidf("var", "%q sets nothing and takes nothing out: write KEY=VALUE, or KEY-", argument)
			}
		}
		maps.DeleteFunc(vars, func(other string, _ json.RawMessage) bool { return strings.EqualFold(other, name) })
		if sets {
			text, err := varValue(value)
			if err != nil {
				return err
			}
			vars[name] = text
		}
	}
	_, err := fleet.ParseVars(vars)
	return err
}

// varValue is the argument if that is JSON, and otherwise the argument as a JSON text.
func varValue(argument string) (json.RawMessage, error) {
	if json.Valid([]byte(argument)) {
		return json.RawMessage(argument), nil
	}
	text, err := oneLine(argument)
	return json.RawMessage(text), err
}

// printVars prints vars by name.
func printVars(env *environment, how output, vars map[string]api.EffectiveVar) error {
	names := slices.Sorted(maps.Keys(vars))
	if !how.forPeople() {
		return how.print(env, vars, names...)
	}
	if len(names) == 0 {
		fmt.Fprintln(env.Out, "There are no vars. KEY=VALUE sets one.")
		return nil
	}
	table := newTable(env.Out)
	fmt.Fprintln(table, "NAME\tVALUE\tFROM")
	for _, name := range names {
		fmt.Fprintf(table, "%s\t%s\t%s\n", name, compact(vars[name].Value), printable(fromOf(vars[name])))
	}
	return table.Flush()
}

func fromOf(v api.EffectiveVar) string {
	return cmp.Or(strings.TrimSuffix("tag "+v.Tag, "tag "), "the device")
}
