package cli

import (
	"context"
)

// readyCommand is the health check of containers, whose image has no other program.
type readyCommand struct {
	connection
	output
}

func (c *readyCommand) Run(ctx context.Context, env *environment) error {
	at, err := c.resolved()
	if err != nil {
		return err
	}
	server, err := at.client("")
	if err != nil {
		return err
	}
	if err := server.Ready(ctx); err != nil {
		return err
	}
	return c.done(env, at.address, map[string]bool{"ready": true}, "ready")
}
