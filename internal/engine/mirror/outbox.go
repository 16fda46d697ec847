package mirror

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

const (
	gatherFor     = 200 * time.Millisecond // how long observations wait for others
	urgentFor     = 40 * time.Millisecond  // how long configurations wait: writing one costs as much as writing twenty
	fewConfigs    = 8                      // after a write of so many, gatherFor counts: more are coming
	groupSize     = 500                    // observations in one call of the sink
	maxWaiting    = 16 << 20               // bytes that wait before watchers have to
	summaryBytes  = 256
	lastWrite     = 5 * time.Second // the time limit of the write at the end of run
	firstRetry    = time.Second
	lastRetry     = 30 * time.Second
	maxProbes     = 3 // observations tried one by one before the sink itself is blamed
	maxFailures   = 3 // failed writes after which an observation is dropped, when the sink accepts others
	manyDevices   = groupSize
	noConfigBytes = 512
)

// outbox writes observations to the sink in the background. While observations of one device wait, they are merged;
// those of many devices are written in groups. Configurations wait only for urgentFor and are never merged with each
// other, because each is a revision. The outbox is full when more than maxWaiting bytes wait: then watchers wait in
// room.
type outbox struct {
	sink     Sink
	log      *slog.Logger
	announce func(fleet.DeviceID, fleet.ObservedConfig)
	onStored func(fleet.Observation) // called after the sink has stored an observation; may be nil

	some chan struct{} // signals that an observation waits
	soon chan struct{} // signals that a configuration waits, which should not wait long
	now  chan struct{} // signals that manyDevices observations wait: they are written at once

	mu      sync.Mutex // guards what follows
	waiting map[fleet.DeviceID][]waiting
	bytes   int
	drained chan struct{}           // closed, and replaced, when bytes fell
	dropped map[fleet.DeviceID]bool // devices that were removed while their observations are being written
}

type waiting struct {
	fleet.Observation
	tell   bool // calls announce after the sink has stored the observation
	failed int  // how often the sink refused this observation and stored others
}

func (w waiting) size() int {
	n := noConfigBytes + len(w.Summaries)*summaryBytes
	if w.Config != nil {
		n += len(w.Config.JSON)
	}
	return n
}

func newOutbox(sink Sink, log *slog.Logger, announce func(fleet.DeviceID, fleet.ObservedConfig)) *outbox {
	return &outbox{
		sink: sink, log: log, announce: announce,
		some: make(chan struct{}, 1), soon: make(chan struct{}, 1), now: make(chan struct{}, 1),
		waiting: map[fleet.DeviceID][]waiting{}, drained: make(chan struct{}), dropped: map[fleet.DeviceID]bool{},
	}
}

// add queues an observation. It never waits. If tell is true, announce is called after the sink has stored the
// observation's configuration.
func (b *outbox) add(o fleet.Observation, tell bool) {
	b.mu.Lock()
	b.put(waiting{Observation: o, tell: tell})
	manyWait := len(b.waiting) >= manyDevices
	b.mu.Unlock()
	signal(b.some)
	if o.Config != nil {
		signal(b.soon)
	}
	if manyWait {
		signal(b.now)
	}
}

// put appends an observation to the device's queue, or merges it into the last one if at most one of the two has a
// configuration. The caller holds mu.
func (b *outbox) put(w waiting) {
	queue := b.waiting[w.Device]
	if n := len(queue); n > 0 && (queue[n-1].Config == nil || w.Config == nil) {
		last := queue[n-1]
		b.bytes -= last.size()
		w = waiting{merge(last.Observation, w.Observation), last.tell || w.tell, max(last.failed, w.failed)}
		queue = queue[:n-1]
	}
	b.waiting[w.Device] = append(queue, w)
	b.bytes += w.size()
}

