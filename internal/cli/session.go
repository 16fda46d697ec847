package cli

import (
	"context"

	"muster/api"
)

type sessionCommand struct {
	List sessionListCommand `cmd:"" help:"List the sessions of people that are logged in: yours, or for an admin all."`
	End  sessionEndCommand  `cmd:"" help:"End a session at once."`
}

type sessionListCommand struct {
	connection
	output
}

// Run prints one line for each session.
func (c *sessionListCommand) Run(ctx context.Context, env *environment) error {
	server, err := c.client()
	if err != nil {
		return err
	}
	all, err := server.Sessions(ctx)
	if err != nil {
		return err
	}
	return printList(env, c.output, columns[api.Session]{
		titles: []string{"ID", "USER", "SINCE", "LAST USED", "FROM", "WITH"},
		name:   func(s api.Session) string { return s.ID },
		row: func(s api.Session) []string {
			return []string{s.ID, s.User, s.CreatedAt.String(), s.LastUsedAt.String(), s.Address, s.Client}
		}}, all)
}

type sessionEndCommand struct {
	connection
	output
	ID string `arg:"" help:"ID of the session; muster session list shows them."`
}

// Run ends it.
func (c *sessionEndCommand) Run(ctx context.Context, env *environment) error {
	server, err := c.client()
	if err != nil {
		return err
	}
	if err := server.EndSession(ctx, c.ID); err != nil {
		return err
	}
	return c.done(env, c.ID, changed{c.ID, "ended"}, "Ended.")
}
