package app

import (
	"context"
	"slices"
	"time"

	"muster/internal/adapter/store"
	"muster/internal/engine/event"
	"muster/internal/fleet"
	"muster/internal/logkey"
)

func (a *App) openEventLog(ctx context.Context) (*event.Log, error) {
	return event.OpenLog(ctx, event.LogOptions{Store: a.store, Keep: a.keepEvents, Registry: a.registry, Log: a.log,
		StartGrace: time.Minute,
		CauseOf: func(ctx context.Context, id fleet.DeviceID, revision int64) string {
			cause, err := a.store.RevisionCause(ctx, id, revision)
			if err != nil {
				a.log.Warn("the cause of a revision is not readable", logkey.Device, id, logkey.Err(err))
			}
			return cause
		}})
}

// logRevisions writes new revisions into the event log.
func (a *App) logRevisions(revisions []fleet.Revision) {
	if len(revisions) == 0 {
		return
	}
	registry := a.registry()
	for _, r := range revisions {
		label := ""
		if registry != nil {
			label = registry.Label(r.Device)
		}
		a.eventLog.Add(fleet.LogEntry{At: r.SeenAt, Device: r.Device, Label: label, Kind: fleet.LogRevision,
			Cause: r.Cause, Revision: r.Number})
	}
}

// loggedOrders stores orders, and writes their results into the event log.
type loggedOrders struct {
	*store.Store
	log *event.Log
}

// PutOrder stores the progress of an order.
func (o loggedOrders) PutOrder(ctx context.Context, order fleet.Order) error {
	if err := o.Store.PutOrder(ctx, order); err != nil || order.Status == fleet.OrderRunning {
		return err
	}
	registry, err := o.Registry(ctx)
	if err != nil {
		return err
	}
	o.log.Add(entriesOf(order, registry, time.Now().UTC())...)
	return nil
}

// entriesOf returns the entries of the event log for an order that has ended, one for each device that it reached.
func entriesOf(order fleet.Order, registry *fleet.Registry, now time.Time) (entries []fleet.LogEntry) {
	failures := map[fleet.DeviceID]string{}
	for _, f := range order.Failed {
		failures[f.Device] = f.Reason
	}
	for i, id := range order.Devices {
		e := fleet.LogEntry{At: now, Device: id, Label: registry.Label(id), Folder: order.Folder, Kind: fleet.LogOrder,
			State: string(order.Type), Reason: "done", Cause: order.By}
		switch {
		case slices.Contains(order.Skipped, id):
			e.Reason = "it could not be reached"
		case failures[id] != "":
			e.Reason = "failed, " + failures[id]
		case i >= order.Done && i < order.Done+len(order.Begun()):
			e.Reason = string(order.Status)
			if len(order.Devices) == 1 && order.Reason != "" {
				e.Reason += ", " + order.Reason
			}
		case i > order.Done:
			return entries
		}
		entries = append(entries, e)
	}
	return entries
}
