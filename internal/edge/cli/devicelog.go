package cli

import (
	"context"
	"fmt"

	"muster/api"
	"muster/client"
)

type deviceLogCommand struct {
	namedDevice
	output
	paging
	Since string `env:"-" help:"Only lines after this time (2026-01-31, 2026-01-31T08:00) since yesterday, or of the last time (2h, 1d)." placeholder:"TIME"`
}

// Run prints the newest lines of a daemon's own log, the oldest first.
func (c *deviceLogCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	since, err := timeOf("--since", c.Since)
	if err != nil {
		return err
	}
	device, err := c.find(ctx, server)
	if err != nil {
		return err
	}
	lines, err := server.DeviceLog(ctx, device.DeviceID, since)
	if err != nil {
		return err
	}
	if !c.forPeople() {
		return printList(env, c.output, columns[api.LogLine]{name: func(l api.LogLine) string { return l.Text }}, lines)
	}
	for _, line := range lines {
		if _, err := fmt.Fprintf(env.Out, "%s %s %s\n", line.At.Local().Format("2006-01-02 15:04:05"), printable(line.Level),
			printable(line.Text)); err != nil {
			return err
		}
	}
	return nil
}
