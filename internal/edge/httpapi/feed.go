package httpapi

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"muster/api"
	"muster/internal/engine/event"
	"muster/internal/engine/view"
	"muster/internal/fleet"
	"muster/internal/logkey"
)

// rowPause is the least time between two inventory events of one device.
const rowPause = time.Second

// feedPause is the least time between two rounds of the feed: what happens to a device in between is one event of each
// type. The first event of a burst waits for nothing.
const feedPause = 50 * time.Millisecond

// Feed publishes what the engines observe and do, as events in the words of the API. Its callers only mark a device.
// What is published is how the device stands when its turn comes, so that a burst costs little and the last event is
// true.
type Feed struct {
	FeedOptions
	Hub  *event.Hub
	log  *slog.Logger
	wake chan struct{} // of capacity 1

	mu         sync.Mutex // guards what follows
	marks      map[fleet.DeviceID]fleet.Aspect
	order      []fleet.DeviceID // marked devices, in the order in which they were marked
	registered bool             // the registry may have changed

	// Only the goroutine of Run uses these fields.
	before    *fleet.Registry
	published map[fleet.DeviceID]map[string]fleet.FolderSummary
	touched   map[fleet.DeviceID]bool // devices whose row may differ from the last published one
	rows      map[fleet.DeviceID]publishedRow
}

// publishedRow is the last row of a device that was published.
type publishedRow struct {
	row *view.Row
	at  time.Time
}

// FeedOptions say where a Feed reads.
type FeedOptions struct {
	Registry func(context.Context) (*fleet.Registry, error)
	Snapshot func(fleet.DeviceID) *fleet.Snapshot // nil: not watched
	State    func(context.Context, fleet.DeviceID) (fleet.State, error)
	// Inventory has the rows; nil: none are published.
	Inventory Inventory
	// EventLog is told how the rows stand, and has the hub; nil: nothing is kept.
	EventLog *event.Log
	// FolderStanding is how a folder stands; set with EventLog.
	FolderStanding func(context.Context, *fleet.Snapshot, string) fleet.FolderStanding
	Log            *slog.Logger
}

// NewFeed makes a feed that publishes nothing before Run.
func NewFeed(o FeedOptions) *Feed {
	hub := event.NewHub(event.Options{})
	if o.EventLog != nil {
		hub = o.EventLog.Hub
	}
	return &Feed{
		FeedOptions: o, Hub: hub, log: o.Log.With(logkey.Component, "events"),
		wake: make(chan struct{}, 1), marks: map[fleet.DeviceID]fleet.Aspect{},
		published: map[fleet.DeviceID]map[string]fleet.FolderSummary{},
		touched:   map[fleet.DeviceID]bool{}, rows: map[fleet.DeviceID]publishedRow{},
	}
}

// DeviceChanged marks a device of which something changed.
func (f *Feed) DeviceChanged(id fleet.DeviceID, aspect fleet.Aspect) {
	if aspect == 0 {
		return
	}
	f.mu.Lock()
	if f.marks[id] == 0 {
		f.order = append(f.order, id)
	}
	f.marks[id] |= aspect
	f.mu.Unlock()
	f.rouse()
}

// RegistryChanged says that devices, their tags or settings may have changed.
func (f *Feed) RegistryChanged() {
	f.mu.Lock()
	f.registered = true
	f.mu.Unlock()
	f.rouse()
}

// RolloutChanged publishes how a rollout stands. names is the registry that has the devices' labels; it may be nil.
func (f *Feed) RolloutChanged(r fleet.Rollout, names *fleet.Registry) {
	f.publish(event.TypeRollout, "", nil, wireRollout(r, names))
}

// AgentNews publishes what became of the connection of an agent. The device may not be registered.
func (f *Feed) AgentNews(id fleet.DeviceID, tags []fleet.Tag, news api.AgentEvent) {
	f.publish(event.TypeAgent, id, tags, news)
}

func (f *Feed) rouse() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// Run publishes until ctx ends.
func (f *Feed) Run(ctx context.Context) error {
	var err error
	if f.before, err = f.Registry(ctx); err != nil {
		return err
	}
	pause := time.NewTimer(feedPause)
	defer pause.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-f.wake:
		}
		f.round(ctx)
		pause.Reset(feedPause)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-pause.C:
		}
	}
}

// round publishes all that is new. What people did comes first: it is why much of the rest happened.
func (f *Feed) round(ctx context.Context) {
	f.mu.Lock()
	marks, order, registered := f.marks, f.order, f.registered
	f.marks, f.order, f.registered = map[fleet.DeviceID]fleet.Aspect{}, nil, false
	f.mu.Unlock()
	published := map[fleet.DeviceID]bool{} // with their state
	if registered {
		f.compare(ctx, published)
	}
	for _, id := range order {
		if f.before.Devices[id] == nil {
			continue // deleted, or so new that its commit has a round of its own
		}
		m := marks[id]
		if published[id] {
			m &^= fleet.ConnectionChanged
		}
		f.publishDevice(ctx, id, m)
		f.touched[id] = true
	}
	f.publishRows(ctx)
}

