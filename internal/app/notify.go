package app

import (
	"context"

	"muster/internal/fleet"
	"muster/internal/notify"
)

func (a *App) newNotifier() (*notify.Notifier, error) {
	senders, err := a.o.Notify.Senders()
	if err != nil {
		return nil, err
	}
	after, every := a.o.Notify.Times()
	return notify.New(notify.Options{
		Source: reports{a}, Store: a.store, Senders: senders, After: after, Every: every, Log: a.log,
	}), nil
}

// reports hands what health knows to the notifier.
type reports struct{ app *App }

func (r reports) Report(ctx context.Context) (fleet.ProblemReport, error) {
	registry, err := r.app.store.Registry(ctx)
	if err != nil {
		return fleet.ProblemReport{}, err
	}
	return r.app.health.Report(registry, r.app.facts), nil
}
