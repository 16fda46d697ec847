package httpapi

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"muster/internal/engine/view"
	"muster/internal/fleet"
)

// standingOrder is an order of the devices that have a folder: by a value, then as devices are ordered. The zero value
// orders by device alone.
type standingOrder struct {
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

var standingSorts = []string{"label", "state", "since", "asOf", "needBytes", "needItems", "rate", "failed", "connected"}

var standingSortParam = queryParam(
	"sort",
	"The order; with - the other way round. State has the best first, -state the "+
		"worst. What is not known comes last",
	enumSchema(bothWays(standingSorts)),
	parseStandingSort,
)

func parseStandingSort(text string) (order standingOrder, err error) {
	name, descending := strings.CutPrefix(text, "-")
	if name == "" && !descending {
		return order, nil
	}
	if !slices.Contains(standingSorts, name) {
		return order, fleet.Invalidf("sort", "sort is %s, with - before it for the other way round", orList(standingSorts))
	}
	return standingOrder{standingValues[name], descending}, nil
}

// key is what the devices are ordered by, the smallest first.
func (o standingOrder) key(one view.StandingOn) int64 {
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

func (o standingOrder) compareDevices(a, b fleet.Device) int {
	if o.value == nil && o.descending {
		return fleet.CompareDevices(b, a)
	}
	return fleet.CompareDevices(a, b)
}

func (o standingOrder) sort(all []view.StandingOn) {
	if o.value == nil && !o.descending {
		return // they come by device
	}
	slices.SortFunc(all, func(a, b view.StandingOn) int {
		return cmp.Or(cmp.Compare(o.key(a), o.key(b)), o.compareDevices(a.Device.Device, b.Device.Device))
	})
}

func (o standingOrder) cursor(one view.StandingOn) string {
	return strconv.FormatInt(o.key(one), 10) + "." + deviceCursor(one.Device)
}

func (o standingOrder) beyond(cursor string, one view.StandingOn) (bool, error) {
	text, device, _ := strings.Cut(cursor, ".")
	key, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return false, err
	}
	at, err := deviceOfCursor(device)
	return cmp.Or(cmp.Compare(o.key(one), key), o.compareDevices(one.Device.Device, at)) > 0, err
}
