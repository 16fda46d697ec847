package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"

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
	namedDevice
	changing
	Reason string `env:"-" help:"Why, in one line, for other people." placeholder:"TEXT"`
}

// Run shows what the revocation would take away, and revokes the device. The device need not be registered.
func (c *deviceRevokeCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	var id, name string
	device, err := c.find(ctx, server)
	switch parsed, wrong := fleet.ParseDeviceID(c.Device); {
	case err == nil:
		id, name = device.DeviceID, named(device)
	case wrong != nil || fleet.CodeOf(err) != fleet.CodeNotFound:
		return err
	default:
		id, name = string(parsed), string(parsed)
	}
	change := api.WhatIf{Revocations: &api.WhatIfRevocations{
		Added: []api.WhatIfRevocation{{Device: &id, Reason: given(c.Reason)}}}}
	return c.make(ctx, env, server, change, fmt.Sprintf("Revoke %s? Every managed daemon drops it and the shares with "+
		"it, now and whenever somebody brings it back. Nothing is written to its own daemon any more, and its agent is "+
		"refused. The files on it stay there.", printable(name)))
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
