package notify

import (
	"context"
	"slices"
	"sync"
	"time"

	"muster/internal/fleet"
)

// source is a fleet that a test changes.
type source struct {
	mu      sync.Mutex
	now     map[Key]Condition
	unknown map[fleet.DeviceID]bool
	broken  error
}

func newSource() *source {
	return &source{now: map[Key]Condition{}, unknown: map[fleet.DeviceID]bool{}}
}

func (s *source) Report(context.Context) (Report, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := Report{Unknown: func(k Key) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.unknown[k.Device]
	}}
	for _, c := range s.now {
		r.Conditions = append(r.Conditions, c)
	}
	return r, s.broken
}

func (s *source) begin(k Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now[k] = Condition{ProblemKey: k, Label: "label of " + k.Device.Short(), Reason: "why " + string(k.Kind),
		Next: "look there", Since: time.Now()}
}

func (s *source) end(k Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.now, k)
}

func (s *source) setUnknown(id fleet.DeviceID, unknown bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unknown[id] = unknown
}

// disk is what survives a kill. before and after are called around every operation, and may fail or kill.
type disk struct {
	mu       sync.Mutex
	problems map[Key]Problem
	outbox   map[string][]Entry
	sequence int64
	groups   map[fleet.ToldGroupKey]fleet.ToldGroup
	log      map[string][]fleet.Delivery
	history  []Message // all that was ever announced, in order
	before   func(op string) error
	after    func(op string) error
}

func newDisk() *disk {
	return &disk{problems: map[Key]Problem{}, outbox: map[string][]Entry{},
		groups: map[fleet.ToldGroupKey]fleet.ToldGroup{}, log: map[string][]fleet.Delivery{}}
}

func (d *disk) do(ctx context.Context, op string, change func()) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if d.before != nil {
		if err := d.before(op); err != nil {
			return err
		}
	}
	d.mu.Lock()
	change()
	d.mu.Unlock()
	if d.after != nil {
		return d.after(op)
	}
	return nil
}

func (d *disk) Problems(ctx context.Context) (open []Problem, err error) {
	err = d.do(ctx, "problems", func() {
		for _, p := range d.problems {
			open = append(open, p)
		}
	})
	return open, err
}

func (d *disk) Announce(ctx context.Context, c Change) error {
	return d.do(ctx, "announce", func() {
		for _, k := range c.Close {
			delete(d.problems, k)
		}
		for _, p := range c.Open {
			d.problems[p.ProblemKey] = p
		}
		for _, k := range c.Forget {
			delete(d.groups, k)
		}
		for _, g := range c.Tell {
			d.groups[g.ToldGroupKey] = g
		}
		for _, p := range c.Posts {
			for _, r := range p.Receivers {
				d.sequence++
				d.outbox[r] = append(d.outbox[r], Entry{Sequence: d.sequence, Notice: p.Notice})
			}
		}
		for _, m := range c.Notices {
			d.history = append(d.history, m)
			for _, r := range c.Receivers {
				d.sequence++
				d.outbox[r] = append(d.outbox[r], Entry{Sequence: d.sequence, Notice: m})
			}
		}
	})
}

func (d *disk) Outbox(ctx context.Context, receiver string, after int64, limit int) (page []Entry, err error) {
	err = d.do(ctx, "outbox", func() {
		for _, e := range d.outbox[receiver] {
			if e.Sequence > after && len(page) < limit {
				page = append(page, e)
			}
		}
	})
	return page, err
}

func (d *disk) Delivered(ctx context.Context, receiver string, sequence int64) error {
	return d.do(ctx, "delivered", func() {
		d.outbox[receiver] = slices.DeleteFunc(d.outbox[receiver], func(e Entry) bool { return e.Sequence == sequence })
	})
}

func (d *disk) Waiting(ctx context.Context) (map[string]int, error) {
	counts := map[string]int{}
	err := d.do(ctx, "waiting", func() {
		for r, all := range d.outbox {
			if len(all) > 0 {
				counts[r] = len(all)
			}
		}
	})
	return counts, err
}

func (d *disk) Discard(ctx context.Context, receiver string) error {
	return d.do(ctx, "discard", func() { delete(d.outbox, receiver) })
}

func (d *disk) ToldGroups(ctx context.Context) (all []fleet.ToldGroup, err error) {
	err = d.do(ctx, "groups", func() {
		for _, g := range d.groups {
			all = append(all, g)
		}
	})
	return all, err
}

func (d *disk) LogDelivery(ctx context.Context, channel string, entry fleet.Delivery) error {
	return d.do(ctx, "log", func() { d.log[channel] = append(d.log[channel], entry) })
}

func (d *disk) announced() []Message {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.history)
}

// receiver takes messages, unless it is down or refuses one.
type receiver struct {
	name   string
	mu     sync.Mutex
	down   error
	refuse func(Message) error
	taken  func(Message) // after it was taken
	got    []Message
	tries  []time.Time
	busy   map[fleet.DeviceID]bool
	wrong  []string
}

func newReceiver(name string) *receiver {
	return &receiver{name: name, busy: map[fleet.DeviceID]bool{}}
}

func (r *receiver) Name() string { return r.name }

func (r *receiver) Send(ctx context.Context, m Message) error {
	r.mu.Lock()
	r.tries = append(r.tries, time.Now())
	if r.busy[m.DeviceID] {
		r.wrong = append(r.wrong, "two messages about one device at a time")
	}
	r.busy[m.DeviceID] = true
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		r.busy[m.DeviceID] = false
		r.mu.Unlock()
	}()
	wait(ctx, 50*time.Millisecond)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	r.mu.Lock()
	if r.down != nil {
		r.mu.Unlock()
		return r.down
	}
	if r.refuse != nil {
		if err := r.refuse(m); err != nil {
			r.mu.Unlock()
			return err
		}
	}
	r.got = append(r.got, m)
	taken := r.taken
	r.mu.Unlock()
	if taken != nil {
		taken(m)
	}
	return nil
}

func (r *receiver) set(down error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.down = down
}

func (r *receiver) messages() []Message {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.got)
}

func (r *receiver) attempts() []time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.tries)
}
