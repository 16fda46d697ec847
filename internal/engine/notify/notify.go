// Package notify sends messages about problems. When a device or a folder is unreachable, in trouble, failed, held,
// contended or unstable for longer than a set time, every receiver gets one message, and a second one when the problem
// is over. Routes send problems to channels instead, in one message for all of one kind. A message is stored before it
// is sent and until the receiver has accepted it. So each message arrives at least once, messages about one device
// arrive in order, and a repeated message has the same ID. Package health decides what a problem is; package view
// holds the current problems.
package notify

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

const (
	DefaultAfter = 10 * time.Minute
	defaultEvery = 15 * time.Second
	// waiting messages per receiver; with more, no new problem is announced until the receiver has accepted some
	maxWaiting  = 100_000
	maxTogether = 500 // messages that are stored in one transaction
)

// These types are defined in package fleet.
type (
	Kind      = fleet.ProblemKind
	Key       = fleet.ProblemKey
	Condition = fleet.Condition
	Report    = fleet.ProblemReport
	Problem   = fleet.Problem
	Message   = fleet.Notice
	Change    = fleet.Announcement
	Entry     = fleet.Waiting
)

// Source reports the current problems. The notifier calls it every Options.Every.
type Source interface {
	Report(ctx context.Context) (Report, error)
}

// Store stores what must survive a restart.
type Store interface {
	// Problems returns the problems that were announced and are not over, as Announce stored them.
	Problems(ctx context.Context) ([]Problem, error)
	// Announce stores a change in one transaction. The change is durable when Announce returns.
	Announce(ctx context.Context, change Change) error
	// Outbox returns waiting messages of a receiver, with a sequence number greater than after, in order, and at most
	// limit.
	Outbox(ctx context.Context, receiver string, after int64, limit int) ([]Entry, error)
	// Delivered removes one message of a receiver.
	Delivered(ctx context.Context, receiver string, sequence int64) error
	// Waiting returns the number of waiting messages for each receiver that has any.
	Waiting(ctx context.Context) (map[string]int, error)
	// Discard removes all messages of a receiver.
	Discard(ctx context.Context, receiver string) error
	// ToldGroups returns the groups that channels were told of and that are not over, as Announce stored them.
	ToldGroups(ctx context.Context) ([]fleet.ToldGroup, error)
	// LogDelivery adds an entry to the log of a channel.
	LogDelivery(ctx context.Context, channel string, d fleet.Delivery) error
}

// Options say who gets messages about which problems.
type Options struct {
	Source  Source
	Store   Store
	Senders []Sender
	After   time.Duration // how long a problem lasts before it is announced; 0: DefaultAfter
	Every   time.Duration // time between two reports; 0: 15 s
	Log     *slog.Logger
}

// Notifier watches for problems and sends the messages.
type Notifier struct {
	o       Options
	log     *slog.Logger
	changed chan struct{} // There is another next.

	mu         sync.Mutex  // guards the fields below
	deliveries []*delivery // Only Run changes it, between two rounds, and the goroutines of a round may read it.
	now, next  receivers   // whom Run tells, and whom it is to tell; Run changes now likewise
	rules      rules
	problems   map[Key]*tracked
	full       bool // The outbox of a receiver is full, and this was logged.
	unsure     bool // The last write to the store failed, so problems must be read from the store again.

	// Only the goroutine that handles reports uses the fields below.
	told  map[fleet.ToldGroupKey]fleet.ToldGroup
	began map[fleet.ToldGroupKey]time.Time // groups that wait for more problems before they are told
}

