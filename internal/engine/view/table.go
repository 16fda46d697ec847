package view

import (
	"context"
	"maps"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"muster/internal/fleet"
)

// table keeps one row for each device of one part of the fleet. It is the only mechanism of this room: a row is made
// again when its device was marked or its record changed, and only when a reader asks. Between two reads, changes of
// one device cost one row. Rows are immutable, and a row that shows the same as before is the row of before.
type table[R any] struct {
	tableOptions[R]

	marking sync.Mutex              // guards marked; nothing else is done under it
	marked  map[fleet.DeviceID]bool // devices whose rows may show something else by now

	mu       sync.Mutex // guards what follows
	registry *fleet.Registry
	common   any
	rows     map[fleet.DeviceID]*R
	revision uint64           // of the rows; no two states of any table have the same one
	sorted   []fleet.DeviceID // the devices that have rows, by label, then ID; nil: to be sorted
	order    []*R             // the rows in that order; nil: to be gathered
}

// tableOptions say how rows are made.
type tableOptions[R any] struct {
	// Make makes the row of a device in the registry. It gives before when that shows the same, and nil for a device that
	// has no row yet.
	Make func(ctx context.Context, registry *fleet.Registry, device *fleet.Registered, before *R) (*R, error)
	// Stale tells whether the row of a device that is not marked may show something else, too. before may be nil. Where
	// Stale is nil, marks tell.
	Stale func(id fleet.DeviceID, before *R) bool
	// AtOnce is how many rows are made at the same time; 0 is 1.
	AtOnce int
	// Common gives what all rows depend on besides registry and marks. It is comparable. Nil: nothing.
	Common func() any
	// Replaced is called for each row that takes the place of another; either may be nil. It keeps totals.
	Replaced func(before, now *R)
	// Revisions gives a new revision.
	Revisions func() uint64
}

func newTable[R any](o tableOptions[R]) *table[R] {
	return &table[R]{tableOptions: o, marked: map[fleet.DeviceID]bool{}}
}

// mark notes that devices may show something else.
func (t *table[R]) mark(changed map[fleet.DeviceID]bool) {
	t.marking.Lock()
	defer t.marking.Unlock()
	maps.Copy(t.marked, changed)
}

// takeMarks gives the marked devices, and leaves none marked.
func (t *table[R]) takeMarks() map[fleet.DeviceID]bool {
	t.marking.Lock()
	defer t.marking.Unlock()
	if len(t.marked) == 0 {
		return nil
	}
	marked := t.marked
	t.marked = map[fleet.DeviceID]bool{}
	return marked
}

// takeMark tells whether a device is marked, and takes the mark away.
func (t *table[R]) takeMark(id fleet.DeviceID) bool {
	t.marking.Lock()
	defer t.marking.Unlock()
	marked := t.marked[id]
	delete(t.marked, id)
	return marked
}

// refresh makes the rows that may show something else by now. The caller holds mu.
func (t *table[R]) refresh(ctx context.Context, registry *fleet.Registry) error {
	marked, common := t.takeMarks(), t.commonNow()
	stale := t.stale(registry, marked, common)
	if len(stale) == 0 && t.registry == registry {
		return nil
	}
	if err := t.remake(ctx, registry, stale); err != nil {
		return err
	}
	t.common = common
	return nil
}

// stale gives the devices whose rows may show something else by now. The caller holds mu.
func (t *table[R]) stale(registry *fleet.Registry, marked map[fleet.DeviceID]bool, common any) []*fleet.Registered {
	if t.Stale == nil && t.registry == registry && t.common == common {
		stale := make([]*fleet.Registered, 0, len(marked))
		for id := range marked {
			if device := registry.Devices[id]; device != nil {
				stale = append(stale, device)
			}
		}
		return stale
	}
	all := t.registry == nil || t.common != common || changesAll(t.registry, registry)
	var stale []*fleet.Registered
	for id, device := range registry.Devices {
		if all || marked[id] || !sameRecord(t.registry.Devices[id], device) || t.Stale != nil && t.Stale(id, t.rows[id]) {
			stale = append(stale, device)
		}
	}
	return stale
}

// refreshOne is refresh for the row of one device. The others stay marked: their rows are made when they are asked for.
// The caller holds mu.
func (t *table[R]) refreshOne(ctx context.Context, registry *fleet.Registry, id fleet.DeviceID) error {
	if t.registry != registry || t.common != t.commonNow() {
		return t.refresh(ctx, registry)
	}
	device := registry.Devices[id]
	if device == nil || !t.takeMark(id) {
		return nil
	}
	return t.remake(ctx, registry, []*fleet.Registered{device})
}

func (t *table[R]) commonNow() any {
	if t.Common == nil {
		return nil
	}
	return t.Common()
}

