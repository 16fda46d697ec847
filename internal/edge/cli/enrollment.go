package cli

import (
	"context"
	"fmt"
	"strings"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
)

type enrollmentCommand struct {
	List   enrollmentListCommand   `cmd:"" help:"List devices whose agents ask to be accepted, and those that were rejected."`
	Accept enrollmentAcceptCommand `cmd:"" help:"Manage devices whose agents ask, or that were rejected."`
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

// acceptLetters are how many characters of an ID, without hyphens, prove which device is meant: four of its groups. A
// key whose ID begins with a few given characters can be computed.
const acceptLetters = 28

// idBegins is how the ID begins that a person gave, without hyphens.
func idBegins(given string) string {
	if id, err := fleet.ParseDeviceID(given); err == nil {
		return withoutHyphens(string(id))
	}
	return withoutHyphens(strings.ToUpper(given))
}

func withoutHyphens(id string) string { return strings.ReplaceAll(id, "-", "") }

// enrollingNamed is the one device of those that ask whose ID begins as given.
func enrollingNamed(all []api.Enrollment, given string) (found api.Enrollment, err error) {
	begins, count := idBegins(given), 0
	for _, asks := range all {
		if begins != "" && strings.HasPrefix(withoutHyphens(asks.DeviceID), begins) {
			found = asks
			count++
		}
	}
	switch count {
	case 0:
		return found, &fleet.Error{Code: fleet.CodeNotFound,
			Message: fmt.Sprintf("no device asks whose ID begins with %q", given),
			Hint:    "`muster enrollment list` shows those that do."}
	case 1:
		return found, nil
	}
	return found, &fleet.Error{Code: fleet.CodeInvalid,
		Message: fmt.Sprintf("the IDs of %d devices begin with %q", count, given),
		Hint:    "Give more letters of the ID."}
}

// enrollmentVerb is a command that sends one request about a device that asks.
type enrollmentVerb struct {
	removing
	Device   string `arg:"" help:"Device ID, or how it begins."`
	request  func(*client.Client, context.Context, string) error
	change   string // the change, as programs read it
	question string // {id} is the device's, also in done
	done     string
}

// Run asks and sends the request.
func (c *enrollmentVerb) Run(ctx context.Context, env *environment, server *client.Client) error {
	all, err := server.Enrollments(ctx, client.List{})
	if err != nil {
		return err
	}
	asks, err := enrollingNamed(all, c.Device)
	if err != nil {
		return err
	}
	named := strings.NewReplacer("{id}", asks.DeviceID).Replace
	request := func(ctx context.Context, id string) error { return c.request(server, ctx, id) }
	return c.remove(ctx, env, removal{name: asks.DeviceID, remove: request, change: c.change,
		question: named(c.question), done: named(c.done)})
}
