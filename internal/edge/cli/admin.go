package cli

import (
	"context"
	"fmt"
	"log/slog"

	"muster/internal/app"
	"muster/internal/fleet"
)

type adminCommand struct {
	Reset        adminResetCommand  `cmd:"" help:"Make another administrator's token where the last one is lost. It works on the server's machine, as the user of the server, while the server is stopped."`
	SingleSignOn adminSignOnCommand `cmd:"" help:"Switch single sign-on off where the provider lets the wrong people in, or on again. It works on the server's machine, as the user of the server, while the server is stopped."`
}

// stoppedServer is the home of a server, and its database, while the server is stopped.
type stoppedServer struct {
	Home         string `help:"Home folder of the server." default:"${home}" type:"path"`
	Database     string `secret:"" help:"URL of the server's PostgreSQL database (postgres://…), if it uses one. If the URL contains a password, prefer --database-file." placeholder:"URL"`
	DatabaseFile string `help:"File with the URL of the database." type:"path" placeholder:"FILE"`
	SealKey      string `secret:"" help:"Key that seals credentials in the database, if it is not in --home. Prefer --seal-key-file." placeholder:"HEX"`
	SealKeyFile  string `help:"File with the key that seals credentials at rest." type:"path" placeholder:"FILE"`
}

// options are those that open the database. What is made from then on is for the server's user only.
func (c *stoppedServer) options(env *environment) app.Options {
	ownOnly()
	return app.Options{Home: c.Home, Database: c.Database, SealKey: fleet.NewSecret(c.SealKey),
		Log: slog.New(slog.NewTextHandler(env.Err, &slog.HandlerOptions{Level: slog.LevelWarn}))}
}

type adminResetCommand struct{ stoppedServer }

// Run makes the token and prints where it is: the token itself goes to no terminal.
func (c *adminResetCommand) Run(ctx context.Context, env *environment) error {
	file, err := app.ResetAdmin(ctx, c.options(env))
	if err != nil {
		return err
	}
	fmt.Fprintf(env.Out, "The new administrator's token is in %s; the one that was there is revoked. Start the server.\n",
		file)
	return nil
}

type adminSignOnCommand struct {
	stoppedServer
	Switch string `arg:"" enum:"off,on" help:"off: single sign-on is refused, whatever the server is started with, and the sessions of its users end; on: as the server is started." placeholder:"off|on"`
}

// Run switches single sign-on, and says what comes next.
func (c *adminSignOnCommand) Run(ctx context.Context, env *environment) error {
	off := c.Switch == "off"
	if err := app.SwitchSignOn(ctx, c.options(env), off); err != nil {
		return err
	}
	if off {
		fmt.Fprintln(env.Out, "Single sign-on is off, and the sessions of its users have ended. Start the server and log "+
			"in with a password, or by the log-in link in the file that it names.")
		return nil
	}
	fmt.Fprintln(env.Out, "Single sign-on is as the server is started, with --oidc-issuer. Start the server.")
	return nil
}