// merge returns one observation in which the values of later win. At most one of the two has a configuration.
func merge(earlier, later fleet.Observation) fleet.Observation {
	merged := earlier
	if later.Status != nil {
		merged.Status = later.Status
	}
	if later.Version != nil {
		merged.Version = later.Version
	}
	if later.Proven != nil {
		merged.Proven, merged.FirstUse = later.Proven, later.FirstUse
	}
	if later.Config != nil {
		merged.Config = later.Config
		earlier.Summaries = inConfig(earlier.Summaries, later.Config.Folders)
	}
	merged.FoundBy = cmp.Or(later.FoundBy, earlier.FoundBy)
	if later.LastSeen.After(merged.LastSeen) {
		merged.LastSeen = later.LastSeen
	}
	merged.Summaries = mergeSummaries(earlier.Summaries, later.Summaries)
	return merged
}

// inConfig returns those summaries whose folders are among these, the folders of a later configuration.
func inConfig(summaries []fleet.FolderSummary, folders []fleet.FolderLabel) []fleet.FolderSummary {
	var kept []fleet.FolderSummary
	for _, s := range summaries {
		if slices.ContainsFunc(folders, func(f fleet.FolderLabel) bool { return f.Folder == s.Folder }) {
			kept = append(kept, s)
		}
	}
	return kept
}

func mergeSummaries(earlier, later []fleet.FolderSummary) []fleet.FolderSummary {
	if len(earlier) == 0 || len(later) == 0 {
		return append(earlier, later...)
	}
	replaced := make(map[string]bool, len(later))
	for _, s := range later {
		replaced[s.Folder] = true
	}
	merged := make([]fleet.FolderSummary, 0, len(earlier)+len(later))
	for _, s := range earlier {
		if !replaced[s.Folder] {
			merged = append(merged, s)
		}
	}
	return append(merged, later...)
}

// forget discards the waiting observations of a device that was removed.
func (b *outbox) forget(id fleet.DeviceID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, w := range b.waiting[id] {
		b.bytes -= w.size()
	}
	delete(b.waiting, id)
	b.dropped[id] = true
}

// full reports whether more than maxWaiting bytes wait.
func (b *outbox) full() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.bytes > maxWaiting
}