// remake makes the rows of some devices. After an error the rows that were made are kept, and all of the devices are
// marked: the next reader goes on. They are marked after a panic, too. The caller holds mu.
func (t *table[R]) remake(ctx context.Context, registry *fleet.Registry, stale []*fleet.Registered) error {
	fresh := make([]*R, len(stale))
	made := false
	defer func() {
		if !made {
			t.markAgain(stale)
		}
	}()
	err := t.makeRows(ctx, registry, stale, fresh)
	if made = err == nil; !made {
		registry = t.registry
	}
	if t.put(registry, stale, fresh) {
		t.revision = t.Revisions()
	}
	return err
}

func (t *table[R]) markAgain(devices []*fleet.Registered) {
	again := make(map[fleet.DeviceID]bool, len(devices))
	for _, device := range devices {
		again[device.ID] = true
	}
	t.mark(again)
}

// makeRows makes the row of each device at the place of the device.
func (t *table[R]) makeRows(ctx context.Context, registry *fleet.Registry, of []*fleet.Registered, rows []*R) error {
	if t.AtOnce <= 1 {
		for i, device := range of {
			var err error
			if rows[i], err = t.Make(ctx, registry, device, t.rows[device.ID]); err != nil {
				return err
			}
		}
		return nil
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(t.AtOnce)
	for i, device := range of {
		before := t.rows[device.ID]
		group.Go(func() (err error) {
			rows[i], err = t.Make(ctx, registry, device, before)
			return err
		})
	}
	return group.Wait()
}

// put puts rows in the place of older ones, and tells whether any shows something else. It costs what there is in
// fresh, unless the registry is not the one of before. The caller holds mu.
func (t *table[R]) put(registry *fleet.Registry, of []*fleet.Registered, fresh []*R) (changed bool) {
	resort := false
	if t.rows == nil {
		t.rows, changed, resort = make(map[fleet.DeviceID]*R, len(of)), true, true
	}
	if t.registry != registry {
		resort = resort || reorders(t.registry, registry)
		for id, row := range t.rows {
			if registry.Devices[id] == nil {
				delete(t.rows, id)
				t.replaced(row, nil)
				changed = true
			}
		}
	}
	for i, device := range of {
		row, before := fresh[i], t.rows[device.ID]
		if row == nil || row == before {
			continue
		}
		t.rows[device.ID] = row
		t.replaced(before, row)
		changed, resort = true, resort || before == nil
	}
	t.registry = registry
	if resort {
		t.sorted = nil
	}
	if changed || resort {
		t.order = nil
	}
	return changed
}

func (t *table[R]) replaced(before, now *R) {
	if t.Replaced != nil {
		t.Replaced(before, now)
	}
}

// inOrder gives the rows by label, then ID. The slice is never changed. The caller holds mu.
func (t *table[R]) inOrder() []*R {
	if t.order != nil || t.registry == nil {
		return t.order
	}
	if t.sorted == nil {
		for _, device := range SortedDevices(t.registry) {
			if t.rows[device.ID] != nil {
				t.sorted = append(t.sorted, device.ID)
			}
		}
	}
	t.order = make([]*R, len(t.sorted))
	for i, id := range t.sorted {
		t.order[i] = t.rows[id]
	}
	return t.order
}

// SortedDevices gives the devices of a registry by label, then ID.
func SortedDevices(registry *fleet.Registry) []*fleet.Registered {
	return slices.SortedFunc(maps.Values(registry.Devices), func(a, b *fleet.Registered) int {
		return fleet.CompareDevices(a.Device, b.Device)
	})
}

// changesAll tells whether every row may show something else: texts name devices by their labels, and rows show the
// strictest mode of fleet, tags and device.
func changesAll(before, now *fleet.Registry) bool {
	return before != now && (reorders(before, now) || ModesDiffer(before, now))
}

// reorders tells whether a device came, went or has another label.
func reorders(before, now *fleet.Registry) bool {
	if before == nil || len(before.Devices) != len(now.Devices) {
		return true
	}
	for id, device := range now.Devices {
		if was := before.Devices[id]; was != device && (was == nil || was.Label != device.Label) {
			return true
		}
	}
	return false
}

// ModesDiffer tells whether the mode of the fleet or of a tag differs between two registries.
func ModesDiffer(before, now *fleet.Registry) bool {
	return before != now && (before.Mode != now.Mode || !maps.Equal(before.TagModes, now.TagModes))
}

// sameRecord tells whether two records of a device are the same for its row.
func sameRecord(a, b *fleet.Registered) bool {
	return a == b || a != nil && a.Device == b.Device && a.Settings == b.Settings && a.Altered == b.Altered &&
		slices.Equal(a.Tags, b.Tags)
}
