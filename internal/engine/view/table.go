package view

import (
	"context"
	"maps"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"muster/internal/fleet"
)

// table has one row for each device of one part of the fleet. It is the only cache of rows in this package. A row is
// made again when its device was marked or its record changed, and only when a reader asks, so that many changes of a
// device between two reads cost one row. Rows are immutable. A row that would show the same as before is not replaced.
type table[R any] struct {
	tableOptions[R]

	marking sync.Mutex              // guards marked; nothing else is done under it
	marked  map[fleet.DeviceID]bool // devices whose rows may be outdated

	mu       sync.Mutex // guards what follows
	registry *fleet.Registry
	common   any
	rows     map[fleet.DeviceID]*R
	revision uint64           // revision of the rows; no two states of any table have the same one
	sorted   []fleet.DeviceID // the devices that have rows, by label, then ID; nil: not sorted yet
	order    []*R             // the rows in that order; nil: not collected yet
}

// tableOptions say how a table makes its rows.
type tableOptions[R any] struct {
	// Make makes the row of a device in the registry. It returns before when that shows the same, and nil when the device
	// has no row yet.
	Make func(ctx context.Context, registry *fleet.Registry, device *fleet.Registered, before *R) (*R, error)
	// Stale reports whether the row of an unmarked device may be outdated. before may be nil. When Stale is nil, only
	// marks count.
	Stale func(id fleet.DeviceID, before *R) bool
	// AtOnce is how many rows are made at the same time; 0 is 1.
	AtOnce int
	// Common returns a comparable value on which all rows depend in addition to the registry and marks. A nil Common
	// means no such value.
	Common func() any
	// Replaced is called for each row that replaces another, to update totals. before or now may be nil.
	Replaced func(before, now *R)
	// Revisions returns a new revision.
	Revisions func() uint64
}

func newTable[R any](o tableOptions[R]) *table[R] {
	return &table[R]{tableOptions: o, marked: map[fleet.DeviceID]bool{}}
}

// mark marks devices whose rows may be outdated.
func (t *table[R]) mark(changed map[fleet.DeviceID]bool) {
	t.marking.Lock()
	defer t.marking.Unlock()
	maps.Copy(t.marked, changed)
}

// takeMarks returns the marked devices and removes all marks.
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

// takeMark reports whether a device is marked, and removes the mark.
func (t *table[R]) takeMark(id fleet.DeviceID) bool {
	t.marking.Lock()
	defer t.marking.Unlock()
	marked := t.marked[id]
	delete(t.marked, id)
	return marked
}

// refresh makes the rows that may be outdated. The caller holds mu.
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

// stale returns the devices whose rows may be outdated. The caller holds mu.
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

// refreshOne makes the row of one device if it may be outdated. Other devices stay marked, so their rows are made when
// somebody asks for them. The caller holds mu.
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

// remake makes the rows of some devices. After an error or a panic it keeps the rows that were made and marks all of
// the devices, so that the next reader continues. The caller holds mu.
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

// makeRows makes the row of each device in of, at the same index of rows.
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

// put replaces older rows, and reports whether any row shows something else. Its cost is proportional to fresh, unless
// the registry has changed. The caller holds mu.
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

// inOrder returns the rows by label, then ID. Nobody changes the slice afterwards. The caller holds mu.
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

// SortedDevices returns the devices of a registry by label, then ID.
func SortedDevices(registry *fleet.Registry) []*fleet.Registered {
	return slices.SortedFunc(maps.Values(registry.Devices), func(a, b *fleet.Registered) int {
		return fleet.CompareDevices(a.Device, b.Device)
	})
}

// changesAll reports whether every row may be outdated by a change of the registry: texts name devices by their
// labels, and rows show the strictest mode of fleet, tags and device.
func changesAll(before, now *fleet.Registry) bool {
	return before != now && (reorders(before, now) || ModesDiffer(before, now))
}

// reorders reports whether a device was added or removed, or has a new label.
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

// ModesDiffer reports whether the mode of the fleet or of a tag differs between two registries.
func ModesDiffer(before, now *fleet.Registry) bool {
	return before != now && (before.Mode != now.Mode || !maps.Equal(before.TagModes, now.TagModes))
}

// sameRecord reports whether two records of a device give the same row.
func sameRecord(a, b *fleet.Registered) bool {
	return a == b || a != nil && a.Device == b.Device && a.Settings == b.Settings && a.Altered == b.Altered &&
		slices.Equal(a.Tags, b.Tags)
}
