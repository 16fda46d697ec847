package cli

import (
	"context"
	"fmt"
	"slices"

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
	asking
	ID string `arg:"" help:"ID of the session; muster session list shows them."`
}

// Run ends it.
func (c *sessionEndCommand) Run(ctx context.Context, env *environment) error {
	server, err := c.client()
	if err != nil {
		return err
	}
	all, err := server.Sessions(ctx)
	if err != nil {
		return err
	}
	// Of an ID that is not there the server says what to do.
	if i := slices.IndexFunc(all, func(s api.Session) bool { return s.ID == c.ID }); i >= 0 {
		if err := c.consented(env, fmt.Sprintf("End the session of %s from %s, last used %v?", printable(all[i].User),
			printable(all[i].Address), all[i].LastUsedAt)); err != nil {
			return err
		}
	}
	if err := server.EndSession(ctx, c.ID); err != nil {
		return err
	}
	return c.done(env, c.ID, changed{c.ID, "ended"}, "Ended.")
}
