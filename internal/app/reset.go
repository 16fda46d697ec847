package app

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"

	"muster/internal/adapter/store"
	"muster/internal/edge/auth"
	"muster/internal/fleet"
)

// onTheHost is the actor in the audit of commands that run on the server's machine without a token.
const onTheHost = "host"

// ResetAdmin makes a new administrator token while no server runs, for people who have access to the home directory
// but no token. It returns the file with the token.
func ResetAdmin(ctx context.Context, o Options) (file string, err error) {
	return filepath.Join(o.Home, auth.AdminTokenFile), onHome(ctx, o, func(ctx context.Context, s *store.Store) error {
		return renewAdmin(ctx, s, o.Home)
	})
}

// onHome runs a function on the database of a home directory while no server runs.
func onHome(ctx context.Context, o Options, do func(context.Context, *store.Store) error) (err error) {
	a := newApp(o)
	defer func() { err = errors.Join(err, a.Stop()) }()
	if err := a.existingHome(); err != nil {
		return err
	}
	opened, _, err := a.openDatabase(ctx, store.Options{Log: a.log})
	if err != nil {
		return err
	}
	return do(fleet.WithActor(ctx, onTheHost), opened)
}

// existingHome refuses a folder that is not a home directory of Muster, because opening it would create a new
// database.
func (a *App) existingHome() error {
	if a.o.Database == "" {
		if _, err := os.Stat(filepath.Join(a.o.Home, "muster.db")); errors.Is(err, fs.ErrNotExist) {
			return &fleet.Error{Code: fleet.CodeNotFound, Message: "there is no database of Muster in " + a.o.Home,
				Hint: "Name the --home of the server, and its --database where it has one."}
		}
	}
	return a.prepareHome()
}

// renewAdmin makes a new administrator token and records that in the audit.
func renewAdmin(ctx context.Context, s *store.Store, home string) error {
	ctx = fleet.WithActor(ctx, onTheHost)
	if _, err := auth.RenewAdminToken(ctx, s, home); err != nil {
		return err
	}
	return s.Record(ctx, "admin.reset", auth.AdminTokenFile, byUserOfHost())
}

// byUserOfHost names the user of the operating system for the audit.
func byUserOfHost() string {
	by := "an unknown user"
	if u, err := user.Current(); err == nil {
		by = "the user " + u.Username
	}
	if name, err := os.Hostname(); err == nil {
		by += " of " + name
	}
	return "by " + by
}
