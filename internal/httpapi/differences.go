package httpapi

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"muster/api"
	"muster/internal/auth"
	"muster/internal/fleet"
	"muster/internal/plan"
)

// maxCompared is how many devices one answer compares: each is planned for it.
const maxCompared = 2000

func (s *server) differenceRoutes() []route {
	return []route{{
		method: http.MethodGet, path: Prefix + "/differences", name: "listDifferences", permission: auth.Read,
		summary: "What the plans of many devices would change, equal changes together. Plans are made from what was last " +
			"read of the daemons",
		query: inventoryFilters(), reply: reflect.TypeFor[api.Differences](),
		off: s.Inventory == nil || s.WhatIf == nil, handle: s.listDifferences,
	}}
}

func (s *server) listDifferences(r *request) (reply, error) {
	q, err := r.inventoryQuery()
	if err != nil {
		return reply{}, err
	}
	return s.planned(r, func(ctx context.Context) (reply, error) {
		made, err := s.differences(ctx, q)
		if err != nil {
			return reply{}, err
		}
		return show(made)
	})
}

func (s *server) differences(ctx context.Context, q inventoryQuery) (out api.Differences, err error) {
	seen, err := s.Registry.Registry(ctx)
	if err != nil {
		return out, err
	}
	whole, err := s.wholeRegistry(ctx)
	if err != nil {
		return out, err
	}
	rows, err := s.Inventory.allRows(ctx, seen)
	if err != nil {
		return out, err
	}
	d := differenceList{registry: seen, groups: map[[sha256.Size]byte]*differenceGroup{}}
	d.out = api.Differences{Generation: whole.Generation, Failed: []api.FailedDifference{}}
	devices := d.pick(rows, q)
	if err := s.WhatIf.Planned(ctx, whole, devices, d.add); err != nil {
		return out, err
	}
	return d.finished(devices), nil
}

// differenceList makes the reply while the plans come in.
type differenceList struct {
	registry       *fleet.Registry // as the caller sees it
	out            api.Differences
	groups         map[[sha256.Size]byte]*differenceGroup
	changes, bytes int // shown so far
}

type differenceGroup struct {
	change  api.PlannedChange
	devices []fleet.DeviceID
}

// pick gives the devices of a filter that are not as their templates say.
func (d *differenceList) pick(rows []*inventoryRow, q inventoryQuery) (devices []fleet.DeviceID) {
	for _, row := range rows {
		if !q.picks(row) {
			continue
		}
		switch fleet.Configuration(row.wire.Configuration) {
		case fleet.ConfigInSync, fleet.ConfigUnmanaged:
		case fleet.ConfigUnknown:
			d.out.Unknown++
		default:
			devices = append(devices, row.device.ID)
		}
	}
	compared := min(len(devices), maxCompared)
	d.out.Compared, d.out.Left = compared, len(devices)-compared
	return devices[:compared]
}

func (d *differenceList) add(id fleet.DeviceID, changes []plan.Change, failed error) {
	if failed != nil {
		d.out.Failed = append(d.out.Failed,
			api.FailedDifference{DeviceID: string(id), Error: named(d.registry, shortened(fleet.Reason(failed)))})
		return
	}
	for _, change := range changes {
		if d.changes >= maxShownChanges || d.bytes > maxShownBytes {
			d.out.Truncated = true
			return
		}
		d.changes++
		wire := wireChanges([]plan.Change{change}, d.registry)[0]
		same := sumOf(wire)
		group := d.groups[same]
		if group == nil {
			d.bytes += shownSize(change, maxShownBytes)
			group = &differenceGroup{change: wire}
			d.groups[same] = group
		}
		group.devices = append(group.devices, id)
	}
}

// sumOf is the same for changes that look the same.
func sumOf(change api.PlannedChange) [sha256.Size]byte {
	var text bytes.Buffer
	_ = json.NewEncoder(&text).Encode(change) // of raw JSON that was encoded before: it cannot fail
	return sha256.Sum256(text.Bytes())
}

// finished has the groups of most devices first, and devices in the order in which they were picked.
func (d *differenceList) finished(devices []fleet.DeviceID) api.Differences {
	place := make(map[fleet.DeviceID]int, len(devices))
	for i, id := range devices {
		place[id] = i
	}
	inOrder := func(a, b fleet.DeviceID) int { return cmp.Compare(place[a], place[b]) }
	d.out.Differences = make([]api.Difference, 0, len(d.groups))
	for _, group := range d.groups {
		slices.SortFunc(group.devices, inOrder)
		one := api.Difference{PlannedChange: group.change, Devices: make([]string, len(group.devices))}
		for i, id := range group.devices {
			one.Devices[i] = string(id)
		}
		d.out.Differences = append(d.out.Differences, one)
	}
	slices.SortFunc(d.out.Differences, func(a, b api.Difference) int {
		return cmp.Or(cmp.Compare(len(b.Devices), len(a.Devices)), strings.Compare(a.Key, b.Key),
			strings.Compare(a.Devices[0], b.Devices[0]), bytes.Compare(a.To, b.To), strings.Compare(a.Reason, b.Reason))
	})
	slices.SortFunc(d.out.Failed, func(a, b api.FailedDifference) int {
		return inOrder(fleet.DeviceID(a.DeviceID), fleet.DeviceID(b.DeviceID))
	})
	return d.out
}
