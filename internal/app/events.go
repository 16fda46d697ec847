package app

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"muster/api"
	"muster/internal/event"
	"muster/internal/fleet"
	"muster/internal/httpapi"
	"muster/internal/logkey"
	"muster/internal/mirror"
)

// newsPause is the least time between two rounds of news: what happens to a device in between is one event of each
// type. The first of a burst waits for nothing.
const newsPause = 50 * time.Millisecond

// news tells whoever follows the events what the engines learn and do. Callbacks of the engines only mark a device;
// what is told is how it stands when its turn comes, so that a burst costs little and the last word is true.
type news struct {
	hub      *event.Hub
	log      *slog.Logger
	registry func(context.Context) (*fleet.Registry, error)
	snapshot func(fleet.DeviceID) *mirror.Snapshot
	state    func(context.Context, fleet.DeviceID) (fleet.State, error)
	pending  func(fleet.DeviceID) []fleet.Pending
	wake     chan struct{}

	mu         sync.Mutex // guards what follows
	marks      map[fleet.DeviceID]mark
	order      []fleet.DeviceID // of the marked ones, the one marked longest ago first
	registered bool             // what is registered may be something else

	// Of the running goroutine:
	before *fleet.Registry
	told   map[fleet.DeviceID]map[string]fleet.FolderSummary
}

// mark says what is new about a device.
type mark uint8

const (
	newStanding mark = 1 << iota
	newStatus
	newFolders
	newConfig
	newPlan
	newPending
)

func (a *App) newNews() *news {
	return &news{
		hub: event.NewHub(event.Options{}), log: a.log.With(logkey.Component, "events"),
		registry: func(ctx context.Context) (*fleet.Registry, error) { return a.store.Registry(ctx) },
		snapshot: func(id fleet.DeviceID) *mirror.Snapshot { return a.mirror.Snapshot(id) },
		state:    states{a}.State,
		pending:  func(id fleet.DeviceID) []fleet.Pending { return a.inbox.Of(id) },
		wake:     make(chan struct{}, 1), marks: map[fleet.DeviceID]mark{},
		told: map[fleet.DeviceID]map[string]fleet.FolderSummary{},
	}
}

// mirrored is told what a watcher learnt.
func (n *news) mirrored(id fleet.DeviceID, aspect mirror.Aspect) {
	var m mark
	for of, mark := range map[mirror.Aspect]mark{
		mirror.ConnectionChanged: newStanding, mirror.StatusChanged: newStatus, mirror.FoldersChanged: newFolders,
		mirror.ConfigChanged: newConfig,
	} {
		if aspect&of != 0 {
			m |= mark
		}
	}
	n.mark(id, m)
}

// planned is told that a device's plan, or how its configuration stands, changed.
func (n *news) planned(id fleet.DeviceID) { n.mark(id, newPlan) }

// asked is told that something else asks a device to be let in than before.
func (n *news) asked(id fleet.DeviceID) { n.mark(id, newPending) }

// committed is told that people changed something.
func (n *news) committed() {
	n.mu.Lock()
	n.registered = true
	n.mu.Unlock()
	n.rouse()
}

func (n *news) mark(id fleet.DeviceID, m mark) {
	if m == 0 {
		return
	}
	n.mu.Lock()
	if n.marks[id] == 0 {
		n.order = append(n.order, id)
	}
	n.marks[id] |= m
	n.mu.Unlock()
	n.rouse()
}

func (n *news) rouse() {
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// Run publishes until ctx ends.
func (n *news) Run(ctx context.Context) error {
	var err error
	if n.before, err = n.registry(ctx); err != nil {
		return err
	}
	pause := time.NewTimer(newsPause)
	defer pause.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-n.wake:
		}
		n.round(ctx)
		pause.Reset(newsPause)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-pause.C:
		}
	}
}

