// Package notify tells people about problems: when a device or a folder becomes unreachable, out of sync, failed,
// held, contended or unstable, and stays so for a while, one message goes to every receiver, and another when it is
// over. Messages are kept before they are sent and until they are taken: each arrives at least once, those about one
// device in order, and one that comes twice carries the same ID. What a problem is, `health` decides.
package notify

import (
	"context"
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
	maxWaiting   = 100_000 // messages per receiver: beyond, nothing new is announced until some are taken
	maxTogether  = 500     // messages in one transaction
)

// The words of this room; see fleet.
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

// Source is asked again and again.
type Source interface {
	Report(ctx context.Context) (Report, error)
}

// Store keeps what must survive a restart.
type Store interface {
	// Problems are those that were announced and are not over, as they were put.
	Problems(ctx context.Context) ([]Problem, error)
	// Announce makes a change durable, in one transaction, before it returns.
	Announce(ctx context.Context, change Change) error
	// Outbox gives messages that wait for a receiver, those after a sequence number, in order, at most limit.
	Outbox(ctx context.Context, receiver string, after int64, limit int) ([]Entry, error)
	// Delivered takes one message of a receiver out.
	Delivered(ctx context.Context, receiver string, sequence int64) error
	// Waiting counts the messages of every receiver that has any.
	Waiting(ctx context.Context) (map[string]int, error)
	// Discard takes all messages of a receiver out.
	Discard(ctx context.Context, receiver string) error
}

// Options say who is told of what.
type Options struct {
	Source  Source
	Store   Store
	Senders []Sender
	After   time.Duration // how long a problem stays before it is announced; 0: DefaultAfter
	Every   time.Duration // between two reports; 0: 15 s
	Log     *slog.Logger
}

// Notifier watches for problems and delivers the messages.
type Notifier struct {
	o          Options
	log        *slog.Logger
	deliveries []*delivery

	mu       sync.Mutex // guards what follows
	problems map[Key]*tracked
	full     bool // the outbox of a receiver is, and that was said
	unsure   bool // whether the store took the last change: what it holds counts
}

// New makes a notifier that does nothing yet.
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
	n := &Notifier{o: o, log: o.Log.With(logkey.Component, "notify"), problems: map[Key]*tracked{}}
	for _, s := range o.Senders {
		n.deliveries = append(n.deliveries, newDelivery(s, o.Store, n.log))
	}
	return n
}

// Run watches and delivers until ctx ends. Without receivers nothing is sent or kept.
func (n *Notifier) Run(ctx context.Context) error {
	if len(n.deliveries) == 0 {
		<-ctx.Done()
		return ctx.Err()
	}
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

// Problems are those that were announced and are not over.
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

// Receiver is how the delivery to one receiver stands.
type Receiver struct {
	Name    string
	Waiting int       // messages; exact at every report, about right in between
	Trouble string    // why the last attempt failed, "" when it did not
	Since   time.Time // of the trouble
}

// Receivers are all of them, in the order of the senders.
func (n *Notifier) Receivers() []Receiver {
	all := make([]Receiver, len(n.deliveries))
	for i, d := range n.deliveries {
		all[i] = d.standing()
	}
	return all
}

// load reads what an earlier run left, again and again until it can be read.
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
	waiting, err := n.recount(ctx)
	if err != nil {
		return err
	}
	for gone, count := range waiting {
		n.log.Warn("messages for a receiver that is no longer configured are dropped", logkey.Address, gone, logkey.Count,
			count)
		if err := n.o.Store.Discard(ctx, gone); err != nil {
			return err
		}
	}
	n.adopt(open)
	return nil
}

// recount reads how many messages wait for every receiver, and gives those of receivers that are not ours. Where some
// wait they are looked for: one may be durable although the store did not say so.
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

// adopt takes what the store holds for what was announced.
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
		if t.announced != nil && held[key] == nil { // its end was announced
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
