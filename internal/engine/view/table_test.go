package view

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"muster/internal/fleet"
)

const idA, idB = fleet.DeviceID("A"), fleet.DeviceID("B")

func registryOf(ids ...fleet.DeviceID) *fleet.Registry {
	registry := &fleet.Registry{Devices: map[fleet.DeviceID]*fleet.Registered{}}
	for _, id := range ids {
		registry.Devices[id] = &fleet.Registered{Device: fleet.Device{ID: id, Label: string(id)}}
	}
	return registry
}

// world is what a view reads in a test. It may be changed while others read.
type world struct {
	mu        sync.Mutex // guards the rest
	states    map[fleet.DeviceID]fleet.State
	snapshots map[fleet.DeviceID]*fleet.Snapshot
	changed   map[fleet.DeviceID]bool
	asked     func() // called for each state, without mu; may be nil
	err       error
}

func (w *world) view() *View {
	return New(Options{
		Changed: func() map[fleet.DeviceID]bool {
			w.mu.Lock()
			defer w.mu.Unlock()
			changed := w.changed
			w.changed = map[fleet.DeviceID]bool{}
			return changed
		},
		Snapshot: func(id fleet.DeviceID) *fleet.Snapshot {
			w.mu.Lock()
			defer w.mu.Unlock()
			return w.snapshots[id]
		},
		State: func(_ context.Context, id fleet.DeviceID) (fleet.State, error) {
			w.mu.Lock()
			state, err := w.states[id], w.err
			w.mu.Unlock()
			if w.asked != nil {
				w.asked()
			}
			return state, err
		},
		Causes: func(fleet.State, *fleet.Snapshot) []fleet.WaitCause { return nil },
		FolderState: func(s *fleet.Snapshot, folder string) (fleet.FolderState, bool) {
			if summary, known := s.Summaries[folder]; known && !summary.Lacks() {
				return fleet.FolderUpToDate, false
			}
			return fleet.FolderBehind, false
		},
	})
}

func (w *world) put(id fleet.DeviceID, state fleet.State, s fleet.Snapshot) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s.Device, s.Connection = id, state.Connection
	w.states[id], w.snapshots[id] = state, &s
	w.changed[id] = true
}

func (w *world) mark(id fleet.DeviceID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.changed[id] = true
}

func newWorld() *world {
	return &world{states: map[fleet.DeviceID]fleet.State{}, snapshots: map[fleet.DeviceID]*fleet.Snapshot{},
		changed: map[fleet.DeviceID]bool{}}
}

func counts(t *testing.T, v *View, registry *fleet.Registry) fleet.Counts {
	t.Helper()
	got, err := v.Counts(t.Context(), registry)
	if err != nil {
		t.Error(err)
	}
	return got
}

// A device may change again while its row is made.
func TestAChangeWhileARowIsMadeIsInTheNextOne(t *testing.T) {
	w, registry := newWorld(), registryOf(idA)
	w.put(idA, fleet.State{Connection: fleet.Online}, fleet.Snapshot{})
	v := w.view()
	counts(t, v, registry)
	w.mark(idA)
	w.asked = func() {
		w.asked = nil
		w.put(idA, fleet.State{Connection: fleet.Unreachable}, fleet.Snapshot{})
		w.mark(idA)
	}
	counts(t, v, registry)
	if got := counts(t, v, registry); got.Connections[fleet.Unreachable] != 1 || got.Devices != 1 {
		t.Errorf("got %+v", got)
	}
}

// A reader that has read that a device is away never reads afterwards that it is online.
func TestTheLatestStaysWhileManyMarkAndRead(t *testing.T) {
	w, registry := newWorld(), registryOf(idA)
	w.put(idA, fleet.State{Connection: fleet.Online}, fleet.Snapshot{})
	v := w.view()
	var away atomic.Bool
	var marking sync.WaitGroup
	for range 4 {
		marking.Go(func() {
			for n := range 200 {
				if n == 100 {
					w.put(idA, fleet.State{Connection: fleet.Unreachable}, fleet.Snapshot{})
					away.Store(true)
				}
				w.mark(idA)
			}
		})
	}
	for range 4 {
		marking.Go(func() {
			for reached := false; !reached || !away.Load(); {
				is := counts(t, v, registry).Connections[fleet.Unreachable] == 1
				if reached && !is {
					t.Error("an older state was counted after the latest")
				}
				reached = reached || is
			}
		})
	}
	marking.Wait()
	if got := counts(t, v, registry); got.Connections[fleet.Unreachable] != 1 {
		t.Errorf("got %+v", got)
	}
}

