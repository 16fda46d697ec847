package httpapi

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"muster/api"
	"muster/internal/engine/event"
	"muster/internal/engine/view"
	"muster/internal/fleet"
)

// rowPause is the least time between two rows of a device.
const rowPause = time.Second

// rowFeed is a feed over a registry and states that a test sets.
type rowFeed struct {
	*view.Feed
	hub      *event.Hub
	view     *view.View
	registry *fleet.Registry

	mu      sync.Mutex // guards what follows
	states  map[fleet.DeviceID]fleet.State
	changed map[fleet.DeviceID]bool
	folders []fleet.FolderSummary // of every device
}

func newRowFeed(t *testing.T) *rowFeed {
	r := &rowFeed{
		states:  map[fleet.DeviceID]fleet.State{},
		changed: map[fleet.DeviceID]bool{},
		registry: &fleet.Registry{Mode: fleet.ModeOn,
			Devices: map[fleet.DeviceID]*fleet.Registered{}},
	}
	for _, id := range []fleet.DeviceID{idA, idB} {
		r.registry.Devices[id] = &fleet.Registered{Device: fleet.Device{ID: id, Label: id.Short()}, Tags: []fleet.Tag{"x"},
			Settings: fleet.DeviceSettings{Mode: fleet.ModeOn}}
	}
	state := func(_ context.Context, id fleet.DeviceID) (fleet.State, error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.states[id], nil
	}
	snapshot := func(id fleet.DeviceID) *fleet.Snapshot {
		r.mu.Lock()
		defer r.mu.Unlock()
		s := &fleet.Snapshot{Device: id, Connection: fleet.Online, Summaries: map[string]fleet.FolderSummary{}}
		for _, f := range r.folders {
			s.Folders = append(s.Folders, fleet.FolderLabel{Folder: f.Folder})
			s.Summaries[f.Folder] = f
		}
		return s
	}
	o := viewOptions(state, snapshot)
	o.Changed = func() map[fleet.DeviceID]bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		changed := r.changed
		r.changed = map[fleet.DeviceID]bool{}
		return changed
	}
	r.view = view.New(o)
	r.hub = event.NewHub(event.Options{})
	log := slog.New(slog.DiscardHandler)
	r.Feed = view.NewFeed(view.FeedOptions{Log: log, Snapshot: snapshot, State: state, View: r.view,
		Registry: func(context.Context) (*fleet.Registry, error) { return r.registry, nil },
		Outlet:   Publisher{Hub: r.hub, Log: log}})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = r.Run(ctx)
	}()
	t.Cleanup(func() { cancel(); <-done })
	synctest.Wait()
	return r
}

// stand puts a device into a state and tells the feed.
func (r *rowFeed) stand(id fleet.DeviceID, reason string) {
	r.mu.Lock()
	r.states[id] = fleet.State{Connection: fleet.Online, Reason: reason}
	r.changed[id] = true
	r.mu.Unlock()
	r.DeviceChanged(id, fleet.PlanChanged)
}

func (r *rowFeed) follow(t *testing.T, types ...event.Type) func() []*event.Event {
	t.Helper()
	s, err := r.hub.Subscribe(event.Filter{Types: types}, event.Latest)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return func() (all []*event.Event) {
		for {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			batch, err := s.Next(ctx)
			cancel()
			if err != nil {
				return all
			}
			all = append(all, batch...)
		}
	}
}

func TestARowIsPublishedAtMostOnceASecondAndTheLastOneIsTrue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRowFeed(t)
		events := r.follow(t, event.TypeInventory)
		for i := range 20 { // two seconds
			r.stand(idA, string(rune('a'+i)))
			<-time.After(100 * time.Millisecond)
		}
		r.stand(idB, "once")
		all := events()
		count := map[fleet.DeviceID]int{}
		var last api.InventoryEvent
		var at time.Time
		for _, e := range all {
			count[e.Device]++
			if e.Device != idA {
				continue
			}
			if !at.IsZero() && e.Time.Sub(at) < rowPause {
				t.Errorf("two rows within %s", e.Time.Sub(at))
			}
			at = e.Time
			if err := json.Unmarshal(e.Data, &last); err != nil {
				t.Fatal(err)
			}
		}
		if count[idA] < 2 || count[idA] > 4 || count[idB] != 1 || last.Row.Reason != "t" || last.Row.DeviceID != string(idA) {
			t.Errorf("%v rows, the last one %+v", count, last.Row)
		}
		r.stand(idB, "once")
		if more := events(); len(more) != 0 {
			t.Errorf("the same row was published again: %d", len(more))
		}
	})
}

func TestARowFollowsItsModeAndATemplateItsChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRowFeed(t)
		events := r.follow(t, event.TypeInventory, event.TypeTemplate)
		next := *r.registry
		next.TagModes = map[fleet.Tag]fleet.Mode{"x": fleet.ModeObserve}
		next.Templates = []fleet.TaggedTemplate{{Template: fleet.Template{ID: 4, Label: "new"}}}
		r.registry = &next
		r.RegistryChanged()
		got := map[event.Type]int{}
		for _, e := range events() {
			got[e.Type]++
			var row api.InventoryEvent
			if e.Type == event.TypeInventory && (json.Unmarshal(e.Data, &row) != nil || row.Row.Mode != "observe") {
				t.Errorf("got %s", e.Data)
			}
		}
		if got[event.TypeInventory] != 2 || got[event.TypeTemplate] != 1 {
			t.Errorf("got %v", got)
		}
		gone := next
		gone.Templates = nil
		r.registry = &gone
		r.RegistryChanged()
		all := events()
		if len(all) != 1 || string(all[0].Data) != `{"id":4,"label":"new","deleted":true}` {
			t.Errorf("got %d events", len(all))
		}
	})
}
