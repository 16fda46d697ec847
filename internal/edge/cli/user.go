package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
)

type userCommand struct {
	Create   userCreateCommand     `cmd:"" help:"Make a user, with a password or a log-in link."`
	List     listCommand[api.User] `cmd:"" help:"List users."`
	Password userPasswordCommand   `cmd:"" help:"Set a password: your own, or as an administrator that of another user."`
	Role     userRoleCommand       `cmd:"" help:"Give a user another role; it ends the user's sessions."`
	Disable  userDisableCommand    `cmd:"" help:"Keep a user from logging in; it ends the user's sessions."`
	Enable   userEnableCommand     `cmd:"" help:"Let a user that is disabled log in again."`
	Delete   userDeleteCommand     `cmd:"" help:"Delete a user; it ends the user's sessions."`
}

type userCreateCommand struct {
	connection
	output
	messaging
	Name     string   `arg:"" help:"Name of the user; kept in lower case."`
	Role     string   `help:"viewer: sees everything but keys; operator: also tags, applies, pauses; author: also writes templates; admin: everything." required:"" enum:"viewer,operator,author,admin" placeholder:"viewer|operator|author|admin"`
	TagScope []string `env:"-" help:"A viewer or operator sees and touches only devices with this tag; may be given several times." sep:"none" placeholder:"TAG"`
	Link     bool     `help:"Print a log-in link, by which the user sets the password."`
	linkLife
	PasswordFile string `env:"-" help:"File with the password, - for standard input; asked for without it." placeholder:"FILE"`
}

// Run makes the user.
func (c *userCreateCommand) Run(ctx context.Context, env *environment) error {
	if c.Expires != 0 && !c.Link {
		return &fleet.Error{Code: fleet.CodeInvalid, Message: "--expires is for a log-in link, and --link is missing",
			Hint: "Add --link, or leave --expires out."}
	}
	if c.Role == string(fleet.RoleAdmin) && time.Duration(c.Expires) > fleet.LinkLife {
		return &fleet.Error{Code: fleet.CodeInvalid, Message: "the log-in link of an admin expires after 15 minutes",
			Hint: "Leave --expires out."}
	}
	if c.Link && c.PasswordFile != "" {
		return &fleet.Error{Code: fleet.CodeInvalid, Message: "--link and --password-file contradict each other",
			Hint: "Leave one of them out."}
	}
	server, err := c.client()
	if err != nil {
		return err
	}
	body := api.CreateUser{Name: &c.Name, Role: &c.Role}
	if len(c.TagScope) > 0 {
		body.Tags = &c.TagScope
	}
	if !c.Link {
		password, err := env.newPassword(c.PasswordFile)
		if err != nil {
			return err
		}
		body.Password = &password
	}
	user, err := server.CreateUser(ctx, body)
	if err != nil {
		return err
	}
	fmt.Fprintf(env.Err, "Made the user %s with the role %s, for %s.\n", printable(user.Name), user.Role,
		scopeText(user.Tags))
	if c.Link {
		return printLoginLink(ctx, env, &c.connection, c.output, server, user.Name, c.linkLife)
	}
	if c.forPeople() {
		return nil
	}
	return c.print(env, user, user.Name)
}

var userNoun = noun[api.User]{
	all: unfiltered((*client.Client).Users),
	columns: columns[api.User]{titles: []string{"NAME", "ROLE", "TAGS", "PASSWORD", "LAST LOG-IN"},
		name: func(u api.User) string { return u.Name }, row: userRow},
	about: func(u api.User) string { return u.Role },
}

// userVerbs are the commands that are described by data alone.
var userVerbs = userCommand{List: listOf(userNoun)}

func userRow(u api.User) []string {
	password := "set"
	switch {
	case u.DisabledAt != nil:
		password = "disabled"
	case u.SignOn != nil:
		password = "single sign-on"
	case !u.HasPassword:
		password = "none"
	}
	return []string{u.Name, u.Role, cmp.Or(strings.Join(u.Tags, ", "), "the whole fleet"), password,
		orNever(u.LastLoginAt)}
}

type userPasswordCommand struct {
	connection
	output
	messaging
	Name         string `arg:"" optional:"" help:"Name of the user; without it, your own password is changed."`
	PasswordFile string `env:"-" help:"File with the new password, - for standard input; asked for without it." placeholder:"FILE"`
	CurrentFile  string `env:"-" help:"File with your current password; asked for without it." placeholder:"FILE"`
}

