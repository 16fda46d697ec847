package app

import (
	"context"
	"path/filepath"
	"strings"

	"muster/internal/engine/sink"
	"muster/internal/fleet"
)

// newSinks makes the runner of the sinks. Sinks of the kind file write into a folder of the home.
func (a *App) newSinks() *sink.Sinks {
	o := sink.Options{Store: a.store, Folder: filepath.Join(a.o.Home, "sinks"), Log: a.log}
	if !a.o.NotifyAllowLocal {
		o.Refuse = refuseLocal
	}
	return sink.New(o)
}

// behindSinks names the sinks that take nothing. What they answer is for administrators only, since it may hold a
// secret.
func (a *App) behindSinks(context.Context) *fleet.Impairment {
	names := a.sinks.Troubles()
	if len(names) == 0 {
		return nil
	}
	return &fleet.Impairment{Part: fleet.PartSinks,
		Reason: "sinks that take nothing: " + strings.Join(names, ", "),
		Next:   "Type `muster sink list`: it says why."}
}

const auditSinkTrial = "sink.test"

// triedSinks records trials of sinks, and makes one after the other.
type triedSinks struct {
	*sink.Sinks

	app *App
}

// Try sends a record of trial to a sink.
func (t triedSinks) Try(ctx context.Context, one fleet.Sink) error {
	select {
	case t.app.trials <- struct{}{}:
		defer func() { <-t.app.trials }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := t.app.store.Record(ctx, auditSinkTrial, one.Name, one.Host()); err != nil {
		return err
	}
	return t.Sinks.Try(ctx, one)
}
