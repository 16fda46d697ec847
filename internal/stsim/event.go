package stsim

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"muster/internal/core/stconfig"
)

// eventTypes are the names that a mask may hold, with the first version that knows them; others are ignored.
var eventTypes = []string{
	"Starting", "StartupComplete", "DeviceDiscovered", "DeviceConnected", "DeviceDisconnected", "DeviceRejected",
	"PendingDevicesChanged", "DevicePaused", "DeviceResumed", "LocalChangeDetected", "RemoteChangeDetected",
	"LocalIndexUpdated", "RemoteIndexUpdated", "ItemStarted", "ItemFinished", "StateChanged", "FolderRejected",
	"PendingFoldersChanged", "ConfigSaved", "DownloadProgress", "RemoteDownloadProgress", "FolderSummary",
	"FolderCompletion", "FolderErrors", "FolderScanProgress", "FolderPaused", "FolderResumed",
	"FolderWatchStateChanged", "ListenAddressesChanged", "LoginAttempt", "Failure", "ClusterConfigReceived",
}

const (
	ringSize   = 1000        // events that a mask remembers (lib/api, EventSubBufferSize)
	askedFor   = time.Minute // FolderSummary events follow a request for events for so long (v1.19.2)
	allEvents  = ^mask(0)
	diskEvents = mask(1)<<9 | mask(1)<<10
)

// mask is a set of event types, one bit for each by its place in eventTypes.
type mask uint32

func maskOf(eventType string) mask {
	if i := slices.Index(eventTypes, eventType); i >= 0 {
		return 1 << i
	}
	return 0
}

// parseMask reads the events parameter: a comma-separated list, "" for everything but what /rest/events/disk gives.
func parseMask(list string) mask {
	if list == "" {
		return allEvents &^ diskEvents
	}
	var m mask
	for name := range strings.SplitSeq(list, ",") {
		m |= maskOf(strings.TrimSpace(name))
	}
	return m
}

// event is one event as the rings share it; its number differs from ring to ring.
type event struct {
	global int64
	time   time.Time
	name   string
	data   stconfig.Value
}

// numbered is an event with its number in one ring.
type numbered struct {
	id int64
	event
}

// ring is the buffer behind one mask. It starts with the first request that uses the mask and counts for itself.
type ring struct {
	mask    mask
	last    int64 // number of the newest event
	events  []event
	next    int           // index of the next event once events is full
	arrived chan struct{} // closed and replaced by every event; nil while no request waits
}

func (r *ring) add(e event) {
	r.last++
	if len(r.events) < ringSize {
		r.events = append(r.events, e)
	} else {
		r.events[r.next] = e
		r.next = (r.next + 1) % ringSize
	}
	if r.arrived != nil {
		close(r.arrived)
		r.arrived = nil
	}
}

func (r *ring) after(since int64) []numbered {
	var found []numbered
	first := r.last - int64(len(r.events)) + 1
	for i := range r.events {
		if id := first + int64(i); id > since {
			found = append(found, numbered{id: id, event: r.events[(r.next+i)%len(r.events)]})
		}
	}
	return found
}

// eventLog is what a daemon logs from its start to its end.
type eventLog struct {
	mu     sync.Mutex // guards everything below
	global int64
	rings  []*ring
	asked  time.Time // time at which folder summaries were last requested
}

// newEventLog starts with the rings that the daemon itself keeps: that of the request without a mask, and that of
// /rest/events/disk.
func newEventLog() *eventLog {
	return &eventLog{rings: []*ring{{mask: allEvents &^ diskEvents}, {mask: diskEvents}}}
}

func (l *eventLog) log(now time.Time, name string, data stconfig.Value) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.global++
	e := event{global: l.global, time: now, name: name, data: data}
	bit := maskOf(name)
	for _, r := range l.rings {
		if r.mask&bit != 0 {
			r.add(e)
		}
	}
}

// ringFor is the ring of that mask; the first request makes it.
func (l *eventLog) ringFor(m mask) *ring {
	for _, r := range l.rings {
		if r.mask == m {
			return r
		}
	}
	r := &ring{mask: m}
	l.rings = append(l.rings, r)
	return r
}

// since returns the events after that number, at once if there are any, else when one comes or the time is up. A number
// larger than the newest waits until the numbers have passed it.
func (l *eventLog) since(ctx context.Context, m mask, id int64, timeout time.Duration) []numbered {
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	for {
		found, arrived := l.look(m, id)
		if arrived == nil {
			return found
		}
		select {
		case <-arrived:
		case <-timer.C:
			found, _ := l.look(m, id)
			return found
		case <-ctx.Done():
			return nil
		}
	}
}

// look returns the events after that number, or a channel to wait on.
func (l *eventLog) look(m mask, id int64) ([]numbered, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.ringFor(m)
	if id < r.last {
		return r.after(id), nil
	}
	if r.arrived == nil {
		r.arrived = make(chan struct{})
	}
	return nil, r.arrived
}

// summariesWanted remembers that events with summaries were asked for.
func (l *eventLog) summariesWanted(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked = now
}

func (l *eventLog) wantsSummaries(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return now.Sub(l.asked) <= askedFor
}

// wants reports whether a client asked for events of that type, but for those who want all.
func (l *eventLog) wants(eventType string) bool {
	bit := maskOf(eventType)
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.rings[2:], func(r *ring) bool { return r.mask&bit != 0 })
}
