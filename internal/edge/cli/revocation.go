package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
)

type revocationCommand struct {
	List   listCommand[api.Revocation] `cmd:"" help:"List revoked devices, the newest revocation first."`
	Delete revocationDeleteCommand     `cmd:"" help:"End a revocation; first the plan is shown."`
}

var revocationNoun = noun[api.Revocation]{
	all: unfiltered((*client.Client).Revocations),
	columns: columns[api.Revocation]{
		titles: []string{"DEVICE", "ID", "REVOKED", "BY", "REASON", "REGISTERED", "STILL ON"},
		name:   func(r api.Revocation) string { return cmp.Or(r.Label, r.DeviceID) },
		row: func(r api.Revocation) []string {
			return []string{cmp.Or(r.Label, "-"), r.DeviceID, r.RevokedAt.String(), r.RevokedBy, cmp.Or(r.Reason, "-"),
				yesOrNo(r.Registered), stillOn(r)}
		},
		words: func(all []api.Revocation) func(api.Revocation) string {
			return wordsByLabel(all, func(r api.Revocation) string { return r.Label },
				func(r api.Revocation) string { return r.DeviceID })
		}},
	about: func(r api.Revocation) string { return r.DeviceID },
}

// revocationVerbs are the commands that are described by data alone.
var revocationVerbs = revocationCommand{List: listOf(revocationNoun)}

// stillOn names the devices that still have a revoked device, and counts those of which nobody knows.
func stillOn(r api.Revocation) string {
	var parts []string
	for _, d := range r.StillOn {
		parts = append(parts, nameOf(d.DeviceID, d.Label))
	}
	if r.Unknown > 0 {
		parts = append(parts, "not read: "+counted(r.Unknown, "device"))
	}
	return cmp.Or(strings.Join(parts, ", "), "-")
}

func yesOrNo(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}

type deviceRevokeCommand struct {
	connection
	changing
	selecting
	Reason string `env:"-" help:"Why, in one line, for other people." placeholder:"TEXT"`
}

// Run shows what the revocation would take away, and revokes the devices.
func (c *deviceRevokeCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	devices, err := c.selectedBy(ctx, server, revocable)
	if err != nil {
		return err
	}
	if len(devices) > 1 || c.isUsed() {
		c.show(env, c.output, devices)
	}
	var added []api.WhatIfRevocation
	for _, device := range devices {
		added = append(added, api.WhatIfRevocation{Device: &device.DeviceID, Reason: given(c.Reason)})
	}
	if c.forPeople() && !c.Yes {
		sayRisks(ctx, env, server, devices)
	}
	change := api.WhatIf{Revocations: &api.WhatIfRevocations{Added: added}}
	return c.make(ctx, env, server, change, revoking(devices))
}

const (
	risksSaid = 10               // devices
	riskLimit = 20 * time.Second // The daemons that share its folders are asked.
)

// sayRisks says what data of the first devices is not proven to be elsewhere.
func sayRisks(ctx context.Context, env *environment, server *client.Client, devices []api.Device) {
	for _, device := range devices[:min(len(devices), risksSaid)] {
		bounded, cancel := context.WithTimeout(ctx, riskLimit)
		risk, err := server.DeviceAtRisk(bounded, device.DeviceID)
		cancel()
		switch {
		case fleet.CodeOf(err) == fleet.CodeNotFound: // It is not registered.
		case err != nil:
			fmt.Fprintf(env.Out, "What would be lost with %s is not known: %s.\n", printable(named(device)),
				printable(fleet.Reason(err)))
		case len(risk.Folders) > 0:
			fmt.Fprintln(env.Out, riskSentence(risk))
		}
	}
	if more := len(devices) - risksSaid; more > 0 {
		fmt.Fprintf(env.Out, "`muster device at-risk DEVICE` says of the other %s what would be lost.\n",
			counted(more, "device"))
	}
}

// revocable is the device that a person means. One that is not registered is meant by its whole ID.
func revocable(ctx context.Context, server *client.Client, name string) (api.Device, error) {
	device, err := deviceNamed(ctx, server, name)
	if id, wrong := fleet.ParseDeviceID(name); wrong == nil && fleet.CodeOf(err) == fleet.CodeNotFound {
		return api.Device{DeviceID: string(id)}, nil
	}
	return device, err
}

// revoking is the question before a revocation.
func revoking(devices []api.Device) string {
	if len(devices) > 1 {
		return fmt.Sprintf("Revoke %s? Every managed daemon drops them and the shares with them, now and whenever "+
			"somebody brings them back. Nothing is written to their own daemons any more, and their agents are refused. "+
			"The files on them stay there.", counted(len(devices), "device"))
	}
	name := devices[0].DeviceID
	if devices[0].Label != "" {
		name = named(devices[0])
	}
	return fmt.Sprintf("Revoke %s? Every managed daemon drops it and the shares with it, now and whenever somebody "+
		"brings it back. Nothing is written to its own daemon any more, and its agent is refused. The files on it stay "+
		"there.", printable(name))
}

type revocationDeleteCommand struct {
	connection
	changing
	Device string `arg:"" help:"Label or ID of a revoked device, or the first letters of its ID."`
}

// Help says what becomes of the device.
func (revocationDeleteCommand) Help() string {
	return "Nothing comes back by itself but what templates ask for."
}

// Run shows what the end of the revocation would change, and ends it.
func (c *revocationDeleteCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	revoked, err := revocationNamed(ctx, server, c.Device)
	if err != nil {
		return err
	}
	change := api.WhatIf{Revocations: &api.WhatIfRevocations{Removed: []string{revoked.DeviceID}}}
	return c.make(ctx, env, server, change, fmt.Sprintf("End the revocation of %s? Daemons may let it in again.",
		printable(nameOf(revoked.DeviceID, revoked.Label))))
}

// revocationNamed gives the revocation of the device with this label or ID.
func revocationNamed(ctx context.Context, server *client.Client, name string) (api.Revocation, error) {
	all, err := server.Revocations(ctx)
	if err != nil {
		return api.Revocation{}, err
	}
	found := revocationsNamed(all, name)
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return api.Revocation{}, &fleet.Error{Code: fleet.CodeNotFound,
			Message: fmt.Sprintf("no revoked device has the label %q, or an ID that begins so", name),
			Hint:    "`muster revocation list` lists all of them."}
	}
	return api.Revocation{}, &fleet.Error{Code: fleet.CodeInvalid,
		Message: fmt.Sprintf("%d revoked devices have the label %q, or an ID that begins so", len(found), name),
		Hint:    "Give the whole ID: `muster revocation list` shows it."}
}

// revocationsNamed are those that a name may mean: the one with this ID, else the only one with this label, else all
// with this label or an ID that begins so.
func revocationsNamed(all []api.Revocation, name string) []api.Revocation {
	those := func(are func(api.Revocation) bool) (found []api.Revocation) {
		for _, r := range all {
			if are(r) {
				found = append(found, r)
			}
		}
		return found
	}
	if id, err := fleet.ParseDeviceID(name); err == nil {
		return those(func(r api.Revocation) bool { return r.DeviceID == string(id) })
	}
	if name == "" {
		return nil
	}
	if found := those(func(r api.Revocation) bool { return r.Label == name }); len(found) == 1 {
		return found
	}
	begins := strings.ToUpper(name)
	return those(func(r api.Revocation) bool { return r.Label == name || strings.HasPrefix(r.DeviceID, begins) })
}
