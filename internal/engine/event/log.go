package event

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

const (
	// DefaultKeep is how long an entry is kept.
	DefaultKeep = 7 * 24 * time.Hour

	maxLogged    = 1_000_000 // entries of all devices together; each device has the same share
	leastShare   = 100       // entries of a device, however many devices there are
	mostShare    = 5000      // entries of a device, however few devices there are
	logGather    = 250 * time.Millisecond
	logRetry     = 5 * time.Second
	logBatch     = 500 // entries in one write
	maxUnwritten = 20_000
	pruneEvery   = time.Hour
	pruneBatch   = 500
	prunePause   = 20 * time.Millisecond
	lastLogWrite = 5 * time.Second
)

// LogStore keeps entries.
type LogStore interface {
	PutLogEntries(ctx context.Context, entries []fleet.LogEntry) error
	LogEntries(ctx context.Context, q fleet.LogQuery) ([]fleet.LogEntry, error)
	LogBounds(ctx context.Context) (first, last int64, err error)
	LogCounts(ctx context.Context) (map[fleet.DeviceID]int, error)
	LastLogged(ctx context.Context) ([]fleet.LogEntry, error)
	ForgetLogEntries(ctx context.Context, device fleet.DeviceID, many int) (int64, error)
	ForgetOldLogEntries(ctx context.Context, before time.Time, many int) ([]fleet.DeviceID, error)
}

// LogOptions say what a log needs.
type LogOptions struct {
	Store LogStore
	Keep  func() time.Duration // how long an entry is kept, asked each time; nil: DefaultKeep
	// Registry is the newest one, nil where it cannot be read.
	Registry func() *fleet.Registry
	// CauseOf is the cause of a revision, as it is known now.
	CauseOf func(ctx context.Context, id fleet.DeviceID, revision int64) string
	Log     *slog.Logger
	Share   int // entries of each device; 0: an equal share of maxLogged
	// StartGrace is how long after the start the log does not record that daemons and agents cannot be reached yet.
	StartGrace time.Duration
}

// Log is the kept part of what happens: a line for each change of state, of the configuration, for each order. It is
// told how devices stand and finds what changed. Entries are numbered as events of the hub, and written behind.
type Log struct {
	LogOptions
	Hub  *Hub
	log  *slog.Logger
	wake chan struct{} // its capacity is 1

	mu     sync.Mutex // guards what follows
	queue  []fleet.LogEntry
	stands map[fleet.DeviceID]map[subject]string // states that are not quiet
	held   map[fleet.DeviceID]heldStanding       // connections that are not there yet after the start; nil once it counts

	writing   sync.Mutex // held while entries are written or forgotten; guards what follows
	unwritten []fleet.LogEntry
	counts    map[fleet.DeviceID]int
	failing   bool
}

// subject is what of a device stands in a state.
type subject struct {
	kind   fleet.LogKind
	folder string
}

// heldStanding is a connection that does not count yet.
type heldStanding struct {
	device *fleet.Registered
	fleet.LogStanding
}

// OpenLog reads how everything stood when the log was last written, and makes the hub of its events.
func OpenLog(ctx context.Context, o LogOptions) (*Log, error) {
	if o.Keep == nil {
		o.Keep = func() time.Duration { return DefaultKeep }
	}
	l := &Log{LogOptions: o, log: o.Log.With(logkey.Component, "event log"), wake: make(chan struct{}, 1),
		stands: map[fleet.DeviceID]map[subject]string{}}
	if o.StartGrace > 0 {
		l.held = map[fleet.DeviceID]heldStanding{}
	}
	_, last, err := o.Store.LogBounds(ctx)
	if err != nil {
		return nil, err
	}
	l.Hub = NewHub(Options{Log: l, First: last + 1})
	if l.counts, err = o.Store.LogCounts(ctx); err != nil {
		return nil, err
	}
	latest, err := o.Store.LastLogged(ctx)
	for _, e := range latest {
		if !e.Kind.Quiet(e.State) {
			l.set(e.Device, subject{e.Kind, e.Folder}, e.State)
		}
	}
	return l, err
}

// set notes how a subject stands. The caller holds mu, or is alone.
func (l *Log) set(id fleet.DeviceID, of subject, state string) {
	if l.stands[id] == nil {
		l.stands[id] = map[subject]string{}
	}
	l.stands[id][of] = state
}

