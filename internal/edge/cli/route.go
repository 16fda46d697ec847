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

type routeCommand struct {
	List   listCommand[api.Route] `cmd:"" help:"List the routes: which problems are told to which channels."`
	Set    routeSetCommand        `cmd:"" help:"Make a route, or replace it as a whole."`
	Delete routeDeleteCommand     `cmd:"" help:"Delete a route; its channels stay."`
}

// matching chooses problems.
type matching struct {
	Tag      []string `env:"-" help:"Problems of devices with this tag. Repeatable: one of them suffices." placeholder:"TAG" sep:"none"`
	Kind     []string `env:"-" help:"Problems of this kind, as the manual lists them, for example unreachable. Repeatable." placeholder:"KIND"`
	Severity []string `env:"-" help:"Problems of this severity. Repeatable." placeholder:"critical|warning|info"`
	Folder   []string `env:"-" help:"Problems of this folder. Repeatable." placeholder:"FOLDER" sep:"none"`
	Device   []string `env:"-" help:"Problems of this device. Repeatable." placeholder:"DEVICE" sep:"none"`
}

// match returns what the flags choose.
func (m matching) match(ctx context.Context, server *client.Client) (api.PutProblemMatch, error) {
	var body api.PutProblemMatch
	for _, list := range []struct {
		given []string
		into  **[]string
	}{{m.Tag, &body.Tags}, {m.Kind, &body.Kinds}, {m.Severity, &body.Severities}, {m.Folder, &body.Folders}} {
		if len(list.given) > 0 {
			*list.into = &list.given
		}
	}
	if len(m.Device) == 0 {
		return body, nil
	}
	var ids []string
	for _, name := range m.Device {
		device, err := deviceNamed(ctx, server, name)
		if err != nil {
			return body, err
		}
		ids = append(ids, device.DeviceID)
	}
	body.Devices = &ids
	return body, nil
}

// matchInWords says which problems a match chooses.
func matchInWords(m api.ProblemMatch) string {
	var parts []string
	for _, list := range []struct {
		name  string
		words []string
	}{{"tag", m.Tags}, {"kind", m.Kinds}, {"severity", m.Severities}, {"folder", m.Folders}, {"device", m.Devices}} {
		if len(list.words) > 0 {
			parts = append(parts, list.name+" "+strings.Join(list.words, " or "))
		}
	}
	return cmp.Or(strings.Join(parts, ", "), "everything")
}

var routeNoun = noun[api.Route]{
	all: unfiltered((*client.Client).Routes),
	columns: columns[api.Route]{
		titles: []string{"ROUTE", "OF", "TO", "GROUPED BY", "REPEATED", "QUIET"},
		name:   func(r api.Route) string { return r.Name },
		row: func(r api.Route) []string {
			repeated, quiet := "-", "-"
			if r.RepeatS > 0 {
				repeated = "every " + fleet.DurationText(time.Duration(r.RepeatS)*time.Second)
			}
			if r.QuietFrom != "" {
				quiet = r.QuietFrom + " to " + r.QuietTo
			}
			return []string{r.Name, matchInWords(r.ProblemMatch), strings.Join(r.Channels, ", "), cmp.Or(r.GroupBy, "-"),
				repeated, quiet}
		}},
	about: func(r api.Route) string { return matchInWords(r.ProblemMatch) },
}

// routeVerbs are the commands that are described by data alone.
var routeVerbs = routeCommand{List: listOf(routeNoun)}

type routeSetCommand struct {
	connection
	output
	messaging
	matching
	Name    string   `arg:"" help:"Name of the route: letters a-z, digits and -. Where two routes send a problem to one channel, the one whose name comes first says how."`
	Channel []string `env:"-" help:"Channel that gets the messages; default is the receivers that flags and settings name. Repeatable." required:"" placeholder:"CHANNEL"`
	GroupBy string   `env:"-" help:"How tags begin that have a message for each: with site: there is one message for each site." placeholder:"TAG"`
	Repeat  lifetime `env:"-" help:"After which time a message comes again while its problems last, 5m to 30d; without it, it does not." placeholder:"TIME"`
	Quiet   string   `name:"quiet-hours" env:"-" help:"Quiet hours in the time of the server, such as 22:00-07:00, in which nothing is sent: what lasts is told when they end." placeholder:"FROM"`
}

// Run makes or replaces the route.
func (c *routeSetCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	match, err := c.match(ctx, server)
	if err != nil {
		return err
	}
	body := api.PutRoute{PutProblemMatch: match, Channels: &c.Channel, RepeatS: c.Repeat.seconds()}
	if c.GroupBy != "" {
		body.GroupBy = &c.GroupBy
	}
	if c.Quiet != "" {
		from, to, isRange := strings.Cut(c.Quiet, "-")
		if !isRange {
			return &fleet.Error{Code: fleet.CodeInvalid, Message: fmt.Sprintf("%q says no quiet hours", c.Quiet),
				Hint: "Write them as 22:00-07:00."}
		}
		body.QuietFrom, body.QuietTo = &from, &to
	}
	set, err := server.PutRoute(ctx, c.Name, body)
	if err != nil {
		return err
	}
	return c.done(env, set.Name, set, fmt.Sprintf("The route %s sends %s to %s.", set.Name,
		printable(matchInWords(set.ProblemMatch)), strings.Join(set.Channels, ", ")))
}

type routeDeleteCommand struct {
	removing
	Route string `arg:"" help:"Name of the route, as the list shows it."`
}

// Run deletes the route.
func (c *routeDeleteCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	route, err := routeNoun.find(ctx, server, c.Route)
	if err != nil {
		return err
	}
	question := ""
	if route != nil {
		question = fmt.Sprintf("Delete the route %s? Nothing is sent by it then: %s to %s.", route.Name,
			printable(matchInWords(route.ProblemMatch)), strings.Join(route.Channels, ", "))
	}
	return c.remove(ctx, env, removal{name: c.Route, question: question, remove: server.DeleteRoute, change: "deleted",
		done: fmt.Sprintf("The route %s is deleted.", c.Route)})
}
