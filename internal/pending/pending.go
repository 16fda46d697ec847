// Package pending keeps what asks managed daemons to be let in, as they tell it, and lets it in or has it forgotten
// when a person says so. Daemons are read once they are online; after that their events say what changes. Nothing is
// kept on disk: the daemons have it.
package pending

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"muster/internal/fleet"
	"muster/internal/logkey"
	"muster/internal/stconfig"
)

// Daemon talks to the daemon of a device.
type Daemon interface {
	// Pending is what asks the daemon now, without Device, over a connection of its own.
	Pending(ctx context.Context, id fleet.DeviceID) ([]fleet.Pending, error)
	DismissPending(ctx context.Context, id fleet.DeviceID, asks fleet.Pending) error
	// Amend changes the configuration as a person asks, and answers when it was read back.
	Amend(ctx context.Context, id fleet.DeviceID, what string, change func(stconfig.Value) (stconfig.Value, error)) error
}

// Options make an Inbox.
type Options struct {
	Daemon Daemon
	Mode   func(fleet.DeviceID) fleet.Mode // of writing to the device
	Log    *slog.Logger
	// Changed is told that something else is pending at a device than before. It must not block.
	Changed func(fleet.DeviceID)
	// Quiet is how long after a daemon came online it is read; 0: a few seconds, when its watcher is done.
	Quiet time.Duration
}

const (
	readsASecond = 100
	readers      = 16
	readTime     = time.Minute
	defaultQuiet = 3 * time.Second
	fewDue       = 50               // devices to be read: of more, each waits until its watcher's connection is free
	mostOfOne    = 2000             // entries of one daemon: those of a hostile one cost no more
	firstRetry   = 10 * time.Second // after a read that failed
	lastRetry    = 10 * time.Minute
)

// Inbox is what is pending at all devices.
type Inbox struct {
	o    Options
	log  *slog.Logger
	wake chan struct{} // of capacity 1

	mu      sync.Mutex // guards the rest
	devices map[fleet.DeviceID]map[key]fleet.Pending
	due     map[fleet.DeviceID]time.Time     // when to read it
	told    map[fleet.DeviceID]bool          // an event came since the read that is under way began
	retry   map[fleet.DeviceID]time.Duration // of those that are online: the pause after a read that fails
}

// key is who asks for what.
type key struct {
	from   fleet.DeviceID
	folder string // "" for itself
}

func keyOf(asks fleet.Pending) key { return key{asks.From, asks.Folder} }

// New makes an empty inbox; Run fills it.
func New(o Options) *Inbox {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Quiet == 0 {
		o.Quiet = defaultQuiet
	}
	return &Inbox{
		o: o, log: o.Log.With(logkey.Component, "pending"), wake: make(chan struct{}, 1),
		devices: map[fleet.DeviceID]map[key]fleet.Pending{}, due: map[fleet.DeviceID]time.Time{},
		told:  map[fleet.DeviceID]bool{},
		retry: map[fleet.DeviceID]time.Duration{},
	}
}

// Online says that a daemon can be reached: it is read soon.
func (i *Inbox) Online(id fleet.DeviceID) {
	i.mu.Lock()
	if _, waits := i.due[id]; !waits {
		i.due[id] = time.Now().Add(i.o.Quiet)
	}
	i.retry[id] = firstRetry
	i.mu.Unlock()
	i.rouse()
}

// Offline says that a daemon cannot be reached any more: there is no use in reading it.
func (i *Inbox) Offline(id fleet.DeviceID) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.notDue(id)
	delete(i.retry, id)
}

// Between says that the connection of a device's watcher is free. A daemon that is to be read is read now.
func (i *Inbox) Between(ctx context.Context, id fleet.DeviceID, ask func(context.Context) ([]fleet.Pending, error)) {
	i.mu.Lock()
	due, waits := i.due[id]
	if !waits || time.Now().Before(due) {
		i.mu.Unlock()
		return
	}
	i.begin(id)
	i.mu.Unlock()
	i.read(ctx, id, ask)
}

// Forget drops a device that is registered no more.
func (i *Inbox) Forget(id fleet.DeviceID) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.devices, id)
	i.notDue(id)
	delete(i.told, id)
	delete(i.retry, id)
}

// notDue takes a device off those to be read. The caller holds mu.
func (i *Inbox) notDue(id fleet.DeviceID) {
	delete(i.due, id)
	if len(i.due) == fewDue { // they need not wait for their watchers any more
		i.rouse()
	}
}

