package view

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"muster/internal/fleet"
)

// feeding is a feed about a fleet that the test changes.
type feeding struct {
	feed *Feed
	told

	mu        sync.Mutex // guards what follows
	reg       *fleet.Registry
	snapshots map[fleet.DeviceID]*fleet.Snapshot
	states    map[fleet.DeviceID]fleet.State
}

func newFeeding() *feeding {
	r := &feeding{reg: &fleet.Registry{}, snapshots: map[fleet.DeviceID]*fleet.Snapshot{},
		states: map[fleet.DeviceID]fleet.State{}}
	r.feed = NewFeed(FeedOptions{
		Log:    slog.New(slog.DiscardHandler),
		Outlet: &r.told,
		Registry: func(context.Context) (*fleet.Registry, error) {
			r.mu.Lock()
			defer r.mu.Unlock()
			return r.reg, nil
		},
		Snapshot: func(id fleet.DeviceID) *fleet.Snapshot {
			r.mu.Lock()
			defer r.mu.Unlock()
			return r.snapshots[id]
		},
		State: func(_ context.Context, id fleet.DeviceID) (fleet.State, error) {
			r.mu.Lock()
			defer r.mu.Unlock()
			if r.reg.Devices[id] == nil {
				return fleet.State{}, fleet.NotFoundf("gone")
			}
			return r.states[id], nil
		},
	})
	return r
}

// put registers a device with tags; without any it deletes it.
func (r *feeding) put(id fleet.DeviceID, tags ...fleet.Tag) {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := fleet.Registry{Devices: map[fleet.DeviceID]*fleet.Registered{}}
	maps.Copy(next.Devices, r.reg.Devices)
	delete(next.Devices, id)
	if len(tags) > 0 {
		next.Devices[id] = &fleet.Registered{Device: fleet.Device{ID: id}, Tags: tags}
		r.snapshots[id] = &fleet.Snapshot{Device: id}
	}
	r.reg = &next
}

func (r *feeding) seen(id fleet.DeviceID, change func(*fleet.Snapshot, *fleet.State)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	next, state := *r.snapshots[id], r.states[id]
	next.Summaries = maps.Clone(next.Summaries)
	if next.Summaries == nil {
		next.Summaries = map[string]fleet.FolderSummary{}
	}
	change(&next, &state)
	r.snapshots[id], r.states[id] = &next, state
}

// follow runs the feed. What it gives is what was published since it was called last, of the kinds and devices that one
// of the beginnings names.
func (r *feeding) follow(t *testing.T, beginnings ...string) (published func() []string) {
	t.Helper()
	go func() { _ = r.feed.Run(t.Context()) }()
	synctest.Wait()
	return func() []string {
		time.Sleep(time.Second) // of the bubble's clock
		synctest.Wait()
		return slices.DeleteFunc(r.take(), func(text string) bool {
			begins := func(beginning string) bool { return strings.HasPrefix(text, beginning) }
			return len(beginnings) > 0 && !slices.ContainsFunc(beginnings, begins)
		})
	}
}

// busy lets the feed be between two rounds: what happens now is published together, in one round.
func (r *feeding) busy() {
	r.feed.rouse()
	synctest.Wait()
}

// told is an outlet that notes in short what is published.
type told struct {
	noting sync.Mutex // guards texts
	texts  []string
}

func (o *told) note(kind string, id fleet.DeviceID, tags []fleet.Tag, data ...any) {
	o.noting.Lock()
	defer o.noting.Unlock()
	o.texts = append(o.texts, fmt.Sprint(kind, " ", id, tags, " ", fmt.Sprint(data...)))
}

func (o *told) take() []string {
	o.noting.Lock()
	defer o.noting.Unlock()
	all := o.texts
	o.texts = nil
	return all
}

func (o *told) Device(id fleet.DeviceID, tags []fleet.Tag, state *fleet.State) {
	if state == nil {
		o.note("device", id, tags, "deleted")
		return
	}
	o.note("device", id, tags, string(state.Connection)+string(state.Configuration))
}

func (o *told) Plan(id fleet.DeviceID, tags []fleet.Tag, state fleet.State) {
	o.note("plan", id, tags, string(state.Connection)+string(state.Configuration))
}

func (o *told) Status(id fleet.DeviceID, tags []fleet.Tag, status *fleet.Status, _ *fleet.Version) {
	o.note("status", id, tags, status.Uptime)
}

func (o *told) Config(id fleet.DeviceID, tags []fleet.Tag, digest string) {
	o.note("config", id, tags, digest)
}

func (o *told) Folder(id fleet.DeviceID, tags []fleet.Tag, f fleet.FolderSummary) {
	o.note("folder", id, tags, f.Folder)
}

func (o *told) Pending(id fleet.DeviceID, tags []fleet.Tag, devices, folders int) {
	o.note("pending", id, tags, fmt.Sprintf("%d devices, %d folders", devices, folders))
}

func (o *told) Template(id int64, label string, deleted bool) {
	o.note("template", "", nil, id, label, deleted)
}

func (o *told) Row(row *Row) { o.note("row", row.Device.ID, row.Device.Tags) }

func TestWhatPeopleDoToDevicesIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFeeding()
		r.put("A", "x")
		published := r.follow(t)
		for _, step := range []struct {
			name string
			tags []fleet.Tag
			want []string
		}{
			{"as it was", []fleet.Tag{"x"}, nil},
			{"another tag", []fleet.Tag{"y"}, []string{"device A[x y] online"}},
			{"deleted", nil, []string{"device A[y] deleted"}},
			{"put again", []fleet.Tag{"z"}, []string{"device A[z] online"}},
		} {
			r.mu.Lock()
			r.states["A"] = fleet.State{Connection: fleet.Online}
			r.mu.Unlock()
			r.busy()
			r.put("A", step.tags...)
			r.feed.RegistryChanged()
			r.feed.DeviceChanged("A", fleet.ConnectionChanged)
			got := published()
			if step.name == "as it was" {
				got = slices.DeleteFunc(got, func(s string) bool { return s == "device A[x] online" }) // the mirror's
			}
			if !slices.Equal(got, step.want) {
				t.Errorf("%s: got %q, want %q", step.name, got, step.want)
			}
		}
	})
}

func TestABurstAboutADeviceIsToldInFew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFeeding()
		r.put("A", "x")
		published := r.follow(t, "status")
		for i := range 10_000 {
			r.seen("A", func(s *fleet.Snapshot, _ *fleet.State) { s.Status = &fleet.Status{Uptime: int64(i)} })
			r.feed.DeviceChanged("A", fleet.StatusChanged)
		}
		got := published()
		if len(got) > 3 || len(got) == 0 || got[len(got)-1] != "status A[x] 9999" {
			t.Errorf("got %q, want at most 3, the last one with 9999", got)
		}
	})
}

func TestEachAspectIsToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFeeding()
		r.put("A", "x")
		r.put("B", "x")
		published := r.follow(t, "device A", "config A", "folder A", "plan A")
		r.seen("A", func(s *fleet.Snapshot, state *fleet.State) {
			s.Digest, state.Connection = "d1", fleet.Online
			s.Summaries["f"], s.Summaries["g"] = fleet.FolderSummary{Folder: "f"}, fleet.FolderSummary{Folder: "g"}
		})
		r.busy()
		r.feed.DeviceChanged("B", fleet.ConnectionChanged)
		r.feed.DeviceChanged("A", fleet.ConfigChanged|fleet.FoldersChanged)
		r.feed.DeviceChanged("A", fleet.ConnectionChanged)
		if got, want := published(), []string{"device A[x] online", "config A[x] d1", "folder A[x] f",
			"folder A[x] g"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}

		r.seen("A", func(s *fleet.Snapshot, state *fleet.State) {
			state.Configuration = fleet.ConfigHeld
			s.Summaries["f"] = fleet.FolderSummary{Folder: "f", UpdatedAt: time.Now()} // read again, and the same
			s.Summaries["g"] = fleet.FolderSummary{Folder: "g", NeedBytes: 7}
		})
		r.busy()
		r.feed.DeviceChanged("A", fleet.FoldersChanged)
		r.feed.DeviceChanged("A", fleet.PlanChanged)
		if got, want := published(), []string{"folder A[x] g", "plan A[x] onlineheld"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func TestWhoAsksToBeLetInIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFeeding()
		r.put("A", "x")
		r.seen("A", func(s *fleet.Snapshot, _ *fleet.State) {
			s.Pending = []fleet.Pending{{Device: "A", From: "B"}, {Device: "A", From: "C", Folder: "f"},
				{Device: "A", From: "D", Folder: "f"}}
		})
		published := r.follow(t, "pending")
		for range 1000 {
			r.feed.DeviceChanged("A", fleet.PendingChanged)
		}
		if got := published(); len(got) == 0 || got[0] != "pending A[x] 1 devices, 2 folders" {
			t.Errorf("got %q", got)
		}
	})
}

func TestOfADeletedDeviceNothingIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFeeding()
		r.put("A", "x")
		published := r.follow(t)
		r.seen("A", func(s *fleet.Snapshot, _ *fleet.State) { s.Summaries["f"] = fleet.FolderSummary{Folder: "f"} })
		r.feed.DeviceChanged("A", fleet.FoldersChanged)
		published()
		r.put("A")
		r.feed.RegistryChanged()
		r.feed.DeviceChanged("A", fleet.FoldersChanged) // from a watcher that is about to end
		if got, want := published(), []string{"device A[x] deleted"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		if len(r.feed.published)+len(r.feed.marks)+len(r.feed.order) > 0 {
			t.Errorf("left: %v, %v, %v", r.feed.published, r.feed.marks, r.feed.order)
		}
	})
}

// Trouble that began by time alone came to no page that was open, until something was read of the device.
func TestARowThatChangesByTimeAloneIsPublished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, registry, outlet := newWorld(), registryOf(idA), &told{}
		w.put(idA, fleet.State{Connection: fleet.Online}, fleet.Snapshot{})
		v, inTrouble := w.view(), atomic.Bool{}
		v.Causes = func(fleet.State, *fleet.Snapshot) []fleet.WaitCause {
			if inTrouble.Load() {
				return []fleet.WaitCause{fleet.WaitFolderStopped}
			}
			return nil
		}
		f := NewFeed(FeedOptions{View: v, Outlet: outlet, Snapshot: v.Snapshot, State: v.State,
			Log:      slog.New(slog.DiscardHandler),
			Registry: func(context.Context) (*fleet.Registry, error) { return registry, nil }})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() { _ = f.Run(ctx) }()
		published := func() []string {
			f.RowChanged(idA)
			time.Sleep(2 * rowPause)
			synctest.Wait()
			return outlet.take()
		}
		if got := published(); len(got) != 1 {
			t.Errorf("at first %q was published", got)
		}
		if got := published(); len(got) != 0 {
			t.Errorf("of a row that shows the same %q was published", got)
		}
		inTrouble.Store(true)
		w.mark(idA)
		if got := published(); len(got) != 1 {
			t.Errorf("of trouble %q was published", got)
		}
	})
}