// New makes a notifier. It starts no goroutine.
func New(o Options) *Notifier {
	if o.After <= 0 {
		o.After = DefaultAfter
	}
	if o.Every <= 0 {
		o.Every = defaultEvery
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	n := &Notifier{o: o, log: o.Log.With(logkey.Component, "notify"), problems: map[Key]*tracked{},
		changed: make(chan struct{}, 1), told: map[fleet.ToldGroupKey]fleet.ToldGroup{},
		began: map[fleet.ToldGroupKey]time.Time{}}
	n.next = receivers{senders: o.Senders, after: o.After, every: o.Every}
	n.adoptNext()
	return n
}

// Run watches and sends until ctx ends. Without receivers it sends and stores nothing.
func (n *Notifier) Run(ctx context.Context) error {
	for {
		n.adoptNext()
		if err := n.round(ctx); !errors.Is(err, errChanged) {
			return err
		}
	}
}

// errChanged ends a round, because there are other receivers.
var errChanged = errors.New("the receivers changed")

// round watches and sends until ctx ends, or the receivers change.
func (n *Notifier) round(ctx context.Context) error {
	group, round := errgroup.WithContext(ctx)
	group.Go(func() error {
		select {
		case <-n.changed:
			return errChanged
		case <-round.Done():
			return round.Err()
		}
	})
	if len(n.deliveries) > 0 {
		group.Go(func() error { return n.deliver(round) })
	}
	return group.Wait()
}

// deliver reads what was stored, and watches and sends until ctx ends.
func (n *Notifier) deliver(ctx context.Context) error {
	if err := n.load(ctx); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return n.watch(ctx) })
	for _, d := range n.deliveries {
		group.Go(func() error { return d.run(ctx) })
	}
	return group.Wait()
}

// Problems returns the problems that were announced and are not over.
func (n *Notifier) Problems() []Problem {
	n.mu.Lock()
	defer n.mu.Unlock()
	var open []Problem
	for _, t := range n.problems {
		if t.announced != nil {
			open = append(open, *t.announced)
		}
	}
	return open
}

// Receivers returns the state of every receiver, in the order of the senders.
func (n *Notifier) Receivers() []fleet.Receiver {
	n.mu.Lock()
	defer n.mu.Unlock()
	all := make([]fleet.Receiver, len(n.deliveries))
	for i, d := range n.deliveries {
		all[i] = d.standing()
	}
	return all
}

// load reads what an earlier process stored. It retries until the store can be read.
func (n *Notifier) load(ctx context.Context) error {
	for pause := (backoff{first: time.Second, most: time.Minute}); ; {
		err := n.loadOnce(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if pause.failures == 0 {
			n.log.Warn("the notifications that wait cannot be read", logkey.Err(err))
		}
		wait(ctx, pause.next())
	}
}

func (n *Notifier) loadOnce(ctx context.Context) error {
	open, err := n.o.Store.Problems(ctx)
	if err != nil {
		return err
	}
	groups, err := n.o.Store.ToldGroups(ctx)
	if err != nil {
		return err
	}
	waiting, err := n.recount(ctx)
	if err != nil {
		return err
	}
	if n.now.unsure {
		clear(waiting) // What waits for receivers that may be missing stays.
	}
	for gone, count := range waiting {
		n.log.Warn("messages for a receiver that is no longer configured are dropped", logkey.Address, gone, logkey.Count,
			count)
		if err := n.o.Store.Discard(ctx, gone); err != nil {
			return err
		}
	}
	n.told = map[fleet.ToldGroupKey]fleet.ToldGroup{}
	for _, g := range groups {
		n.told[g.ToldGroupKey] = g
	}
	n.adopt(open)
	return nil
}

// recount reads how many messages wait for each receiver, and wakes the deliveries that have some: a write may be
// durable although the store returned an error. It returns the counts of receivers that are no longer configured.
func (n *Notifier) recount(ctx context.Context) (others map[string]int, err error) {
	waiting, err := n.o.Store.Waiting(ctx)
	if err != nil {
		return nil, err
	}
	for _, d := range n.deliveries {
		d.setWaiting(waiting[d.name])
		delete(waiting, d.name)
	}
	return waiting, nil
}

// adopt makes the problems in the store the announced ones.
func (n *Notifier) adopt(open []Problem) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.unsure = false
	held := make(map[Key]*Problem, len(open))
	for i, p := range open {
		held[p.ProblemKey] = &open[i]
		if n.problems[p.ProblemKey] == nil {
			n.problems[p.ProblemKey] = &tracked{began: p.AnnouncedAt}
		}
	}
	for key, t := range n.problems {
		if t.announced != nil && held[key] == nil { // The store holds no such problem, so its end was announced.
			delete(n.problems, key)
		}
		t.announced = held[key]
	}
}

func wait(ctx context.Context, pause time.Duration) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