// Add queues entries. They get their numbers when they are written.
func (l *Log) Add(entries ...fleet.LogEntry) {
	if len(entries) == 0 {
		return
	}
	l.mu.Lock()
	l.queue = append(l.queue, entries...)
	l.mu.Unlock()
	signal(l.wake)
}

// Record is told how all of a device stands, and adds an entry for each subject that stands differently. A subject that
// no entry is about yet stood in its quiet state. A folder that is not named any more is forgotten.
func (l *Log) Record(device *fleet.Registered, all []fleet.LogStanding) {
	l.Add(l.changes(device, all)...)
}

func (l *Log) changes(device *fleet.Registered, all []fleet.LogStanding) (entries []fleet.LogEntry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	stood := l.stands[device.ID]
	named := map[subject]bool{}
	for _, is := range all {
		of := subject{is.Kind, is.Folder}
		named[of] = true
		before := stood[of]
		quiet := is.Kind.Quiet(is.State)
		if is.Kind == fleet.LogConnection && l.held != nil && is.State != "" {
			delete(l.held, device.ID)
			if !quiet {
				l.held[device.ID] = heldStanding{device, is}
				continue
			}
		}
		if is.State == "" || is.State == before || quiet && before == "" {
			continue
		}
		if quiet {
			delete(stood, of)
		} else {
			l.set(device.ID, of, is.State)
		}
		entries = append(entries, entryOf(device, is, before))
	}
	stood = l.stands[device.ID]
	maps.DeleteFunc(stood, func(of subject, _ string) bool { return of.folder != "" && !named[of] })
	if len(stood) == 0 {
		delete(l.stands, device.ID)
	}
	return entries
}

func entryOf(device *fleet.Registered, is fleet.LogStanding, before string) fleet.LogEntry {
	return fleet.LogEntry{At: now(), Device: device.ID, Label: device.Label, Folder: is.Folder, Kind: is.Kind,
		State: is.State, Before: before, Reason: is.Reason}
}

// endStartGrace records the connections that are still missing when StartGrace is over.
func (l *Log) endStartGrace() {
	l.mu.Lock()
	held := l.held
	l.held = nil
	var entries []fleet.LogEntry
	for id, is := range held {
		of := subject{kind: is.Kind}
		if before := l.stands[id][of]; before != is.State {
			l.set(id, of, is.State)
			entries = append(entries, entryOf(is.device, is.LogStanding, before))
		}
	}
	l.mu.Unlock()
	l.Add(entries...)
}

// Deleted forgets how a device stood. Its entries stay until they are old.
func (l *Log) Deleted(id fleet.DeviceID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.stands, id)
	delete(l.held, id)
}

// now is as exact as the database keeps it.
func now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }

// Run writes entries behind, and forgets old ones, until ctx ends. Then it writes what is left.
func (l *Log) Run(ctx context.Context) error {
	prune, graceOver := time.NewTimer(0), time.NewTimer(l.StartGrace)
	defer prune.Stop()
	defer graceOver.Stop()
	for {
		pause := logGather
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastLogWrite)
			defer cancel()
			l.Flush(last)
			return ctx.Err()
		case <-graceOver.C:
			l.endStartGrace()
			continue
		case <-prune.C:
			l.forgetOld(ctx)
			prune.Reset(pruneEvery)
			continue
		case <-l.wake:
		}
		if !l.Flush(ctx) {
			pause = logRetry
			signal(l.wake)
		}
		wait := time.NewTimer(pause) // Entries that come meanwhile are written together.
		select {
		case <-ctx.Done():
		case <-wait.C:
		}
		wait.Stop()
	}
}

func signal(wake chan struct{}) {
	select {
	case wake <- struct{}{}:
	default:
	}
}

// Flush publishes and writes what is queued, and tells whether all of it is kept.
func (l *Log) Flush(ctx context.Context) bool {
	l.writing.Lock()
	defer l.writing.Unlock()
	l.mu.Lock()
	fresh := l.queue
	l.queue = nil
	l.mu.Unlock()
	l.publish(ctx, fresh)
	l.unwritten = append(l.unwritten, fresh...)
	if many := len(l.unwritten) - maxUnwritten; many > 0 {
		l.log.Warn("events are lost: the database does not take them", logkey.Count, many)
		l.unwritten = slices.Delete(l.unwritten, 0, many)
	}
	for len(l.unwritten) > 0 {
		batch := l.unwritten[:min(logBatch, len(l.unwritten))]
		if err := l.write(ctx, batch); err != nil {
			if !l.failing {
				l.log.Warn("events are not kept yet", logkey.Err(err))
			}
			l.failing = true
			return false
		}
		l.failing = false
		l.unwritten = l.unwritten[len(batch):]
	}
	l.unwritten = nil
	return true
}

