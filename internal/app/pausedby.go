package app

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"muster/internal/core/stconfig"
	"muster/internal/engine/health"
	"muster/internal/fleet"
	"muster/internal/logkey"
)

// orderShowsWithin is how long after an order a daemon that is visited in turn may show its effect.
const orderShowsWithin = time.Minute

// pausedBy adds to the standing of a paused folder by whom it is paused, where that is known.
func (a *App) pausedBy(ctx context.Context, s *fleet.Snapshot, standing fleet.FolderStanding) fleet.FolderStanding {
	by, known, err := a.whoPaused(ctx, s, standing)
	if err != nil {
		a.log.WarnContext(ctx, "who paused a folder cannot be read", slog.String(logkey.Device, string(s.Device)),
			logkey.Err(err))
	}
	if err != nil || !known {
		return standing
	}
	registry := a.views.Of(ctx, a.registry())
	standing.PausedBy = &by
	standing.Reason, standing.Next = health.PausedByText(standing, by, func(id int64) string {
		if registry != nil {
			if t := registry.Template(id); t != nil {
				return fmt.Sprintf("%d (%s)", id, t.Label)
			}
		}
		return fmt.Sprint(id)
	})
	standing.Reason, standing.Next = fleet.Bounded(standing.Reason), fleet.Bounded(standing.Next)
	return standing
}

// whoPaused tells who paused a folder, or the device's connections to all that share it. Templates pause connections
// only where they pause each of them. known is false where an order that is not stored any more may have done it.
func (a *App) whoPaused(ctx context.Context, s *fleet.Snapshot, standing fleet.FolderStanding) (
	by fleet.PausedBy, known bool, err error) {
	if standing.Paused {
		by, err = a.pausingTemplate(ctx, s.Device, "folders", standing.Folder)
		return by, true, err
	}
	by = fleet.PausedBy{Cause: fleet.PausedByPerson}
	for peer := range s.Sharers(standing.Folder) {
		one, err := a.pausingTemplate(ctx, s.Device, "devices", string(peer))
		if err != nil {
			return one, false, err
		}
		if one.Cause == fleet.PausedByPerson {
			return a.pausingOrder(ctx, s.Device, standing)
		}
		by.Cause, by.Templates = one.Cause, append(by.Templates, one.Templates...)
	}
	slices.Sort(by.Templates)
	by.Templates = slices.Compact(by.Templates)
	return by, true, nil
}

// pausingTemplate tells whether templates pause a member of a device's configuration. If not, a person does.
func (a *App) pausingTemplate(ctx context.Context, id fleet.DeviceID, list, name string) (fleet.PausedBy, error) {
	by := fleet.PausedBy{Cause: fleet.PausedByPerson}
	key := stconfig.Key{}.Child(list).Child(name)
	entries, err := a.store.BaseEntriesAt(ctx, id, []string{key.String(), key.Child("paused").String()})
	if err != nil {
		return by, err
	}
	var member, field *fleet.BaseEntry
	for i := range entries {
		if entries[i].Key == key.String() {
			member = &entries[i]
		} else {
			field = &entries[i]
		}
	}
	if templates, is := fleet.PausesTemplate(member, field); is {
		by.Cause, by.Templates = fleet.PausedByTemplate, templates
	}
	return by, nil
}

// pausingOrder tells whether an order paused the connections of a device. It did not where they were seen unpaused
// after the order. A caller who may not see all devices of the order does not learn who gave it.
func (a *App) pausingOrder(ctx context.Context, id fleet.DeviceID, standing fleet.FolderStanding) (
	by fleet.PausedBy, known bool, err error) {
	by = fleet.PausedBy{Cause: fleet.PausedByPerson}
	order, complete, err := a.store.LastPausing(ctx, id)
	if err != nil || order == nil || order.Type != fleet.OrderPause {
		return by, complete, err
	}
	if standing.Witnessed && !order.EndedAt.IsZero() && standing.Since.After(order.EndedAt.Add(orderShowsWithin)) {
		return by, true, nil
	}
	by = fleet.PausedBy{Cause: fleet.PausedByOrder, At: order.BeganAt}
	all := a.registry()
	shown := a.views.Of(ctx, all)
	for _, other := range order.Devices {
		if shown == nil || all.Devices[other] != nil && shown.Devices[other] == nil {
			return by, true, nil
		}
	}
	by.Order, by.By = order.ID, order.By
	return by, true, nil
}
