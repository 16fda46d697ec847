package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
)

// runLog prints the entries of the event log, and goes on with the stream where that is asked for.
func (c *eventsCommand) runLog(ctx context.Context, env *environment, server *client.Client,
	filter client.EventFilter) error {
	if len(c.Type) > 0 {
		return &fleet.Error{Code: fleet.CodeInvalid, Message: "--type is for events as they come, not for what is kept",
			Hint: "Use --kind with --since and --folder."}
	}
	search := client.LogSearch{Devices: filter.Devices, Tags: c.Tag, Folder: c.Folder, Kinds: c.Kind, Oldest: true,
		Since: time.Now().Add(-eventsUsually)}
	if c.Since != "" {
		var err error
		if search.Since, err = timeOf("--since", c.Since); err != nil {
			return err
		}
	}
	last := int64(0)
	err := server.EachLogEntry(ctx, search, func(e api.LogEntry) error {
		last = e.Number
		return c.printEntry(env, e)
	})
	if err != nil || !c.Follow {
		return err
	}
	filter.Types, filter.Lost = []string{"log"}, env.tellLost
	for event, err := range server.Watch(ctx, filter, last) {
		if err == nil {
			err = c.printLogged(env, event)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// printLogged prints the entry of the log that an event brings, when it is one that was asked for.
func (c *eventsCommand) printLogged(env *environment, event api.Event) error {
	var e api.LogEntry
	if event.Type == "missed" {
		_, err := fmt.Fprintln(env.Err, "some events are missing: the server does not keep them any more")
		return err
	}
	if err := json.Unmarshal(event.Data, &e); err != nil {
		return err
	}
	if c.Folder != "" && e.Folder != c.Folder || len(c.Kind) > 0 && !slices.Contains(c.Kind, e.Kind) {
		return nil
	}
	return c.printEntry(env, e)
}

func (c *eventsCommand) printEntry(env *environment, e api.LogEntry) error {
	switch c.Output {
	case "json":
		return json.NewEncoder(env.Out).Encode(e)
	case "yaml":
		fmt.Fprintln(env.Out, "---")
		return printValue(env, output{c.Output}, e)
	case "csv":
		return c.lines.print(env.Out, e)
	case "name":
		_, err := fmt.Fprintln(env.Out, cmp.Or(printable(e.Label), e.DeviceID))
		return err
	}
	about := nameOf(e.DeviceID, e.Label)
	if e.Folder != "" {
		about += ", folder " + printable(e.Folder)
	}
	_, err := fmt.Fprintln(env.Out, strings.TrimSpace(fmt.Sprintf("%s %-13s %s: %s",
		e.Time.Local().Format(time.DateTime), e.Kind, about, printable(e.Text))))
	return err
}
