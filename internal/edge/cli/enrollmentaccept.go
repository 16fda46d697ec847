package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
)

type enrollmentAcceptCommand struct {
	connection
	output
	asking
	Device []string `arg:"" optional:"" help:"Device ID, or at least its first four groups; may be repeated."`
	All    bool     `env:"-" help:"All devices that wait now, after a look at their list. Rejected ones are left out."`
	Label  string   `env:"-" help:"Label of the one device; without it the name of the machine, as its agent tells, with a number where a device has it already." placeholder:"TEXT"`
	Tag    []string `env:"-" help:"Tags to attach, with commas between, or one after each --tag." placeholder:"TAG"`
}

// Run registers the devices.
func (c *enrollmentAcceptCommand) Run(ctx context.Context, env *environment) error {
	if err := c.check(); err != nil {
		return err
	}
	server, err := c.client()
	if err != nil {
		return err
	}
	asking, err := c.chosen(ctx, server)
	if err != nil {
		return err
	}
	if err := c.agree(ctx, env, server, asking); err != nil {
		return err
	}
	how := api.AcceptEnrollment{Label: given(c.Label)}
	if len(c.Tag) > 0 {
		how.Tags = &c.Tag
	}
	var accepted []api.Device
	var refused []error
	for _, asks := range asking {
		device, err := server.AcceptEnrollment(ctx, asks.DeviceID, how)
		if err != nil {
			refused = append(refused, about(asks, err))
			continue
		}
		accepted = append(accepted, device)
	}
	return errors.Join(append(refused, c.tell(env, accepted))...)
}

// about adds the device to an error, because one command may accept several devices.
func about(asks api.Enrollment, err error) error {
	return fmt.Errorf("accept %s: %w", fleet.DeviceID(asks.DeviceID).Short(), err)
}

func (c *enrollmentAcceptCommand) check() error {
	switch {
	case c.All == (len(c.Device) > 0):
		return &fleet.Error{Code: fleet.CodeInvalid, Message: "give the devices to accept, or --all, and not both",
			Hint: "`muster enrollment list` shows who asks."}
	case c.Label != "" && len(c.Device) != 1:
		return &fleet.Error{Code: fleet.CodeInvalid, Message: "--label is for one device",
			Hint: "Leave it out: each device gets the name of its machine. `muster device edit` changes it later."}
	}
	for _, device := range c.Device {
		if len(idBegins(device)) < acceptLetters {
			return &fleet.Error{Code: fleet.CodeInvalid,
				Message: fmt.Sprintf("%q is too short to accept a device by: an ID that begins so can be computed", device),
				Hint: "Give at least the first four groups of the ID. `muster enrollment list` shows it; compare it with " +
					"the one that Syncthing shows on that machine."}
		}
	}
	return nil
}

// chosen are the devices to accept. Nothing is accepted where one of them does not ask.
func (c *enrollmentAcceptCommand) chosen(
	ctx context.Context,
	server *client.Client,
) (chosen []api.Enrollment, err error) {
	all, err := server.Enrollments(ctx, client.List{})
	if err != nil {
		return nil, err
	}
	for _, device := range c.Device {
		asks, err := enrollingNamed(all, device)
		if err != nil {
			return nil, err
		}
		chosen = append(chosen, asks)
	}
	for _, asks := range all {
		if c.All && asks.State == string(fleet.EnrollmentWaiting) {
			chosen = append(chosen, asks)
		}
	}
	return chosen, nil
}

// agree asks before devices are accepted, and names each. It says where a label is one that another device has.
func (c *enrollmentAcceptCommand) agree(ctx context.Context, env *environment, server *client.Client,
	asking []api.Enrollment) error {
	if c.Yes || len(asking) == 0 {
		return nil
	}
	same := ""
	if c.Label != "" {
		var err error
		if same, err = sameLabel(ctx, server, c.Label, asking[0].DeviceID); err != nil {
			return err
		}
		if same != "" {
			same += " "
		}
	}
	table := newTable(c.texts(env))
	for _, asks := range asking {
		fmt.Fprintf(table, "%s\t%s\t%s\n", asks.DeviceID, printable(cmp.Or(c.Label, asks.Name)), printable(asks.Address))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	return confirm(
		env,
		same+fmt.Sprintf("Accept %s with the tags %s? Templates with these tags apply to them at once.",
			counted(len(asking), "device"), cmp.Or(strings.Join(c.Tag, ", "), "none")),
	)
}

// tell prints what was accepted: for programs one device where one was named, and else a list.
func (c *enrollmentAcceptCommand) tell(env *environment, accepted []api.Device) error {
	if !c.forPeople() {
		if len(c.Device) != 1 {
			return printList(env, c.output, deviceNoun.columns, accepted)
		}
		if len(accepted) == 0 {
			return nil
		}
		return c.print(env, accepted[0], accepted[0].DeviceID)
	}
	if c.All && len(accepted) == 0 {
		fmt.Fprintln(env.Out, "No device waits.")
	}
	for _, device := range accepted {
		fmt.Fprintln(env.Out, "Accepted "+named(device)+".")
	}
	return nil
}
