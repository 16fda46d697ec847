package app

import (
	"context"

	"muster/internal/fleet"
	"muster/internal/pending"
	"muster/internal/reconcile"
	"muster/internal/stconfig"
)

// newInbox makes what keeps an eye on devices and folders that ask to be let in.
func (a *App) newInbox(d daemons) *pending.Inbox {
	return pending.New(pending.Options{Daemon: askers{d, a.engine}, Mode: managed{a}.mode, Log: a.log,
		Changed: a.news.asked})
}

// askers lets the inbox talk to daemons.
type askers struct {
	daemons
	engine *reconcile.Engine
}

func (d askers) Pending(ctx context.Context, id fleet.DeviceID) ([]fleet.Pending, error) {
	client, err := d.client(id)
	if err != nil {
		return nil, err
	}
	session, err := client.Session(ctx)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	return session.Pending(ctx)
}

func (d askers) DismissPending(ctx context.Context, id fleet.DeviceID, asks fleet.Pending) error {
	client, err := d.client(id)
	if err != nil {
		return err
	}
	if err := d.store.CheckLock(ctx); err != nil {
		return err
	}
	return client.DismissPending(ctx, asks)
}

func (d askers) Amend(ctx context.Context, id fleet.DeviceID, what string,
	change func(stconfig.Value) (stconfig.Value, error)) error {
	return d.engine.Amend(ctx, id, reconcile.Amendment{What: what, Cause: fleet.CauseAccept, Change: change})
}
