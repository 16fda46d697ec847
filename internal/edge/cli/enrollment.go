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
	Reject enrollmentVerb          `cmd:"" help:"Refuse a device whose agent asks, until it is accepted or forgotten."`
	Forget enrollmentVerb          `cmd:"" help:"Forget that a device was rejected: it asks again."`
}

var enrollmentNoun = noun[api.Enrollment]{
	all: (*client.Client).Enrollments,
	columns: columns[api.Enrollment]{
		titles: []string{"DEVICE", "STATE", "NAME", "SYSTEM", "AGENT", "FROM", "FIRST", "LAST"},
		name:   func(e api.Enrollment) string { return e.DeviceID },
		row: func(e api.Enrollment) []string {
			return []string{e.DeviceID, e.State, e.Name, e.System, e.Version, e.Address, e.FirstSeen.String(),
				e.LastSeen.String()}
		}},
	about: func(e api.Enrollment) string { return e.State + " " + e.Name },
}

// enrollmentVerbs are the commands that are described by data alone.
var enrollmentVerbs = enrollmentCommand{
	List: enrollmentListCommand{watchedListOf(enrollmentNoun)},
	Reject: enrollmentVerb{request: (*client.Client).RejectEnrollment, change: "rejected",
		question: "Reject {id}? Its agent is turned away until the device is accepted.",
		done:     "Rejected {id}. `muster enrollment accept {id}` accepts it later."},
	Forget: enrollmentVerb{request: (*client.Client).ForgetEnrollment, change: "forgotten",
		question: "Forget that {id} was rejected? It asks again when its agent connects.",
		done:     "Forgotten: the device waits again when its agent connects."},
}

type enrollmentListCommand struct{ watchedList[api.Enrollment] }

// Run prints one line for each device, and how many agents found no place in the list.
func (c *enrollmentListCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	if err := c.list(ctx, env, server, client.List{}); err != nil {
		return err
	}
	counts, err := server.EnrollmentCounts(ctx)
	if err != nil {
		return err
	}
	if counts.TurnedAway > 0 {
		fmt.Fprintf(env.Err, "%d of at most %d devices wait (%d from one address); agents found no place %d times. "+
			"Accept or reject some, or make an enrol key: `muster enroll-key create`.\n", counts.Waiting, counts.Most,
			counts.PerAddress, counts.TurnedAway)
	}
	return nil
}

// enrollingDevice is the device that a command is about.
type enrollingDevice struct {
	Device string `arg:"" help:"Device ID, or how it begins; at least four groups of it for accept."`
}

// acceptLetters are how many characters of an ID, without hyphens, prove which device is meant: four of its groups. A
// key whose ID begins with a few given characters can be computed.
const acceptLetters = 28

// begins is how the device's ID begins, without hyphens.
func (c *enrollingDevice) begins() string {
	if id, err := fleet.ParseDeviceID(c.Device); err == nil {
		return withoutHyphens(string(id))
	}
	return withoutHyphens(strings.ToUpper(c.Device))
}

func withoutHyphens(id string) string { return strings.ReplaceAll(id, "-", "") }

// find is the one device that asks and whose ID begins as given.
func (c *enrollingDevice) find(ctx context.Context, server *client.Client) (api.Enrollment, error) {
	all, err := server.Enrollments(ctx, client.List{})
	if err != nil {
		return api.Enrollment{}, err
	}
	begins := c.begins()
	all = slices.DeleteFunc(all, func(e api.Enrollment) bool {
		return begins == "" || !strings.HasPrefix(withoutHyphens(e.DeviceID), begins)
	})
	switch len(all) {
	case 0:
		return api.Enrollment{}, &fleet.Error{Code: fleet.CodeNotFound,
			Message: fmt.Sprintf("no device asks whose ID begins with %q", c.Device),
			Hint:    "`muster enrollment list` shows those that do."}
	case 1:
		return all[0], nil
	}
	return api.Enrollment{}, &fleet.Error{Code: fleet.CodeInvalid,
		Message: fmt.Sprintf("the IDs of %d devices begin with %q", len(all), c.Device),
		Hint:    "Give more letters of the ID."}
}

type enrollmentAcceptCommand struct {
	connection
	output
	enrollingDevice
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
	server, err := c.client()
	if err != nil {
		return err
	}
	asks, err := c.find(ctx, server)
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

// enrollmentVerb is a command that sends one request about a device that asks.
type enrollmentVerb struct {
	removing
	enrollingDevice
	request  func(*client.Client, context.Context, string) error
	change   string // the change, as programs read it
	question string // {id} is the device's, also in done
	done     string
}

// Run asks and sends the request.
func (c *enrollmentVerb) Run(ctx context.Context, env *environment, server *client.Client) error {
	asks, err := c.find(ctx, server)
	if err != nil {
		return err
	}
	named := strings.NewReplacer("{id}", asks.DeviceID).Replace
	request := func(ctx context.Context, id string) error { return c.request(server, ctx, id) }
	return c.remove(ctx, env, removal{name: asks.DeviceID, remove: request, change: c.change,
		question: named(c.question), done: named(c.done)})
}
