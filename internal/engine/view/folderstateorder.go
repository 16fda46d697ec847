package view

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"muster/internal/fleet"
)

// StandingOrder is an order of the devices that have a folder: by a value, then as devices are ordered. The zero value
// orders by device alone.
type StandingOrder struct {
	value      func(fleet.FolderStanding) (value int64, known bool)
	descending bool
}

// standingValues are what devices that have a folder can be ordered by. What is not known comes last.
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

// StandingSorts are the names of all orders. With - before it an order is the other way round.
var StandingSorts = []string{"label", "state", "since", "asOf", "needBytes", "needItems", "rate", "failed", "connected"}

// StandingOrderOf gives the order with a name; "": by device.
func StandingOrderOf(text string) (order StandingOrder, known bool) {
	name, descending := strings.CutPrefix(text, "-")
	if name == "" && !descending {
		return order, true
	}
	return StandingOrder{standingValues[name], descending}, slices.Contains(StandingSorts, name)
}

// key is what the devices are ordered by, the smallest first.
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

// Sort puts standings, which come by device, in order.
func (o StandingOrder) Sort(all []StandingOn) {
	if o.value == nil && !o.descending {
		return // they come by device
	}
	slices.SortFunc(all, func(a, b StandingOn) int {
		return cmp.Or(cmp.Compare(o.key(a), o.key(b)), o.compareDevices(a.Device.Device, b.Device.Device))
	})
}

// Cursor names the place of a standing in the order, also after it changed.
func (o StandingOrder) Cursor(one StandingOn) string {
	return strconv.FormatInt(o.key(one), 10) + "." + DeviceCursor(one.Device)
}

// Beyond tells whether a standing comes after the place that a cursor names.
func (o StandingOrder) Beyond(cursor string, one StandingOn) (bool, error) {
	text, device, _ := strings.Cut(cursor, ".")
	key, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return false, err
	}
	at, err := deviceOfCursor(device)
	return cmp.Or(cmp.Compare(o.key(one), key), o.compareDevices(one.Device.Device, at)) > 0, err
}
