package cli

import (
	"context"
	"fmt"
	"slices"

	"muster/api"
	"muster/client"
)

type userDeleteCommand struct {
	connection
	output
	asking
	Name string `arg:"" help:"Name of the user."`
}

// Run deletes the user.
func (c *userDeleteCommand) Run(ctx context.Context, env *environment) error {
	server, err := c.client()
	if err != nil {
		return err
	}
	user, sessions, err := userWithSessions(ctx, server, c.Name)
	if err != nil {
		return err
	}
	if err := c.consented(env, fmt.Sprintf("Delete the user %s, role %s, for %s? It ends %s.", printable(user.Name),
		user.Role, printable(scopeText(user.Tags)), counted(sessions, "session"))); err != nil {
		return err
	}
	if err := server.DeleteUser(ctx, c.Name); err != nil {
		return err
	}
	return c.done(env, c.Name, changed{c.Name, "deleted"}, "Deleted.")
}

// userWithSessions is a user and how many sessions end with the user's access.
func userWithSessions(ctx context.Context, server *client.Client, name string) (user api.User, sessions int,
	err error) {
	if user, err = server.User(ctx, name); err != nil {
		return user, 0, err
	}
	all, err := server.Sessions(ctx)
	all = slices.DeleteFunc(all, func(s api.Session) bool { return s.User != user.Name })
	return user, len(all), err
}

type userDisableCommand struct {
	connection
	output
	asking
	Name string `arg:"" help:"Name of the user."`
}

// Run disables the user.
func (c *userDisableCommand) Run(ctx context.Context, env *environment) error {
	server, err := c.client()
	if err != nil {
		return err
	}
	user, sessions, err := userWithSessions(ctx, server, c.Name)
	if err != nil {
		return err
	}
	if err := c.consented(env, fmt.Sprintf("Disable the user %s, role %s, for %s? It ends %s.", printable(user.Name),
		user.Role, printable(scopeText(user.Tags)), counted(sessions, "session"))); err != nil {
		return err
	}
	if user, err = server.DisableUser(ctx, user.Name); err != nil {
		return err
	}
	return c.done(env, user.Name, user, fmt.Sprintf("%s cannot log in any more. Tokens belong to no user: revoke those "+
		"that %[1]s knows with `muster token delete NAME`.", printable(user.Name)))
}

type userEnableCommand struct {
	connection
	output
	Name string `arg:"" help:"Name of the user."`
}

// Run enables the user.
func (c *userEnableCommand) Run(ctx context.Context, env *environment) error {
	server, err := c.client()
	if err != nil {
		return err
	}
	user, err := server.EnableUser(ctx, c.Name)
	if err != nil {
		return err
	}
	return c.done(env, user.Name, user, fmt.Sprintf("%s can log in again, with the role %s, for %s.",
		printable(user.Name), user.Role, scopeText(user.Tags)))
}