// round publishes all that is new. What people did comes first: it is why much of the rest happened.
func (n *news) round(ctx context.Context) {
	n.mu.Lock()
	marks, order, registered := n.marks, n.order, n.registered
	n.marks, n.order, n.registered = map[fleet.DeviceID]mark{}, nil, false
	n.mu.Unlock()
	standing := map[fleet.DeviceID]bool{} // told already
	if registered {
		n.compare(ctx, standing)
	}
	for _, id := range order {
		if n.before.Devices[id] == nil {
			continue // deleted, or so new that its commit has a round of its own
		}
		m := marks[id]
		if standing[id] {
			m &^= newStanding
		}
		n.tell(ctx, id, m)
	}
}

// compare tells of the devices that were put, deleted, or got other tags or settings.
func (n *news) compare(ctx context.Context, standing map[fleet.DeviceID]bool) {
	now, err := n.registry(ctx)
	if err != nil {
		n.log.Warn("the registry is not readable", logkey.Err(err))
		return
	}
	before := n.before
	n.before = now
	for id, was := range before.Devices {
		if now.Devices[id] == nil {
			delete(n.told, id)
			n.publish(event.TypeDevice, id, was.Tags, api.DeviceEvent{Deleted: true})
		}
	}
	for id, is := range now.Devices {
		was := before.Devices[id]
		if was == is || was != nil && was.Device == is.Device && was.Settings == is.Settings &&
			slices.Equal(was.Tags, is.Tags) {
			continue
		}
		tags := is.Tags
		if was != nil { // who follows a tag hears that the device no longer has it
			tags = slices.Compact(slices.Sorted(slices.Values(slices.Concat(was.Tags, is.Tags))))
		}
		standing[id] = true
		n.stand(ctx, event.TypeDevice, id, tags)
	}
}

func (n *news) tell(ctx context.Context, id fleet.DeviceID, m mark) {
	s := n.snapshot(id)
	if s == nil {
		return
	}
	tags := n.before.Devices[id].Tags
	if m&newStanding != 0 {
		n.stand(ctx, event.TypeDevice, id, tags)
	}
	if m&newStatus != 0 {
		n.publish(event.TypeStatus, id, tags, httpapi.StatusEvent(s.Status, s.Version))
	}
	if m&newConfig != 0 {
		n.publish(event.TypeConfig, id, tags, api.ConfigEvent{Digest: s.Digest})
	}
	if m&newFolders != 0 {
		n.folders(s, tags)
	}
	if m&newPlan != 0 {
		n.stand(ctx, event.TypePlan, id, tags)
	}
	if m&newPending != 0 {
		n.publish(event.TypePending, id, tags, countPending(n.pending(id)))
	}
}

func countPending(all []fleet.Pending) (counts api.OverviewOfPending) {
	for _, asks := range all {
		if asks.Folder == "" {
			counts.Devices++
		} else {
			counts.Folders++
		}
	}
	return counts
}

// stand publishes how a device stands now.
func (n *news) stand(ctx context.Context, t event.Type, id fleet.DeviceID, tags []fleet.Tag) {
	if state, err := n.state(ctx, id); err == nil { // an error: it was deleted in between
		n.publish(t, id, tags, httpapi.StateEvent(state))
	}
}

// folders publishes the summaries that say something new. Snapshots share what did not change, so that remembering the
// last one costs nothing.
func (n *news) folders(s *mirror.Snapshot, tags []fleet.Tag) {
	told := n.told[s.Device]
	n.told[s.Device] = s.Summaries
	var fresh []string
	for folder, summary := range s.Summaries {
		if was, known := told[folder]; !known || !sameNumbers(was, summary) {
			fresh = append(fresh, folder)
		}
	}
	slices.Sort(fresh)
	for _, folder := range fresh {
		n.publish(event.TypeFolder, s.Device, tags, httpapi.FolderEvent(s.Summaries[folder]))
	}
}

func sameNumbers(a, b fleet.FolderSummary) bool {
	a.CreatedAt, a.UpdatedAt = b.CreatedAt, b.UpdatedAt
	return a == b
}

func (n *news) publish(t event.Type, id fleet.DeviceID, tags []fleet.Tag, data any) {
	if err := n.hub.PublishTagged(t, id, tags, data); err != nil {
		n.log.Warn("event not published", logkey.Device, id, logkey.Err(err))
	}
}