// room waits until the outbox is not full. It returns the error of ctx if ctx ends first.
func (b *outbox) room(ctx context.Context) error {
	for {
		b.mu.Lock()
		full, drained := b.bytes > maxWaiting, b.drained
		b.mu.Unlock()
		if !full {
			return nil
		}
		select {
		case <-drained:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// run writes until ctx ends. Then it writes what is left, for lastWrite at most.
func (b *outbox) run(ctx context.Context) {
	retry, configs := time.Duration(0), 0
	for {
		select {
		case <-b.some:
			b.awaitMoreEvents(ctx, retry, configs >= fewConfigs)
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWrite)
			defer cancel()
			if _, err := b.flush(last); err != nil {
				b.log.Error("observations lost at the end", logkey.Err(err))
			}
			return
		}
		var err error
		configs, err = b.flush(ctx)
		switch {
		case err != nil && retry == 0:
			b.log.Error("observations not kept; they wait", logkey.Err(err))
			fallthrough
		case err != nil:
			retry = min(max(2*retry, firstRetry), lastRetry)
			signal(b.some)
		case retry > 0:
			b.log.Info("observations are kept again")
			retry = 0
		}
	}
}

// awaitMoreEvents waits so that several observations are written together. It waits for gatherFor, or only for
// urgentFor after a configuration arrived. manyConfigs says that more configurations are likely; then a configuration
// does not shorten the wait. It returns at once if observations of manyDevices wait. After a failed write it waits for
// retry in any case.
func (b *outbox) awaitMoreEvents(ctx context.Context, retry time.Duration, manyConfigs bool) {
	soon, now := b.soon, b.now
	if manyConfigs {
		soon = nil
	}
	if retry > 0 {
		soon, now = nil, nil
	}
	timer := time.NewTimer(max(gatherFor, retry))
	defer timer.Stop()
	for {
		select {
		case <-soon:
			timer.Reset(urgentFor)
			soon = nil
			continue
		case <-timer.C:
		case <-now:
		case <-ctx.Done():
		}
		return
	}
}

// flush writes all waiting observations in groups. It returns how many configurations it wrote. Observations that the
// sink refused wait again.
func (b *outbox) flush(ctx context.Context) (configs int, err error) {
	for {
		group := b.takeGroup()
		if len(group) == 0 {
			return configs, nil
		}
		if err := b.write(ctx, group); err != nil {
			return configs, b.writeSingly(ctx, group, err)
		}
		for _, w := range group {
			if w.Config != nil {
				configs++
			}
		}
	}
}

func (b *outbox) write(ctx context.Context, group []waiting) error {
	observations := make([]fleet.Observation, len(group))
	for i, w := range group {
		observations[i] = w.Observation
	}
	if err := b.sink.SaveObservations(ctx, observations); err != nil {
		return err
	}
	b.release(group)
	for _, w := range group {
		if b.onStored != nil {
			b.onStored(w.Observation)
		}
		if w.tell && w.Config != nil {
			b.announce(w.Device, *w.Config)
		}
	}
	return nil
}

// writeSingly writes the observations of a failed group one by one, to find out whether the sink itself fails or
// refuses single observations: data of one daemon must not prevent the data of others from being stored. err is the
// error of the group. An observation that the sink refused maxFailures times is dropped.
func (b *outbox) writeSingly(ctx context.Context, group []waiting, err error) error {
	var refused []waiting
	for i, w := range group {
		if err := b.write(ctx, group[i:i+1]); err != nil {
			if fleet.CodeOf(err) != fleet.CodeUnavailable { // An unavailable sink has not refused the observation.
				w.failed++
			}
			refused = append(refused, w)
		}
		if len(refused) == i+1 && (i == len(group)-1 || i == maxProbes-1) {
			b.putBack(group) // The sink refused every observation so far: the sink itself fails.
			return err
		}
	}
	for _, w := range refused {
		if w.failed >= maxFailures {
			b.log.Error("observation dropped: the store does not take it", slog.Any(logkey.Device, w.Device), logkey.Err(err))
			b.release([]waiting{w})
			continue
		}
		b.putBack([]waiting{w})
	}
	if len(refused) == 0 {
		return nil
	}
	return err
}

func (b *outbox) takeGroup() []waiting {
	b.mu.Lock()
	defer b.mu.Unlock()
	var group []waiting
	for id, queue := range b.waiting {
		if len(group) > 0 && len(group)+len(queue) > groupSize {
			break
		}
		group = append(group, queue...)
		delete(b.waiting, id)
	}
	clear(b.dropped)
	return group
}

// release subtracts the size of written observations from bytes, and wakes the watchers that wait for room.
func (b *outbox) release(group []waiting) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, w := range group {
		b.bytes -= w.size()
	}
	close(b.drained)
	b.drained = make(chan struct{})
}

// putBack queues a failed group again, before the observations that arrived in the meantime, and merges both.
func (b *outbox) putBack(group []waiting) {
	b.mu.Lock()
	defer b.mu.Unlock()
	newer := map[fleet.DeviceID][]waiting{}
	for _, w := range group {
		if queue, ok := b.waiting[w.Device]; ok {
			newer[w.Device] = queue
			for _, n := range queue {
				b.bytes -= n.size()
			}
			delete(b.waiting, w.Device)
		}
	}
	for _, w := range group {
		b.bytes -= w.size()
		if !b.dropped[w.Device] {
			b.put(w)
		}
	}
	for _, queue := range newer {
		for _, w := range queue {
			b.put(w)
		}
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Backlog returns how many observations wait to be stored.
func (m *Mirror) Backlog() int {
	m.outbox.mu.Lock()
	defer m.outbox.mu.Unlock()
	n := 0
	for _, waiting := range m.outbox.waiting {
		n += len(waiting)
	}
	return n
}
