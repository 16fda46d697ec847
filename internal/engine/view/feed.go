package view

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

// rowPause is the shortest time between two inventory events of one device.
const rowPause = time.Second

// feedPause is the shortest time between two rounds of the feed. All changes of a device in between become one event
// of each type. The first event after a pause is published at once.
const feedPause = 50 * time.Millisecond

// Feed publishes what the engines observe and do. Its callers only mark a device. The feed publishes the state that
// the device has when its turn comes, so that a burst costs little and the last event is true.
type Feed struct {
	FeedOptions
	log  *slog.Logger
	wake chan struct{} // Its capacity is 1.

	mu         sync.Mutex // guards what follows
	marks      map[fleet.DeviceID]fleet.Aspect
	order      []fleet.DeviceID // marked devices, in the order in which they were marked
	registered bool             // the registry may have changed

	// Only the goroutine of Run uses these fields.
	before    *fleet.Registry
	published map[fleet.DeviceID]map[string]fleet.FolderSummary
	touched   map[fleet.DeviceID]bool // devices whose row may differ from the last published one
	rows      map[fleet.DeviceID]publishedRow
	logged    map[fleet.DeviceID]compared // The event log was told this last.
}

// publishedRow is the last row of a device that was published.
type publishedRow struct {
	row *Row
	at  time.Time
}

// FeedOptions are the sources and the outlet of a Feed.
type FeedOptions struct {
	Registry func(context.Context) (*fleet.Registry, error)
	Snapshot func(fleet.DeviceID) *fleet.Snapshot // nil: not watched
	State    func(context.Context, fleet.DeviceID) (fleet.State, error)
	// View has the rows; nil: no rows are published.
	View   *View
	Outlet Outlet
	// EventLog compares states with those before; nil: no states are logged.
	EventLog EventLog
	// FolderStanding returns the state of a folder with its reason. It is required with EventLog.
	FolderStanding func(context.Context, *fleet.Snapshot, string) fleet.FolderStanding
	Log            *slog.Logger
}

// Outlet encodes events in the words of the API and sends them to subscribers. tags are the present and the former
// tags of the device.
type Outlet interface {
	// Device publishes a new state; nil: the device was deleted.
	Device(id fleet.DeviceID, tags []fleet.Tag, state *fleet.State)
	Plan(id fleet.DeviceID, tags []fleet.Tag, state fleet.State)
	Status(id fleet.DeviceID, tags []fleet.Tag, status *fleet.Status, version *fleet.Version)
	Config(id fleet.DeviceID, tags []fleet.Tag, digest string)
	Folder(id fleet.DeviceID, tags []fleet.Tag, summary fleet.FolderSummary)
	Pending(id fleet.DeviceID, tags []fleet.Tag, devices, folders int)
	Template(id int64, label string, deleted bool)
	Row(row *Row)
}

// EventLog writes an entry for each state that differs from the one before; see event.Log.
type EventLog interface {
	Record(device *fleet.Registered, all []fleet.LogStanding)
	Deleted(id fleet.DeviceID)
}

// NewFeed makes a feed that publishes nothing before Run is called.
func NewFeed(o FeedOptions) *Feed {
	return &Feed{
		FeedOptions: o, log: o.Log.With(logkey.Component, "events"),
		wake: make(chan struct{}, 1), marks: map[fleet.DeviceID]fleet.Aspect{},
		published: map[fleet.DeviceID]map[string]fleet.FolderSummary{},
		touched:   map[fleet.DeviceID]bool{}, rows: map[fleet.DeviceID]publishedRow{},
		logged: map[fleet.DeviceID]compared{},
	}
}

// DeviceChanged marks a device that has changed.
func (f *Feed) DeviceChanged(id fleet.DeviceID, aspect fleet.Aspect) {
	if aspect != 0 {
		f.mark(id, aspect)
	}
}

// RowChanged marks a device whose row may show something else although nothing was read: trouble begins by time alone.
func (f *Feed) RowChanged(id fleet.DeviceID) { f.mark(id, 0) }

func (f *Feed) mark(id fleet.DeviceID, aspect fleet.Aspect) {
	f.mu.Lock()
	if _, marked := f.marks[id]; !marked {
		f.order = append(f.order, id)
	}
	f.marks[id] |= aspect
	f.mu.Unlock()
	f.rouse()
}

