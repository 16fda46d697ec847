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
	failedFirst   = time.Second
	failedMost    = 5 * time.Minute
)

// delivery sends the messages of one receiver. One goroutine (run) owns it; senders report their outcome to that
// goroutine.
type delivery struct {
	name    string
	channel string // DefaultChannel for the receivers of flags and settings, else the name
	sender  Sender
	store   Store
	log     *slog.Logger
	wake    chan struct{}

	// Only the goroutine of run uses the fields from here to mu.
	queue   []Entry // the oldest waiting messages, in order
	after   int64   // sequence number of the last message that was read from the store
	allRead bool    // the store holds no further messages
	busy    map[lane]bool
	rest    backoff // the pause after an attempt that failed because of the receiver
	until   time.Time

	mu      sync.Mutex // guards the fields below
	waiting int
	trouble string
	since   time.Time
}

// lane is what messages are about that arrive in order: a device, or what a route groups.
type lane string

func laneOf(m Message) lane {
	if m.Group == nil && m.DeviceID != "" {
		return lane(m.DeviceID)
	}
	return lane(m.ProblemID)
}

// outcome is the result of one attempt to send.
type outcome struct {
	entry Entry
	err   error
}

func newDelivery(s Sender, store Store, log *slog.Logger) *delivery {
	channel := fleet.DefaultChannel
	if _, isChannel := s.(channelSender); isChannel {
		channel = s.Name()
	}
	return &delivery{name: s.Name(), channel: channel, sender: s, store: store,
		log: log.With(logkey.Address, s.Name()), wake: make(chan struct{}, 1), busy: map[lane]bool{},
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
			d.busy[laneOf(entry.Notice)] = true
			sending.Go(func() {
				err := d.send(ctx, entry.Notice)
				d.logAnswer(ctx, entry.Notice, err)
				if isFinal(err) {
					if failed := d.strike(ctx, entry); failed != nil {
						err = failed
					}
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
	passed := map[lane]bool{} // those with an earlier message in the queue
	for _, entry := range d.queue {
		if len(picked) >= room {
			break
		}
		about := laneOf(entry.Notice)
		if !passed[about] && !d.busy[about] {
			passed[about] = true
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
	return noHurry
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
	delete(d.busy, laneOf(o.entry.Notice))
	var rejected *RejectedError
	switch {
	case o.err == nil:
		d.recovered()
		d.drop(o.entry)
	case errors.As(o.err, &rejected):
		d.rest.failures, d.until = 0, time.Time{}
		d.drop(o.entry)
		d.fail("a message was given up", o.err)
	default:
		pause := d.rest.next()
		var later *LaterError
		if errors.As(o.err, &later) {
			pause = max(min(later.After, failedMost), pause)
		}
		d.until = now.Add(pause)
		d.fail(notTold, o.err)
	}
}

// isFinal reports whether the message is not sent again: the receiver accepted or refused it.
func isFinal(err error) bool {
	var rejected *RejectedError
	return err == nil || errors.As(err, &rejected)
}

// logAnswer adds what the receiver answered to the log of the channel. A receiver that goes on failing in the same way
// is logged once.
func (d *delivery) logAnswer(ctx context.Context, m Message, err error) {
	entry := fleet.Delivery{At: time.Now(), NoticeID: m.ID, Type: m.Type, Summary: headline(m), Accepted: err == nil,
		Answer: "accepted"}
	if err != nil {
		entry.Answer = answerOf(err)
		d.mu.Lock()
		again := !isFinal(err) && d.trouble == notTold+": "+err.Error()
		d.mu.Unlock()
		if again || ctx.Err() != nil {
			return
		}
	}
	if d.channel == fleet.DefaultChannel {
		entry.Answer = d.name + ": " + entry.Answer
	}
	if err := d.store.LogDelivery(ctx, d.channel, entry); err != nil && ctx.Err() == nil {
		d.log.Warn("an answer is not in the log of the channel", logkey.Err(err))
	}
}

// notTold begins the text about a receiver that does not work.
const notTold = "the receiver cannot be told"

// drop removes a message from memory after it was removed from the outbox.
func (d *delivery) drop(entry Entry) {
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
