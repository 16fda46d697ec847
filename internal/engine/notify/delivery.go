package notify

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

const (
	sendersAtOnce = 4    // messages that are sent to one receiver at the same time; never two about the same device
	window        = 2000 // messages for one receiver that are held in memory
	sendLimit     = 30 * time.Second
	rejectedLife  = 24 * time.Hour // how long a message is retried that the receiver refuses
	rejectedFirst = time.Minute
	rejectedMost  = time.Hour
	failedFirst   = time.Second
	failedMost    = 5 * time.Minute
)

// delivery sends the messages of one receiver. One goroutine (run) owns it; senders report their outcome to that
// goroutine.
type delivery struct {
	name   string
	sender Sender
	store  Store
	log    *slog.Logger
	wake   chan struct{}

	// Only the goroutine of run uses the fields from here to mu.
	queue   []Entry // the oldest waiting messages, in order
	after   int64   // sequence number of the last message that was read from the store
	allRead bool    // the store holds no further messages
	busy    map[fleet.DeviceID]bool
	parked  map[fleet.DeviceID]*parking // devices whose next message the receiver refused
	rest    backoff                     // the pause after an attempt that failed because of the receiver
	until   time.Time

	mu      sync.Mutex // guards the fields below
	waiting int
	trouble string
	since   time.Time
}

type parking struct {
	backoff
	since, until time.Time
}

// outcome is the result of one attempt to send.
type outcome struct {
	entry Entry
	err   error
}

func newDelivery(s Sender, store Store, log *slog.Logger) *delivery {
	return &delivery{name: s.Name(), sender: s, store: store, log: log.With(logkey.Address, s.Name()),
		wake: make(chan struct{}, 1), busy: map[fleet.DeviceID]bool{}, parked: map[fleet.DeviceID]*parking{},
		rest: backoff{first: failedFirst, most: failedMost}}
}

func (d *delivery) setWaiting(count int) {
	d.mu.Lock()
	d.waiting = count
	d.mu.Unlock()
	if count > 0 {
		d.rouse()
	}
}

// more records that count messages were added to the outbox, and wakes run.
func (d *delivery) more(count int) {
	d.mu.Lock()
	d.waiting += count
	d.mu.Unlock()
	d.rouse()
}

// rouse wakes run, which then reads the outbox again.
func (d *delivery) rouse() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

func (d *delivery) standing() fleet.Receiver {
	d.mu.Lock()
	defer d.mu.Unlock()
	return fleet.Receiver{Name: d.name, Waiting: d.waiting, Trouble: d.trouble, Since: d.since}
}

// run sends messages until ctx ends, and then waits for the senders.
func (d *delivery) run(ctx context.Context) error {
	done := make(chan outcome)
	var sending sync.WaitGroup
	defer sending.Wait()
	for ctx.Err() == nil {
		again := d.fill(ctx)
		for _, entry := range d.ready(time.Now()) {
			d.busy[entry.Notice.DeviceID] = true
			sending.Go(func() {
				err := d.send(ctx, entry.Notice)
				if err == nil {
					err = d.strike(ctx, entry)
				}
				select {
				case done <- outcome{entry, err}:
				case <-ctx.Done():
				}
			})
		}
		timer := time.NewTimer(min(again, d.nextTry(time.Now())))
		select {
		case <-ctx.Done():
		case <-d.wake:
			d.allRead = false
		case o := <-done:
			d.recordOutcome(ctx, o, time.Now())
		case <-timer.C:
		}
		timer.Stop()
	}
	return ctx.Err()
}

const noHurry = 24 * time.Hour

// fill reads messages from the outbox while the queue has room. It returns after how long to read again when the store
// failed.
func (d *delivery) fill(ctx context.Context) time.Duration {
	if d.allRead || len(d.queue) > window/2 {
		return noHurry
	}
	entries, err := d.store.Outbox(ctx, d.name, d.after, window-len(d.queue))
	if err != nil {
		if ctx.Err() == nil {
			d.fail("the outbox cannot be read", err)
		}
		return 10 * time.Second
	}
	d.allRead = len(entries) < window-len(d.queue)
	if len(entries) > 0 {
		d.after = entries[len(entries)-1].Sequence
		d.queue = append(d.queue, entries...)
	}
	return noHurry
}

// ready returns the messages that can be sent now: for each device its first message, unless one about that device is
// being sent. After a failure the receiver gets only one message at a time.
func (d *delivery) ready(now time.Time) []Entry {
	room := sendersAtOnce - len(d.busy)
	if d.rest.failures > 0 {
		room = 1 - len(d.busy)
	}
	if now.Before(d.until) {
		return nil
	}
	var picked []Entry
	passed := map[fleet.DeviceID]bool{} // devices with an earlier message in the queue
	for _, entry := range d.queue {
		if len(picked) >= room {
			break
		}
		device := entry.Notice.DeviceID
		if passed[device] || d.busy[device] {
			continue
		}
		passed[device] = true
		if p := d.parked[device]; p == nil || !now.Before(p.until) {
			picked = append(picked, entry)
		}
	}
	return picked
}

