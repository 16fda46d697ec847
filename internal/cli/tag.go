package cli

import (
	"context"
	"fmt"
)

type tagCommand struct {
	Protect   tagProtectCommand   `cmd:"" help:"From now on only an admin puts the tag on a device or takes it off."`
	Unprotect tagUnprotectCommand `cmd:"" help:"Let operators put the tag on devices and take it off again."`
}

// namedTag is the tag that a command is about.
type namedTag struct {
	connection
	Tag string `arg:"" help:"The tag; nothing needs to carry it yet."`
}

func (c *namedTag) protect(ctx context.Context, env *environment, protected bool, done string) error {
	server, err := c.client()
	if err != nil {
		return err
	}
	if err := server.ProtectTag(ctx, c.Tag, protected); err != nil {
		return err
	}
	fmt.Fprintf(env.Out, "%q: %s.\n", c.Tag, done)
	return nil
}

type tagProtectCommand struct{ namedTag }

func (c *tagProtectCommand) Run(ctx context.Context, env *environment) error {
	return c.protect(ctx, env, true, "only an admin puts it on a device or takes it off now")
}

type tagUnprotectCommand struct{ namedTag }

func (c *tagUnprotectCommand) Run(ctx context.Context, env *environment) error {
	return c.protect(ctx, env, false, "operators put it on devices and take it off")
}