// publishRows publishes the rows that became others. A row that was published a moment ago waits for its turn.
func (f *Feed) publishRows(ctx context.Context) {
	if f.Inventory == nil {
		clear(f.touched)
	}
	now := time.Now()
	for id := range f.touched {
		sent := f.rows[id]
		if now.Sub(sent.at) < rowPause {
			continue
		}
		delete(f.touched, id)
		row, err := f.Inventory.Row(ctx, f.before, id)
		switch {
		case err != nil:
			f.log.Warn("row not published", logkey.Device, id, logkey.Err(err))
		case row == nil: // deleted: another event says so
			delete(f.rows, id)
		case !row.ShowsAs(sent.row):
			f.rows[id] = publishedRow{row, now}
			f.publish(event.TypeInventory, id, row.Device.Tags, api.InventoryEvent{Row: wireRow(row)})
			f.keepLog(ctx, row)
		}
	}
	if len(f.touched) > 0 {
		f.rouse()
	}
}

// compareTemplates publishes the templates that were created, replaced, tagged or deleted.
func (f *Feed) compareTemplates(before, now *fleet.Registry) {
	known := make(map[int64]fleet.TaggedTemplate, len(before.Templates))
	for _, t := range before.Templates {
		known[t.ID] = t
	}
	for _, t := range now.Templates {
		was, there := known[t.ID]
		delete(known, t.ID)
		if !there || was.Template != t.Template || !slices.Equal(was.Tags, t.Tags) {
			f.publish(event.TypeTemplate, "", nil, api.TemplateEvent{ID: t.ID, Label: t.Label})
		}
	}
	for _, id := range slices.Sorted(maps.Keys(known)) {
		f.publish(event.TypeTemplate, "", nil, api.TemplateEvent{ID: id, Label: known[id].Label, Deleted: true})
	}
}

// compare publishes the devices that were put, deleted, or got other tags or settings.
func (f *Feed) compare(ctx context.Context, published map[fleet.DeviceID]bool) {
	now, err := f.Registry(ctx)
	if err != nil {
		f.log.Warn("the registry is not readable", logkey.Err(err))
		return
	}
	before := f.before
	f.before = now
	f.compareTemplates(before, now)
	if view.ModesDiffer(before, now) { // the mode is in the rows
		for id := range now.Devices {
			f.touched[id] = true
		}
	}
	for id, was := range before.Devices {
		if now.Devices[id] == nil {
			delete(f.published, id)
			if f.EventLog != nil {
				f.EventLog.Deleted(id)
			}
			f.publish(event.TypeDevice, id, was.Tags, api.DeviceEvent{Deleted: true})
		}
	}
	for id, is := range now.Devices {
		was := before.Devices[id]
		if was == is || was != nil && was.Device == is.Device && was.Settings == is.Settings &&
			slices.Equal(was.Tags, is.Tags) {
			continue
		}
		tags := is.Tags
		if was != nil { // those who follow a tag learn that the device no longer has it
			tags = slices.Compact(slices.Sorted(slices.Values(slices.Concat(was.Tags, is.Tags))))
		}
		published[id] = true
		f.touched[id] = true
		f.publishState(ctx, event.TypeDevice, id, tags)
	}
}

func (f *Feed) publishDevice(ctx context.Context, id fleet.DeviceID, m fleet.Aspect) {
	s := f.Snapshot(id)
	if s == nil {
		return
	}
	tags := f.before.Devices[id].Tags
	if m&fleet.ConnectionChanged != 0 {
		f.publishState(ctx, event.TypeDevice, id, tags)
	}
	if m&fleet.StatusChanged != 0 {
		f.publish(event.TypeStatus, id, tags, statusEvent(s.Status, s.Version))
	}
	if m&fleet.ConfigChanged != 0 {
		f.publish(event.TypeConfig, id, tags, api.ConfigEvent{Digest: s.Digest})
	}
	if m&fleet.FoldersChanged != 0 {
		f.publishFolders(s, tags)
	}
	if m&fleet.PlanChanged != 0 {
		f.publishState(ctx, event.TypePlan, id, tags)
	}
	if m&fleet.PendingChanged != 0 {
		f.publish(event.TypePending, id, tags, countPending(s.Pending))
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

// publishState publishes how a device stands now.
func (f *Feed) publishState(ctx context.Context, t event.Type, id fleet.DeviceID, tags []fleet.Tag) {
	if state, err := f.State(ctx, id); err == nil { // an error: it was deleted in between
		f.publish(t, id, tags, stateEvent(state))
	}
}

// publishFolders publishes the summaries with new numbers. Snapshots share what did not change, so that remembering the
// last one costs nothing.
func (f *Feed) publishFolders(s *fleet.Snapshot, tags []fleet.Tag) {
	before := f.published[s.Device]
	f.published[s.Device] = s.Summaries
	var fresh []string
	for folder, summary := range s.Summaries {
		if was, known := before[folder]; !known || !sameNumbers(was, summary) {
			fresh = append(fresh, folder)
		}
	}
	slices.Sort(fresh)
	for _, folder := range fresh {
		f.publish(event.TypeFolder, s.Device, tags, folderEvent(s.Summaries[folder]))
	}
}

func sameNumbers(a, b fleet.FolderSummary) bool {
	a.CreatedAt, a.UpdatedAt = b.CreatedAt, b.UpdatedAt
	return a == b
}

func (f *Feed) publish(t event.Type, id fleet.DeviceID, tags []fleet.Tag, data any) {
	if err := f.Hub.PublishTagged(t, id, tags, data); err != nil {
		f.log.Warn("event not published", logkey.Device, id, logkey.Err(err))
	}
}