// Run sets the password.
func (c *userPasswordCommand) Run(ctx context.Context, env *environment) error {
	if c.Name == "" {
		return c.own(ctx, env)
	}
	server, err := c.client()
	if err != nil {
		return err
	}
	password, err := env.newPassword(c.PasswordFile)
	if err != nil {
		return err
	}
	user, err := server.User(ctx, c.Name)
	if err != nil {
		return err
	}
	if _, err := server.PutUser(ctx, user.Name, api.PutUser{Password: &password}); err != nil {
		return err
	}
	return c.done(env, user.Name, user,
		fmt.Sprintf("The password of %s is set; the user's sessions have ended.", printable(user.Name)))
}

// own changes the password of the user who is logged in, and keeps the token of the new session.
func (c *userPasswordCommand) own(ctx context.Context, env *environment) error {
	all, err := readLogins()
	if err != nil {
		return err
	}
	at, err := c.target(all)
	if err != nil {
		return err
	}
	server, err := c.client()
	if err != nil {
		return err
	}
	current, err := env.password("Current password", c.CurrentFile)
	if err != nil {
		return err
	}
	password, err := env.newPassword(c.PasswordFile)
	if err != nil {
		return err
	}
	session, err := server.ChangePassword(ctx, current, password)
	if err != nil {
		return err
	}
	if kept, ok := all.Servers[at.name]; ok && at.token != "" && kept.Token == at.token {
		kept.Token, kept.ExpiresAt, kept.Device = session.Token, session.ExpiresAt.Time, ""
		all.Servers[at.name] = kept
		if err := all.write(); err != nil {
			return err
		}
	}
	return c.done(env, all.Servers[at.name].User, changed{all.Servers[at.name].User, "password"},
		"Your password is changed; your other sessions have ended.")
}

type userRoleCommand struct {
	connection
	output
	messaging
	Name string `arg:"" help:"Name of the user."`
	Role string `arg:"" enum:"viewer,operator,author,admin" help:"viewer, operator, author or admin."`

	TagScope   []string `env:"-" xor:"scope" help:"The user sees and touches only devices with this tag; may be given several times. Without it the tag scope stays." sep:"none" placeholder:"TAG"`
	WholeFleet bool     `env:"-" xor:"scope" help:"End the tag scope of the user."`
}

// Run gives the user another role.
func (c *userRoleCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	body := api.PutUser{Role: &c.Role}
	if len(c.TagScope) > 0 || c.WholeFleet {
		body.Tags = new(append([]string{}, c.TagScope...))
	}
	user, err := server.PutUser(ctx, c.Name, body)
	if err != nil {
		return err
	}
	return c.done(env, user.Name, user,
		fmt.Sprintf("%s has the role %s, for %s.", printable(user.Name), user.Role, scopeText(user.Tags)))
}

// endedUser is a user whose access a command ends.
type endedUser struct {
	asking
	Name string `arg:"" help:"Name of the user."`
}

// user finds the user in the list, which also has users that Muster did not write into its database.
func (c *endedUser) user(ctx context.Context, server *client.Client) (api.User, error) {
	users, err := server.Users(ctx)
	if err != nil {
		return api.User{}, err
	}
	at := slices.IndexFunc(users, func(u api.User) bool { return u.Name == strings.ToLower(c.Name) })
	if at < 0 {
		return server.User(ctx, c.Name) // The error says what to do.
	}
	return users[at], nil
}

// ask names what ends with the user's access.
func (c *endedUser) ask(ctx context.Context, env *environment, server *client.Client, verb string) (api.User, error) {
	user, err := c.user(ctx, server)
	if err != nil {
		return user, err
	}
	sessions, err := server.Sessions(ctx)
	if err != nil {
		return user, err
	}
	sessions = slices.DeleteFunc(sessions, func(s api.Session) bool { return s.User != user.Name })
	return user, c.consented(env, fmt.Sprintf("%s the user %s, role %s, for %s? It ends %s.", verb, printable(user.Name),
		user.Role, printable(scopeText(user.Tags)), counted(len(sessions), "session")))
}

type userDeleteCommand struct {
	connection
	output
	endedUser
}

// Run deletes the user.
func (c *userDeleteCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	if _, err := c.ask(ctx, env, server, "Delete"); err != nil {
		return err
	}
	if err := server.DeleteUser(ctx, c.Name); err != nil {
		return err
	}
	return c.done(env, c.Name, changed{c.Name, "deleted"}, "Deleted.")
}

type userDisableCommand struct {
	connection
	output
	endedUser
}

// Run disables the user.
func (c *userDisableCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	user, err := c.ask(ctx, env, server, "Disable")
	if err != nil {
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
	messaging
	Name string `arg:"" help:"Name of the user."`
}

// Run enables the user.
func (c *userEnableCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	user, err := server.EnableUser(ctx, c.Name)
	if err != nil {
		return err
	}
	return c.done(env, user.Name, user, fmt.Sprintf("%s can log in again, with the role %s, for %s.",
		printable(user.Name), user.Role, scopeText(user.Tags)))
}
