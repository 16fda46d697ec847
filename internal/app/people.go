package app

import (
	"context"
	"fmt"

	"muster/internal/edge/auth"
	"muster/internal/logkey"
)

// newPeople makes the part that authenticates users. Its key is in the database, so every server of the same database
// recognises the browsers in which users have logged in.
func (a *App) newPeople(ctx context.Context) (*auth.People, error) {
	deviceKey, err := a.store.OwnKey(ctx, "device cookies")
	if err != nil {
		return nil, fmt.Errorf("read the key of device cookies: %w", err)
	}
	return auth.NewPeople(auth.PeopleOptions{
		Store: a.store, Log: a.log, DeviceKey: deviceKey, Idle: a.o.SessionIdle, Life: a.o.SessionLife, Issuer: a.issuer(),
	}), nil
}

// printFirstLink prints a log-in link on a line of its own while no administrator can log in with a password.
func (a *App) printFirstLink(ctx context.Context) {
	code, err := a.people.FirstLink(ctx)
	if err != nil {
		a.log.Warn("no log-in link could be made", logkey.Err(err), logkey.Next, "muster login-link")
		return
	}
	if code != "" {
		fmt.Fprintln(a.o.Out, "To make the first administrator, open this within 15 minutes, once:")
		fmt.Fprintln(a.o.Out, a.socket.URL+auth.LoginPath+code)
		if name := a.nameOf(a.socket.Addr()); a.socket.ServesAgents() && !auth.LoopbackHost(name) {
			fmt.Fprintf(a.o.Out, "In the browser of another machine it is https://%s%s\n", name, auth.LoginPath+code)
		}
	}
}
