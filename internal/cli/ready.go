package cli

import (
	"context"
	"fmt"
)

// readyCommand is what asks for the health of a container: there is no other program in it.
type readyCommand struct {
	connection
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
	_, err = fmt.Fprintln(env.Out, "ready")
	return err
}
