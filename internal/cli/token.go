package cli

import (
	"context"
	"fmt"
	"text/tabwriter"
)

type tokenCommand struct {
	Create tokenCreateCommand `cmd:"" help:"Make a token; its text is printed once, alone on the last line."`
	List   tokenListCommand   `cmd:"" help:"List tokens, without their texts."`
	Revoke tokenRevokeCommand `cmd:"" help:"Withdraw a token at once."`
}

type tokenCreateCommand struct {
	connection
	Role string `help:"viewer: sees everything but keys; operator: also tags, applies, pauses; author: also writes templates; admin: everything." required:"" placeholder:"viewer|operator|author|admin"`
	Name string `help:"Who or what uses it." required:"" placeholder:"NAME"`
}

func (c *tokenCreateCommand) Run(ctx context.Context, env *environment) error {
	server, err := c.client()
	if err != nil {
		return err
	}
	made, err := server.CreateToken(ctx, c.Name, c.Role)
	if err != nil {
		return err
	}
	fmt.Fprintf(env.Err, "Token %q with role %s; it is not shown again:\n", made.Name, made.Role)
	fmt.Fprintln(env.Out, made.Secret)
	return nil
}

type tokenListCommand struct{ connection }

func (c *tokenListCommand) Run(ctx context.Context, env *environment) error {
	server, err := c.client()
	if err != nil {
		return err
	}
	tokens, err := server.Tokens(ctx)
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(env.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tROLE\tCREATED")
	for _, t := range tokens {
		fmt.Fprintf(table, "%s\t%s\t%v\n", t.Name, t.Role, t.CreatedAt)
	}
	return table.Flush()
}

type tokenRevokeCommand struct {
	connection
	Name string `arg:"" help:"Name of the token."`
}

func (c *tokenRevokeCommand) Run(ctx context.Context, env *environment) error {
	server, err := c.client()
	if err != nil {
		return err
	}
	if err := server.DeleteToken(ctx, c.Name); err != nil {
		return err
	}
	fmt.Fprintln(env.Out, "Revoked.")
	return nil
}