// nextTry returns the time until the next retry.
func (d *delivery) nextTry(now time.Time) time.Duration {
	if now.Before(d.until) {
		return d.until.Sub(now)
	}
	next := noHurry
	for device, p := range d.parked {
		if pause := p.until.Sub(now); !d.busy[device] && pause > 0 {
			next = min(next, pause)
		}
	}
	return next
}

func (d *delivery) send(ctx context.Context, m Message) error {
	ctx, cancel := context.WithTimeout(ctx, sendLimit)
	defer cancel()
	return d.sender.Send(ctx, m)
}

// strike removes a delivered message from the outbox before the next message about its device is sent. In the other
// order a crash in between would repeat the first message after the second.
func (d *delivery) strike(ctx context.Context, entry Entry) error {
	for pause := (backoff{first: time.Second, most: time.Minute}); ; {
		err := d.store.Delivered(ctx, d.name, entry.Sequence)
		if err == nil || ctx.Err() != nil {
			return ctx.Err()
		}
		if pause.failures == 0 {
			d.fail("a delivered message cannot be taken out of the outbox", err)
		}
		wait(ctx, pause.next())
	}
}

// recordOutcome updates the state of the delivery after an attempt.
func (d *delivery) recordOutcome(ctx context.Context, o outcome, now time.Time) {
	device := o.entry.Notice.DeviceID
	delete(d.busy, device)
	var rejected *RejectedError
	switch {
	case o.err == nil:
		d.recovered()
		d.drop(o.entry)
	case errors.As(o.err, &rejected):
		d.recovered()
		d.park(ctx, o.entry, rejected, now)
	default:
		pause := d.rest.next()
		var later *LaterError
		if errors.As(o.err, &later) {
			pause = max(min(later.After, failedMost), pause)
		}
		d.until = now.Add(pause)
		d.fail("the receiver cannot be told", o.err)
	}
}

// park delays the messages about a device because the receiver refuses the first of them. After a day (rejectedLife)
// park gives that message up.
func (d *delivery) park(ctx context.Context, entry Entry, why *RejectedError, now time.Time) {
	device := entry.Notice.DeviceID
	p := d.parked[device]
	if p == nil {
		p = &parking{backoff: backoff{first: rejectedFirst, most: rejectedMost}, since: now}
		d.parked[device] = p
		d.log.Warn("a message is refused", slog.Any(logkey.Device, device), logkey.Err(why))
	}
	p.until = now.Add(p.next())
	if now.Sub(p.since) < rejectedLife {
		return
	}
	d.log.Error("a message is given up: the receiver refused it for a day", slog.Any(logkey.Device, device),
		logkey.Err(why))
	if err := d.store.Delivered(ctx, d.name, entry.Sequence); err != nil {
		return // The message is sent and refused once more, and then removed.
	}
	d.drop(entry)
}

// drop removes a message from memory after it was removed from the outbox.
func (d *delivery) drop(entry Entry) {
	delete(d.parked, entry.Notice.DeviceID)
	for i := range d.queue {
		if d.queue[i].Sequence == entry.Sequence {
			d.queue = append(d.queue[:i], d.queue[i+1:]...)
			break
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.waiting = max(0, d.waiting-1)
}

// fail records an error, and logs it when it is new or differs from the last one.
func (d *delivery) fail(what string, err error) {
	text := what + ": " + err.Error()
	d.mu.Lock()
	changed := d.trouble != text
	if d.trouble == "" {
		d.since = time.Now()
	}
	d.trouble = text
	d.mu.Unlock()
	if changed {
		d.log.Warn("messages wait", slog.String(logkey.Reason, what), logkey.Err(err))
	}
}

func (d *delivery) recovered() {
	d.rest.failures, d.until = 0, time.Time{}
	d.mu.Lock()
	was := d.trouble
	d.trouble, d.since = "", time.Time{}
	d.mu.Unlock()
	if was != "" {
		d.log.Info("messages are taken again", logkey.Reason, was)
	}
}

// backoff is a pause that doubles with each failure, with jitter.
type backoff struct {
	first, most time.Duration
	failures    int
}

func (b *backoff) next() time.Duration {
	pause := b.most
	if b.failures < 20 {
		pause = min(b.first<<b.failures, b.most)
	}
	b.failures++
	return pause*3/4 + rand.N(pause/4+1)
}
