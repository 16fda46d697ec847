package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
)

type enrollmentCommand struct {
	List   enrollmentListCommand   `cmd:"" help:"List devices whose agents ask to be accepted, and those that were rejected."`
	Accept enrollmentAcceptCommand `cmd:"" help:"Manage a device whose agent asks, or that was rejected."`
	Reject enrollmentRejectCommand `cmd:"" help:"Refuse a device whose agent asks, until it is accepted or forgotten."`
	Forget enrollmentForgetCommand `cmd:"" help:"Forget that a device was rejected: it asks again."`
}

type enrollmentListCommand struct {
	connection
	output
	watching
}

// Run prints one line for each device, and how many found no place in the list.
func (c *enrollmentListCommand) Run(ctx context.Context, env *environment) error {
	server, err := c.client()
	if err != nil {
		return err
	}
	all, err := server.Enrollments(ctx, client.List{})
	if err != nil {
		return err
	}
	counts, err := server.EnrollmentCounts(ctx)
	if err != nil {
		return err
	}
	if err := printList(env, c.output, columns[api.Enrollment]{
		titles: []string{"DEVICE", "STATE", "NAME", "SYSTEM", "AGENT", "FROM", "FIRST", "LAST"},
		name:   func(e api.Enrollment) string { return e.DeviceID },
		row: func(e api.Enrollment) []string {
			return []string{e.DeviceID, e.State, e.Name, e.System, e.Version, e.Address, e.FirstSeen.String(),
				e.LastSeen.String()}
		}}, all); err != nil {
		return err
	}
	if counts.TurnedAway > 0 {
		fmt.Fprintf(env.Err, "%d of at most %d devices wait (%d from one address); agents found no place %d times. "+
			"Accept or reject some, or make an enrol key: `muster enroll-key create`.\n", counts.Waiting, counts.Most,
			counts.PerAddress, counts.TurnedAway)
	}
	return nil
}

// enrollmentOne is the device that a command is about.
type enrollmentOne struct {
	connection
	output
	Device string `arg:"" help:"Device ID, or how it begins; at least four groups of it for accept."`
}

// acceptLetters are how many characters of an ID, without hyphens, prove which device is meant: four of its groups. A
// key whose ID begins with a few given characters can be computed.
const acceptLetters = 28

// begins is how the device's ID begins, without hyphens.
func (c *enrollmentOne) begins() string {
	if id, err := fleet.ParseDeviceID(c.Device); err == nil {
		return withoutHyphens(string(id))
	}
	return withoutHyphens(strings.ToUpper(c.Device))
}

func withoutHyphens(id string) string { return strings.ReplaceAll(id, "-", "") }

// find is the one device that asks and whose ID begins as given.
func (c *enrollmentOne) find(ctx context.Context) (*client.Client, api.Enrollment, error) {
	server, err := c.client()
	if err != nil {
		return nil, api.Enrollment{}, err
	}
	all, err := server.Enrollments(ctx, client.List{})
	if err != nil {
		return nil, api.Enrollment{}, err
	}
	begins := c.begins()
	all = slices.DeleteFunc(all, func(e api.Enrollment) bool {
		return begins == "" || !strings.HasPrefix(withoutHyphens(e.DeviceID), begins)
	})
	switch len(all) {
	case 0:
		return nil, api.Enrollment{}, &fleet.Error{Code: fleet.CodeNotFound,
			Message: fmt.Sprintf("no device asks whose ID begins with %q", c.Device),
			Hint:    "`muster enrollment list` shows those that do."}
	case 1:
		return server, all[0], nil
	}
	return nil, api.Enrollment{}, &fleet.Error{Code: fleet.CodeInvalid,
		Message: fmt.Sprintf("the IDs of %d devices begin with %q", len(all), c.Device),
		Hint:    "Give more letters of the ID."}
}

type enrollmentAcceptCommand struct {
	enrollmentOne
	Label string   `env:"-" help:"Label; without it the name of the machine, as its agent tells." placeholder:"TEXT"`
	Tag   []string `env:"-" help:"Tags to attach, with commas between, or one after each --tag." placeholder:"TAG"`
}

// Run registers the device.
func (c *enrollmentAcceptCommand) Run(ctx context.Context, env *environment) error {
	if len(c.begins()) < acceptLetters {
		return &fleet.Error{Code: fleet.CodeInvalid,
			Message: fmt.Sprintf("%q is too short to accept a device by: an ID that begins so can be computed", c.Device),
			Hint: "Give at least the first four groups of the ID. `muster enrollment list` shows it; compare it with " +
				"the one that Syncthing shows on that machine."}
	}
	server, asks, err := c.find(ctx)
	if err != nil {
		return err
	}
	how := api.AcceptEnrollment{Label: given(c.Label)}
	if len(c.Tag) > 0 {
		how.Tags = &c.Tag
	}
	device, err := server.AcceptEnrollment(ctx, asks.DeviceID, how)
	if err != nil {
		return err
	}
	return c.done(env, device.DeviceID, device, "Accepted "+named(device)+".")
}

type enrollmentRejectCommand struct {
	enrollmentOne
	asking
}

// Run rejects the device.
func (c *enrollmentRejectCommand) Run(ctx context.Context, env *environment) error {
	server, asks, err := c.find(ctx)
	if err != nil {
		return err
	}
	if err := c.consented(env, fmt.Sprintf("Reject %s? Its agent is turned away until the device is accepted.",
		asks.DeviceID)); err != nil {
		return err
	}
	if err := server.RejectEnrollment(ctx, asks.DeviceID); err != nil {
		return err
	}
	return c.done(env, asks.DeviceID, changed{asks.DeviceID, "rejected"},
		fmt.Sprintf("Rejected %s. `muster enrollment accept %[1]s` accepts it later.", asks.DeviceID))
}

type enrollmentForgetCommand struct {
	enrollmentOne
	asking
}

// Run forgets the rejection.
func (c *enrollmentForgetCommand) Run(ctx context.Context, env *environment) error {
	server, asks, err := c.find(ctx)
	if err != nil {
		return err
	}
	if err := c.consented(env, fmt.Sprintf("Forget that %s was rejected? It asks again when its agent connects.",
		asks.DeviceID)); err != nil {
		return err
	}
	if err := server.ForgetEnrollment(ctx, asks.DeviceID); err != nil {
		return err
	}
	return c.done(env, asks.DeviceID, changed{asks.DeviceID, "forgotten"},
		"Forgotten: the device waits again when its agent connects.")
}
