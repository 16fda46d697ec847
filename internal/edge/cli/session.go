package cli

import (
	"context"
	"fmt"

	"muster/api"
	"muster/client"
)

type sessionCommand struct {
	List listCommand[api.Session] `cmd:"" help:"List the sessions of people that are logged in: yours, or for an admin all."`
	End  sessionEndCommand        `cmd:"" help:"End a session at once."`
}

var sessionNoun = noun[api.Session]{
	all: unfiltered((*client.Client).Sessions),
	columns: columns[api.Session]{
		titles: []string{"ID", "USER", "SINCE", "LAST USED", "FROM", "WITH"},
		name:   func(s api.Session) string { return s.ID },
		row: func(s api.Session) []string {
			return []string{s.ID, s.User, s.CreatedAt.String(), s.LastUsedAt.String(), s.Address, s.Client}
		}},
	about: func(s api.Session) string { return s.User + " " + s.Client },
}

// sessionVerbs are the commands that are described by data alone.
var sessionVerbs = sessionCommand{List: listOf(sessionNoun)}

type sessionEndCommand struct {
	removing
	ID string `arg:"" help:"ID of the session; muster session list shows them."`
}

// Run ends it.
func (c *sessionEndCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	found, err := sessionNoun.find(ctx, server, c.ID)
	if err != nil {
		return err
	}
	r := removal{name: c.ID, remove: server.EndSession, change: "ended", done: "Ended."}
	if found != nil {
		r.question = fmt.Sprintf("End the session of %s from %s, last used %v?", printable(found.User),
			printable(found.Address), found.LastUsedAt)
	}
	return c.remove(ctx, env, r)
}