// begin notes that a device is read now. The caller holds mu.
func (i *Inbox) begin(id fleet.DeviceID) {
	i.notDue(id)
	delete(i.told, id)
	if i.devices[id] == nil {
		i.devices[id] = map[key]fleet.Pending{}
	}
}

// Pending is all of it, in any order.
func (i *Inbox) Pending() []fleet.Pending {
	i.mu.Lock()
	defer i.mu.Unlock()
	var all []fleet.Pending
	for _, asking := range i.devices {
		for _, asks := range asking {
			all = append(all, asks)
		}
	}
	return all
}

// Of is what is pending at one device.
func (i *Inbox) Of(id fleet.DeviceID) []fleet.Pending {
	i.mu.Lock()
	defer i.mu.Unlock()
	var all []fleet.Pending
	for _, asks := range i.devices[id] {
		all = append(all, asks)
	}
	return all
}

func (i *Inbox) rouse() {
	select {
	case i.wake <- struct{}{}:
	default:
	}
}

// Run reads daemons that came online until ctx ends.
func (i *Inbox) Run(ctx context.Context) error {
	pace := rate.NewLimiter(readsASecond, 1)
	slots := make(chan struct{}, readers)
	var reading sync.WaitGroup
	defer reading.Wait()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		id, wait := i.next()
		if id == "" {
			if wait >= 0 {
				timer.Reset(wait)
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-timer.C:
			case <-i.wake:
			}
			continue
		}
		if err := pace.Wait(ctx); err != nil {
			return ctx.Err()
		}
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		reading.Go(func() {
			defer func() { <-slots }()
			i.read(ctx, id, func(ctx context.Context) ([]fleet.Pending, error) { return i.o.Daemon.Pending(ctx, id) })
		})
	}
}

// next is a device to read now over a connection of its own, or how long to wait for one; less than 0: until somebody
// says so.
func (i *Inbox) next() (id fleet.DeviceID, wait time.Duration) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(i.due) > fewDue {
		return "", -1
	}
	soonest := time.Duration(-1)
	now := time.Now()
	for id, due := range i.due {
		wait := due.Sub(now)
		if wait <= 0 {
			i.begin(id)
			return id, 0
		}
		if soonest < 0 || wait < soonest {
			soonest = wait
		}
	}
	return "", soonest
}

// read asks a daemon for all of it. One that does not answer is read again. When an event came meanwhile, nobody knows
// whether the answer is from before it: it is read again, too.
func (i *Inbox) read(ctx context.Context, id fleet.DeviceID, ask func(context.Context) ([]fleet.Pending, error)) {
	bounded, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	all, err := ask(bounded)
	if err != nil {
		if ctx.Err() == nil {
			i.failed(id, err)
		}
		return
	}
	i.change(id, func(asking map[key]fleet.Pending) {
		if _, online := i.retry[id]; online {
			i.retry[id] = firstRetry
		}
		if i.told[id] {
			i.due[id] = time.Now().Add(i.o.Quiet)
		}
		clear(asking)
		for _, asks := range all {
			asks.Device = id
			asking[keyOf(asks)] = asks
		}
	})
}

// failed has a daemon read again after a while, as long as it is online: what asked it before its events were followed
// is in none of them. One that is not found was deleted meanwhile.
func (i *Inbox) failed(id fleet.DeviceID, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	pause, online := i.retry[id]
	if !online || fleet.CodeOf(err) == fleet.CodeNotFound {
		return
	}
	if pause == firstRetry {
		i.log.Info("what is pending was not read", logkey.Device, id, logkey.Err(err))
	}
	if _, waits := i.due[id]; !waits {
		i.due[id] = time.Now().Add(pause)
	}
	i.retry[id] = min(2*pause, lastRetry)
	i.rouse()
}

// change does something to what is pending at a device, unless it was forgotten, and tells when that made a
// difference.
func (i *Inbox) change(id fleet.DeviceID, do func(map[key]fleet.Pending)) {
	i.mu.Lock()
	asking := i.devices[id]
	if asking == nil {
		i.mu.Unlock()
		return
	}
	before := make(map[key]bool, len(asking))
	for k := range asking {
		before[k] = true
	}
	do(asking)
	same := len(before) == len(asking)
	for k := range asking {
		same = same && before[k]
	}
	i.mu.Unlock()
	i.rouse()
	if !same && i.o.Changed != nil {
		i.o.Changed(id)
	}
}