func TestARowThatCannotBeMadeIsMadeByTheNextReader(t *testing.T) {
	w, registry := newWorld(), registryOf(idA, idB)
	w.put(idA, fleet.State{Connection: fleet.Online}, fleet.Snapshot{})
	v := w.view()
	before := counts(t, v, registry)
	w.put(idA, fleet.State{Connection: fleet.Unreachable}, fleet.Snapshot{})
	w.mark(idA)
	w.err = errors.New("the database is away")
	got, err := v.Counts(t.Context(), registry)
	if err == nil || got.Connections[fleet.Online] != before.Connections[fleet.Online] {
		t.Errorf("got %+v, %v", got, err)
	}
	if got, err = v.Counts(t.Context(), nil); err != nil || got.Devices != 2 {
		t.Errorf("without a registry: got %+v, %v", got, err)
	}
	w.err = nil
	if got := counts(t, v, registry); got.Connections[fleet.Unreachable] != 1 {
		t.Errorf("got %+v", got)
	}
}

func TestADeviceIsCountedOnceItIsWatched(t *testing.T) {
	w, registry := newWorld(), registryOf(idA)
	v := w.view()
	watched, ask := false, v.State
	v.State = func(ctx context.Context, id fleet.DeviceID) (fleet.State, error) {
		if !watched {
			return fleet.State{}, &fleet.Error{Code: fleet.CodeNotFound}
		}
		return ask(ctx, id)
	}
	v.Causes = func(fleet.State, *fleet.Snapshot) []fleet.WaitCause { return []fleet.WaitCause{"something"} }
	want := func(when string, counted int) {
		t.Helper()
		got := counts(t, v, registry)
		if got.Devices != counted || got.Connections[fleet.NeverSeen] != counted ||
			got.Configurations[fleet.ConfigUnknown] != counted {
			t.Errorf("%s: got %+v", when, got)
		}
		point, err := v.HistoryPoint(t.Context(), registry)
		if err != nil || point.Devices != 1 || point.Waiting != int64(counted) {
			t.Errorf("%s: got %+v, %v", when, point, err)
		}
	}
	want("registered", 0)
	watched = true // and shows the same
	w.put(idA, fleet.State{Connection: fleet.NeverSeen, Configuration: fleet.ConfigUnknown}, fleet.Snapshot{})
	want("watched", 1)
	registry = registryOf()
	if got := counts(t, v, registry); got.Devices != 0 {
		t.Errorf("deleted: got %+v", got)
	}
}

func TestADeletedDeviceIsForgotten(t *testing.T) {
	w := newWorld()
	for _, id := range []fleet.DeviceID{idA, idB} {
		w.put(id, fleet.State{Connection: fleet.Online}, fleet.Snapshot{Folders: labels("p", "")})
	}
	v := w.view()
	counts(t, v, registryOf(idA, idB))
	v.Wire = plainWire{}
	for _, registry := range []*fleet.Registry{registryOf(idA, idB), registryOf(idB)} {
		states, err := v.States(t.Context(), registry)
		if err != nil || len(states) != len(registry.Devices) {
			t.Errorf("got %d states, %v", len(states), err)
		}
	}
	w.mark(idA)
	if got := counts(t, v, registryOf(idB)); got.Devices != 1 || got.Folders.All() != 1 {
		t.Errorf("got %+v", got)
	}
	if p := v.partOf(t.Context()); len(p.rows.rows) != 1 {
		t.Errorf("%d rows are kept of one device", len(p.rows.rows))
	}
}

// The list of folders leads to what is stored of each.
func TestAFolderIsListedWhenItsConfigurationIsStored(t *testing.T) {
	w, registry := newWorld(), registryOf(idA)
	listed := func() int {
		v := counts(t, w.view(), registry)
		return v.Folders.All()
	}
	w.put(idA, fleet.State{Connection: fleet.Online}, fleet.Snapshot{Folders: labels("p", ""), Unstored: true})
	if got := listed(); got != 0 {
		t.Errorf("%d folders before", got)
	}
	w.put(idA, fleet.State{Connection: fleet.Online}, fleet.Snapshot{Folders: labels("p", "")})
	v := w.view()
	counts(t, v, registry)
	w.put(idA, fleet.State{Connection: fleet.Online}, fleet.Snapshot{Folders: labels("p", "", "q", ""), Unstored: true})
	w.mark(idA)
	row, err := v.Row(t.Context(), registry, idA)
	if err != nil || row.Folders.All() != 2 || counts(t, v, registry).Folders.All() != 1 {
		t.Errorf("got %+v, %v", row, err)
	}
}