// publish numbers entries by the events that tell of them.
func (l *Log) publish(ctx context.Context, entries []fleet.LogEntry) {
	if len(entries) == 0 {
		return
	}
	registry := l.Registry()
	for i := range entries {
		e := &entries[i]
		if e.Kind == fleet.LogRevision && l.CauseOf != nil {
			e.Cause = l.CauseOf(ctx, e.Device, e.Revision)
		}
		of, err := eventOf(*e, registry)
		if err != nil { // texts and numbers: cannot fail
			l.log.Error("event not published", logkey.Err(err))
			continue
		}
		e.Number = l.Hub.publish(of)
	}
}

// eventOf is the event of an entry. Its ID is the entry's number.
func eventOf(e fleet.LogEntry, registry *fleet.Registry) (*Event, error) {
	data, err := json.Marshal(e)
	of := &Event{ID: e.Number, Type: TypeLog, Device: e.Device, Time: e.At, Data: data}
	if registry != nil && registry.Devices[e.Device] != nil {
		of.Tags = registry.Devices[e.Device].Tags
	}
	return of, err
}

// write keeps entries, and forgets the oldest of devices that have more than their share. The caller holds writing.
func (l *Log) write(ctx context.Context, batch []fleet.LogEntry) error {
	if err := l.Store.PutLogEntries(ctx, batch); err != nil {
		return err
	}
	share := l.share()
	written := map[fleet.DeviceID]bool{}
	for _, e := range batch {
		l.counts[e.Device]++
		written[e.Device] = true
	}
	for id := range written {
		if l.counts[id] <= share+share/10 { // some at a time, so that it costs little
			continue
		}
		gone, err := l.Store.ForgetLogEntries(ctx, id, l.counts[id]-share)
		if err != nil {
			l.log.Warn("old events are not forgotten yet", logkey.Device, id, logkey.Err(err))
			continue
		}
		l.counts[id] -= int(gone)
	}
	return nil
}

// share is how many entries each device may have.
func (l *Log) share() int {
	if l.Share > 0 {
		return l.Share
	}
	devices := 1
	if registry := l.Registry(); registry != nil {
		devices = max(1, len(registry.Devices))
	}
	return min(max(maxLogged/devices, leastShare), mostShare)
}

// forgetOld forgets entries that are too old, a few in each write: others write in between.
func (l *Log) forgetOld(ctx context.Context) {
	for {
		gone, err := l.forgetSome(ctx)
		if err != nil && ctx.Err() == nil {
			l.log.Warn("old events are not forgotten yet", logkey.Err(err))
		}
		if err != nil || gone < pruneBatch {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(prunePause):
		}
	}
}

func (l *Log) forgetSome(ctx context.Context) (int, error) {
	l.writing.Lock()
	defer l.writing.Unlock()
	gone, err := l.Store.ForgetOldLogEntries(ctx, time.Now().Add(-l.Keep()), pruneBatch)
	for _, id := range gone {
		if l.counts[id]--; l.counts[id] <= 0 {
			delete(l.counts, id)
		}
	}
	return len(gone), err
}

// Entries are those that a query picks, what is not written yet among them.
func (l *Log) Entries(ctx context.Context, q fleet.LogQuery) ([]fleet.LogEntry, error) {
	l.Flush(ctx)
	return l.Store.LogEntries(ctx, q)
}

// replay returns the next events that a filter picks, of those between two IDs.
func (l *Log) replay(ctx context.Context, f Filter, after, before int64) ([]*Event, error) {
	entries, err := l.Entries(ctx, fleet.LogQuery{Devices: f.Devices, Tags: f.Tags, After: after, Before: before,
		Oldest: true, Limit: maxBatchEvents})
	if err != nil {
		return nil, err
	}
	registry := l.Registry()
	events := make([]*Event, len(entries))
	for i, e := range entries {
		if events[i], err = eventOf(e, registry); err != nil {
			return nil, err
		}
	}
	return events, nil
}

// reaches reports whether nothing after an ID was forgotten because of its age.
func (l *Log) reaches(ctx context.Context, after int64) (bool, error) {
	first, _, err := l.Store.LogBounds(ctx)
	return first > 0 && first <= after, err
}
