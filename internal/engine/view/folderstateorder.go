package view

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"muster/internal/fleet"
)

// StandingOrder orders the devices that have a folder: by a value, then by label and ID. The zero value orders by
// label and ID alone.
type StandingOrder struct {
	value      func(fleet.FolderStanding) (value int64, known bool)
	descending bool
}

// standingValues are the values by which the devices of a folder can be ordered. Unknown values come last.
var standingValues = map[string]func(fleet.FolderStanding) (value int64, known bool){
	"state":     func(f fleet.FolderStanding) (int64, bool) { return int64(f.State), true },
	"since":     func(f fleet.FolderStanding) (int64, bool) { return f.Since.UnixMilli(), !f.Since.IsZero() },
	"asOf":      func(f fleet.FolderStanding) (int64, bool) { return f.AsOf.UnixMilli(), !f.AsOf.IsZero() },
	"needBytes": func(f fleet.FolderStanding) (int64, bool) { return f.Progress.NeedBytes, true },
	"needItems": func(f fleet.FolderStanding) (int64, bool) { return f.Progress.NeedItems, true },
	"rate":      func(f fleet.FolderStanding) (int64, bool) { return int64(f.Progress.Rate), true },
	"failed":    func(f fleet.FolderStanding) (int64, bool) { return f.Failed, true },
	"connected": func(f fleet.FolderStanding) (int64, bool) { return int64(f.PeersConnected), true },
}

// StandingSorts lists the names of all orders. A leading "-" reverses an order.
var StandingSorts = []string{"label", "state", "since", "asOf", "needBytes", "needItems", "rate", "failed", "connected"}

// StandingOrderOf returns the order with a name. "" is the order by label and ID.
func StandingOrderOf(text string) (order StandingOrder, known bool) {
	name, descending := strings.CutPrefix(text, "-")
	if name == "" && !descending {
		return order, true
	}
	return StandingOrder{standingValues[name], descending}, slices.Contains(StandingSorts, name)
}

// key returns the value by which the device is ordered, the smallest first.
func (o StandingOrder) key(one StandingOn) int64 {
	if o.value == nil {
		return 0
	}
	value, known := o.value(one.FolderStanding)
	switch {
	case !known:
		return math.MaxInt64
	case o.descending:
		return -max(value, -math.MaxInt64)
	}
	return min(value, math.MaxInt64-1)
}

func (o StandingOrder) compareDevices(a, b fleet.Device) int {
	if o.value == nil && o.descending {
		return fleet.CompareDevices(b, a)
	}
	return fleet.CompareDevices(a, b)
}

// Sort orders standings, which come ordered by label and ID.
func (o StandingOrder) Sort(all []StandingOn) {
	if o.value == nil && !o.descending {
		return // they come by device
	}
	slices.SortFunc(all, func(a, b StandingOn) int {
		return cmp.Or(cmp.Compare(o.key(a), o.key(b)), o.compareDevices(a.Device.Device, b.Device.Device))
	})
}

// Cursor names the position of a standing in the order. It stays valid when the standing changes.
func (o StandingOrder) Cursor(one StandingOn) string {
	return strconv.FormatInt(o.key(one), 10) + "." + DeviceCursor(one.Device)
}

// Beyond reports whether a standing comes after the position of a cursor.
func (o StandingOrder) Beyond(cursor string, one StandingOn) (bool, error) {
	text, device, _ := strings.Cut(cursor, ".")
	key, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return false, err
	}
	at, err := deviceOfCursor(device)
	return cmp.Or(cmp.Compare(o.key(one), key), o.compareDevices(one.Device.Device, at)) > 0, err
}
