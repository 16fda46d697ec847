package cli

import (
	"context"
	"fmt"
	"log/slog"
	"syscall"

	"muster/internal/app"
	"muster/internal/fleet"
)

type adminCommand struct {
	Reset adminResetCommand `cmd:"" help:"Make another administrator's token where the last one is lost. It works on the server's machine, as the user of the server, while the server is stopped."`
}

type adminResetCommand struct {
	Home         string `help:"Home folder of the server." default:"${home}" type:"path"`
	Database     string `secret:"" help:"postgres://… where the server has one; with a password in it better --database-file." placeholder:"URL"`
	DatabaseFile string `help:"File with the URL of the database." type:"path" placeholder:"FILE"`
	SealKey      string `secret:"" help:"Key that seals credentials at rest, where it is not in --home; better --seal-key-file." placeholder:"HEX"`
	SealKeyFile  string `help:"File with the key that seals credentials at rest." type:"path" placeholder:"FILE"`
}

// Run makes the token and prints where it is: the token itself goes to no terminal.
func (c *adminResetCommand) Run(ctx context.Context, env *environment) error {
	syscall.Umask(0o077) // what is made is for the server's user only
	file, err := app.ResetAdmin(ctx, app.Options{Home: c.Home, Database: c.Database, SealKey: fleet.NewSecret(c.SealKey),
		Log: slog.New(slog.NewTextHandler(env.Err, &slog.HandlerOptions{Level: slog.LevelWarn}))})
	if err != nil {
		return err
	}
	fmt.Fprintf(env.Out, "The new administrator's token is in %s; the one that was there is revoked. Start the server.\n",
		file)
	return nil
}