// RegistryChanged records that devices, their tags or settings may have changed.
func (f *Feed) RegistryChanged() {
	f.mu.Lock()
	f.registered = true
	f.mu.Unlock()
	f.rouse()
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

// round publishes everything new. It begins with what people did, because that causes many of the other changes.
func (f *Feed) round(ctx context.Context) {
	f.mu.Lock()
	marks, order, registered := f.marks, f.order, f.registered
	f.marks, f.order, f.registered = map[fleet.DeviceID]fleet.Aspect{}, nil, false
	f.mu.Unlock()
	published := map[fleet.DeviceID]bool{} // Devices of which the state was published.
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

// publishRows publishes the rows that have changed. A row that was published less than rowPause ago is published in a
// later round.
func (f *Feed) publishRows(ctx context.Context) {
	if f.View == nil {
		clear(f.touched)
	}
	now := time.Now()
	for id := range f.touched {
		sent := f.rows[id]
		if now.Sub(sent.at) < rowPause {
			continue
		}
		delete(f.touched, id)
		row, err := f.View.Row(ctx, f.before, id)
		switch {
		case err != nil:
			f.log.Warn("row not published", logkey.Device, id, logkey.Err(err))
		case row == nil: // deleted: another event says so
			delete(f.rows, id)
			delete(f.logged, id)
		case !row.ShowsAs(sent.row):
			f.rows[id] = publishedRow{row, now}
			f.Outlet.Row(row)
			f.keepLog(ctx, row)
		case f.isUnlogged(id): // no row shows that
			f.rows[id] = publishedRow{row, now}
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
			f.Outlet.Template(t.ID, t.Label, false)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(known)) {
		f.Outlet.Template(id, known[id].Label, true)
	}
}

// compare publishes the devices that were put or deleted, or whose tags or settings changed.
func (f *Feed) compare(ctx context.Context, published map[fleet.DeviceID]bool) {
	now, err := f.Registry(ctx)
	if err != nil {
		f.log.Warn("the registry is not readable", logkey.Err(err))
		return
	}
	before := f.before
	f.before = now
	f.compareTemplates(before, now)
	if ModesDiffer(before, now) { // the mode is in the rows
		for id := range now.Devices {
			f.touched[id] = true
		}
	}
	for id, was := range before.Devices {
		if now.Devices[id] == nil {
			delete(f.published, id)
			delete(f.rows, id)
			delete(f.logged, id)
			if f.EventLog != nil {
				f.EventLog.Deleted(id)
			}
			f.Outlet.Device(id, was.Tags, nil)
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
		f.publishState(ctx, id, tags)
	}
}

func (f *Feed) publishDevice(ctx context.Context, id fleet.DeviceID, m fleet.Aspect) {
	s := f.Snapshot(id)
	if s == nil {
		return
	}
	tags := f.before.Devices[id].Tags
	if m&fleet.ConnectionChanged != 0 {
		f.publishState(ctx, id, tags)
	}
	if m&fleet.StatusChanged != 0 {
		f.Outlet.Status(id, tags, s.Status, s.Version)
	}
	if m&fleet.ConfigChanged != 0 {
		f.Outlet.Config(id, tags, s.Digest)
	}
	if m&fleet.FoldersChanged != 0 {
		f.publishFolders(s, tags)
	}
	if m&fleet.PlanChanged != 0 {
		if state, err := f.State(ctx, id); err == nil { // an error: it was deleted in between
			f.Outlet.Plan(id, tags, state)
		}
	}
	if m&fleet.PendingChanged != 0 {
		devices, folders := countPending(s.Pending)
		f.Outlet.Pending(id, tags, devices, folders)
	}
}

func countPending(all []fleet.Pending) (devices, folders int) {
	for _, asks := range all {
		if asks.Folder == "" {
			devices++
		} else {
			folders++
		}
	}
	return devices, folders
}

// publishState publishes the present state of a device.
func (f *Feed) publishState(ctx context.Context, id fleet.DeviceID, tags []fleet.Tag) {
	if state, err := f.State(ctx, id); err == nil { // an error: it was deleted in between
		f.Outlet.Device(id, tags, &state)
	}
}

// publishFolders publishes the summaries whose numbers changed. Snapshots share unchanged parts, so remembering the
// last snapshot costs no memory.
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
		f.Outlet.Folder(s.Device, tags, s.Summaries[folder])
	}
}

func sameNumbers(a, b fleet.FolderSummary) bool {
	a.CreatedAt, a.UpdatedAt = b.CreatedAt, b.UpdatedAt
	return a == b
}