func TestRowsAreReadWhileStatesAreListed(t *testing.T) {
	w, registry := newWorld(), registryOf(idA)
	w.put(idA, fleet.State{Connection: fleet.Online}, fleet.Snapshot{})
	v := w.view()
	v.Wire = plainWire{}
	counts(t, v, registry)
	var during *Row
	w.asked = func() {
		w.asked = nil
		var err error
		if during, err = v.Row(t.Context(), registry, idA); err != nil {
			t.Error(err)
		}
	}
	states, err := v.States(t.Context(), registry)
	if err != nil || len(states) != 1 || during == nil || during.listed != states[0] {
		t.Errorf("got %v beside %+v, %v", states, during, err)
	}
	if again, err := v.States(t.Context(), registry); err != nil || again[0] != states[0] {
		t.Errorf("the same state was listed anew, %v", err)
	}
}

// The server recovers from a panic of one request.
func TestAPanicLeavesTheRowsUnlocked(t *testing.T) {
	w, registry := newWorld(), registryOf(idA)
	w.put(idA, fleet.State{Connection: fleet.Online}, fleet.Snapshot{})
	v := w.view()
	v.Wire = plainWire{}
	counts(t, v, registry)
	w.put(idA, fleet.State{Connection: fleet.Unreachable}, fleet.Snapshot{})
	for name, read := range map[string]func() error{
		"Rows":      func() error { _, err := v.Rows(t.Context(), registry); return err },
		"Row":       func() error { _, err := v.Row(t.Context(), registry, idA); return err },
		"Counts":    func() error { _, err := v.Counts(t.Context(), registry); return err },
		"Folders":   func() error { _, _, err := v.Folders(t.Context(), registry); return err },
		"States":    func() error { _, err := v.States(t.Context(), registry); return err },
		"Inventory": func() error { _, err := v.Inventory(t.Context(), registry, Query{}); return err },
	} {
		w.asked = func() { panic("a state") }
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s did not ask for the state", name)
				}
			}()
			_ = read()
		}()
		w.asked = nil
		if mu := &v.partOf(t.Context()).rows.mu; !mu.TryLock() {
			t.Fatalf("%s left the rows locked", name)
		} else {
			mu.Unlock()
		}
	}
	if got := counts(t, v, registry); got.Connections[fleet.Unreachable] != 1 {
		t.Errorf("got %+v", got)
	}
}

func TestRowsOfFewPartsAreKept(t *testing.T) {
	v := newWorld().view()
	for i := range maxParts + 3 {
		scope := fleet.ScopeOf([]fleet.Tag{fleet.Tag(rune('a' + i))})
		if _, err := v.Rows(fleet.WithScope(t.Context(), scope), registryOf()); err != nil {
			t.Fatal(err)
		}
	}
	if len(v.parts) != maxParts {
		t.Errorf("rows of %d parts are kept", len(v.parts))
	}
}

// plainWire writes nothing.
type plainWire struct{}

func (plainWire) Row(*Row) ([]byte, error)               { return nil, nil }
func (plainWire) Inventory(Page) ([]byte, string, error) { return nil, "", nil }
func (plainWire) State(fleet.DeviceID, fleet.State, fleet.WorstFolder) ([]byte, error) {
	return nil, nil
}

// The list of states read the database for each device with a paused folder.
func TestTheListOfStatesAskedByWhomEachFolderIsPaused(t *testing.T) {
	w, registry := newWorld(), registryOf(idA)
	w.put(idA, fleet.State{Connection: fleet.Online}, fleet.Snapshot{Folders: labels("p", "")})
	v, asked, judged := w.view(), 0, 0
	v.Wire = plainWire{}
	v.FolderState = func(*fleet.Snapshot, string) (fleet.FolderState, bool) { return fleet.FolderPaused, false }
	v.FolderStanding = func(context.Context, *fleet.Snapshot, string) fleet.FolderStanding {
		judged++
		return fleet.FolderStanding{Device: idA, Folder: "p", State: fleet.FolderPaused, Reason: "paused"}
	}
	v.PausedBy = func(_ context.Context, paused []*fleet.FolderStanding) {
		asked++
		for _, f := range paused {
			f.Reason = "paused by a person"
		}
	}
	states, err := v.States(t.Context(), registry)
	if err != nil || len(states) != 1 || states[0].Worst.Reason != "paused" || asked != 0 {
		t.Errorf("the list asked %d times: %+v, %v", asked, states, err)
	}
	judged = 0
	if got := v.WorstFolder(t.Context(), idA); got.Reason != "paused by a person" || asked != 1 || judged != 1 {
		t.Errorf("one device asked %d times, and judged %d times: %+v", asked, judged, got)
	}
}
