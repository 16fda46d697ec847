package app

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"muster/internal/adapter/store"
	"muster/internal/core/stconfig"
	"muster/internal/engine/health"
	"muster/internal/fleet"
	"muster/internal/logkey"
)

// orderShowsWithin is how long after an order a daemon that is visited in turn may show its effect.
const orderShowsWithin = time.Minute

// pausedFolder is a paused folder of a device.
type pausedFolder struct {
	*fleet.FolderStanding
	// members are the members of the device's configuration that are paused: the folder, or the device's connections
	// to all that share it.
	members []stconfig.Key
}

func pausedFolderOf(standing *fleet.FolderStanding, s *fleet.Snapshot) pausedFolder {
	f := pausedFolder{FolderStanding: standing}
	if standing.Paused {
		f.members = []stconfig.Key{stconfig.Key{}.Child("folders").Child(standing.Folder)}
		return f
	}
	for peer := range s.Sharers(standing.Folder) {
		f.members = append(f.members, stconfig.Key{}.Child("devices").Child(string(peer)))
	}
	return f
}

// pausing is what the database has of who may have paused some folders.
type pausing struct {
	entries  map[store.BaseKey]fleet.BaseEntry
	orders   []fleet.Order // orders to pause or resume, newest first
	complete bool          // orders are all that were ever given
}

// pausedBy adds to the standings of paused folders by whom they are paused, where that is known.
func (a *App) pausedBy(ctx context.Context, standings []*fleet.FolderStanding) {
	var folders []pausedFolder
	for _, standing := range standings {
		if s := a.mirror.Snapshot(standing.Device); s != nil {
			folders = append(folders, pausedFolderOf(standing, s))
		}
	}
	p, err := a.readPausing(ctx, folders)
	if err != nil {
		a.log.WarnContext(ctx, "who paused folders cannot be read", logkey.Err(err))
		return
	}
	all := a.registry()
	shown := a.views.Of(ctx, all)
	for _, f := range folders {
		by, known := p.by(f, all, shown)
		if !known {
			continue
		}
		f.PausedBy = &by
		f.Reason, f.Next = health.PausedByText(*f.FolderStanding, by, func(id int64) string {
			if shown != nil {
				if t := shown.Template(id); t != nil {
					return fmt.Sprintf("%d (%s)", id, t.Label)
				}
			}
			return fmt.Sprint(id)
		})
		f.Reason, f.Next = fleet.Bounded(f.Reason), fleet.Bounded(f.Next)
	}
}

// readPausing reads the database for all folders together. Of the connections of a device it reads the first; it reads
// the others where templates pause that one.
func (a *App) readPausing(ctx context.Context, folders []pausedFolder) (p pausing, err error) {
	var first, others []store.BaseKey
	for _, f := range folders {
		first = append(first, baseKeys(f.Device, f.members[:min(1, len(f.members))])...)
	}
	if p.entries, err = a.store.BaseEntriesAt(ctx, first); err != nil {
		return p, err
	}
	for _, f := range folders {
		if len(f.members) > 1 {
			if _, is := p.pausesTemplate(f.Device, f.members[0]); is {
				others = append(others, baseKeys(f.Device, f.members[1:])...)
			}
		}
	}
	more, err := a.store.BaseEntriesAt(ctx, others)
	maps.Copy(p.entries, more)
	if err != nil || len(folders) == 0 {
		return p, err
	}
	p.orders, p.complete, err = a.store.PausingOrders(ctx)
	return p, err
}

// baseKeys returns the keys of the base entries that tell whether templates pause members of a configuration.
func baseKeys(id fleet.DeviceID, members []stconfig.Key) (keys []store.BaseKey) {
	for _, member := range members {
		keys = append(keys, store.BaseKey{Device: id, Key: member.String()},
			store.BaseKey{Device: id, Key: member.Child("paused").String()})
	}
	return keys
}

// by tells who paused a folder. Templates pause connections only where they pause each of them. known is false where an
// order that is not stored any more may have done it.
func (p *pausing) by(f pausedFolder, all, shown *fleet.Registry) (by fleet.PausedBy, known bool) {
	by = fleet.PausedBy{Cause: fleet.PausedByPerson}
	for _, member := range f.members {
		templates, is := p.pausesTemplate(f.Device, member)
		switch {
		case is:
			by.Cause, by.Templates = fleet.PausedByTemplate, append(by.Templates, templates...)
		default:
			return p.byOrder(f, all, shown)
		}
	}
	slices.Sort(by.Templates)
	by.Templates = slices.Compact(by.Templates)
	return by, true
}

// pausesTemplate tells whether templates pause a member of a device's configuration, and which.
func (p *pausing) pausesTemplate(id fleet.DeviceID, member stconfig.Key) (templates []int64, is bool) {
	entry := func(key stconfig.Key) *fleet.BaseEntry {
		if entry, exists := p.entries[store.BaseKey{Device: id, Key: key.String()}]; exists {
			return &entry
		}
		return nil
	}
	return fleet.PausesTemplate(entry(member), entry(member.Child("paused")))
}

// byOrder tells whether an order paused the folder, or the connections of its device. It did not where they were seen
// unpaused after the order. A caller who may not see all devices of the order does not learn who gave it.
func (p *pausing) byOrder(f pausedFolder, all, shown *fleet.Registry) (by fleet.PausedBy, known bool) {
	by = fleet.PausedBy{Cause: fleet.PausedByPerson}
	folder := "" // the orders that pause connections name none
	if f.Paused {
		folder = f.Folder
	}
	at := slices.IndexFunc(p.orders, func(o fleet.Order) bool { return o.Folder == folder && o.HasOrdered(f.Device) })
	if at < 0 {
		return by, p.complete
	}
	order := p.orders[at]
	if order.Type != fleet.OrderPause ||
		f.Witnessed && !order.EndedAt.IsZero() && f.Since.After(order.EndedAt.Add(orderShowsWithin)) {
		return by, true
	}
	by = fleet.PausedBy{Cause: fleet.PausedByOrder, At: order.BeganAt}
	for _, other := range order.Devices {
		if shown == nil || all.Devices[other] != nil && shown.Devices[other] == nil {
			return by, true
		}
	}
	by.Order, by.By = order.ID, order.By
	return by, true
}
