// Package sink sends what Muster records to places outside: to a log store, a SIEM, a file. Nobody waits for a sink:
// its runner reads what the database has, at its own pace, and the database counts what it deletes before.
package sink

import (
	"context"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"muster/internal/adapter/outbound"
	"muster/internal/fleet"
	"muster/internal/logkey"
)

const (
	lookEvery = time.Second // This is also how long an entry waits for others at most.
	tryLimit  = 20 * time.Second

	mostCounted = 100_000 // entries of one stream that are counted as waiting
)

// Store has sinks, what they get, and how far they are.
type Store interface {
	Sinks() []fleet.Sink
	SinkCursors(ctx context.Context) (map[string]fleet.SinkCursor, error)
	SinkWaits(ctx context.Context, limit int) (map[string]int64, error)
	AdvanceSink(ctx context.Context, name string, from fleet.SinkCursor, by fleet.SinkProgress) error
	LogEntries(ctx context.Context, q fleet.LogQuery) ([]fleet.LogEntry, error)
	LogBounds(ctx context.Context) (first, last int64, err error)
	Audit(ctx context.Context, q fleet.AuditQuery) ([]fleet.AuditEntry, error)
}

// Options say what sinks need.
type Options struct {
	Store  Store
	Folder string            // Sinks of the kind file write here.
	Refuse outbound.RefuseIP // addresses to which nothing is sent
	Log    *slog.Logger
	Now    func() time.Time // nil: time.Now
}

// Sinks runs all sinks.
type Sinks struct {
	o   Options
	log *slog.Logger
	end sync.WaitGroup

	mu      sync.Mutex // guards what follows
	runners map[string]*runner
	refused map[string]string // why a sink cannot run, by name
}

// New makes the runner of all sinks. Run runs them.
func New(o Options) *Sinks {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Sinks{o: o, log: o.Log.With(logkey.Component, "sinks"), runners: map[string]*runner{},
		refused: map[string]string{}}
}

// Run sends to all sinks until ctx ends.
func (s *Sinks) Run(ctx context.Context) error {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	defer s.end.Wait()
	for {
		s.adopt(ctx, s.o.Store.Sinks())
		s.wake(ctx)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}

// adopt starts a runner for each new or changed sink, and ends those of sinks that are gone.
func (s *Sinks) adopt(ctx context.Context, all []fleet.Sink) {
	s.mu.Lock()
	defer s.mu.Unlock()
	named := map[string]bool{}
	for _, sink := range all {
		named[sink.Name] = true
		was := s.runners[sink.Name]
		if was != nil && reflect.DeepEqual(was.sink, sink) {
			continue
		}
		if was != nil {
			was.stop()
		}
		s.start(ctx, sink)
	}
	for name, r := range s.runners {
		if !named[name] {
			r.stop()
			delete(s.runners, name)
		}
	}
	maps.DeleteFunc(s.refused, func(name string, _ string) bool { return !named[name] })
}

// start runs a sink. The caller holds mu.
func (s *Sinks) start(ctx context.Context, sink fleet.Sink) {
	delete(s.refused, sink.Name)
	delete(s.runners, sink.Name)
	to, err := newSender(sink, s.o)
	if err != nil {
		s.refused[sink.Name] = err.Error()
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	r := newRunner(sink, to, s.o, s.log, cancel)
	s.runners[sink.Name] = r
	s.end.Go(func() { r.run(ctx) })
}

// wake has each runner look that is behind. It asks the database three questions, however many sinks there are.
func (s *Sinks) wake(ctx context.Context) {
	s.mu.Lock()
	runners := maps.Clone(s.runners)
	s.mu.Unlock()
	if len(runners) == 0 {
		return
	}
	cursors, heads, err := s.read(ctx)
	if err != nil {
		if ctx.Err() == nil {
			s.log.Warn("sinks wait: the database cannot be read", logkey.Err(err))
		}
		return
	}
	for name, r := range runners {
		if c, there := cursors[name]; there && heads.after(c) {
			r.rouse()
		}
	}
}

// heads are the numbers of the newest entries.
type heads struct{ log, audit int64 }

// after reports whether there may be entries that a sink did not get. Numbers of the event log have gaps, so their
// difference is no number of entries.
func (h heads) after(c fleet.SinkCursor) bool {
	return c.Lost > 0 || h.log > c.Log || c.Audit >= 0 && h.audit > c.Audit
}

func (s *Sinks) read(ctx context.Context) (cursors map[string]fleet.SinkCursor, newest heads, err error) {
	if cursors, err = s.o.Store.SinkCursors(ctx); err != nil {
		return nil, newest, err
	}
	if _, newest.log, err = s.o.Store.LogBounds(ctx); err != nil {
		return nil, newest, err
	}
	entries, err := s.o.Store.Audit(ctx, fleet.AuditQuery{Limit: 1})
	for _, e := range entries {
		newest.audit = e.ID
	}
	return cursors, newest, err
}

// Troubles returns the names of the sinks that take nothing, sorted.
func (s *Sinks) Troubles() (names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, r := range s.runners {
		if trouble, _ := r.standing(); trouble != "" {
			names = append(names, name)
		}
	}
	return slices.Sorted(slices.Values(slices.AppendSeq(names, maps.Keys(s.refused))))
}

// States returns all sinks, sorted by name, and how each stands.
func (s *Sinks) States(ctx context.Context) ([]fleet.SinkState, error) {
	cursors, err := s.o.Store.SinkCursors(ctx)
	if err != nil {
		return nil, err
	}
	waits, err := s.o.Store.SinkWaits(ctx, mostCounted)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	states := []fleet.SinkState{}
	for _, sink := range s.o.Store.Sinks() {
		c := cursors[sink.Name]
		state := fleet.SinkState{Sink: sink, SinkCursor: c, Waiting: waits[sink.Name], Trouble: s.refused[sink.Name]}
		if r := s.runners[sink.Name]; r != nil {
			state.Trouble, state.Since = r.standing()
		}
		states = append(states, state)
	}
	return states, nil
}

// Try sends a record of trial to a sink once, and waits for the answer.
func (s *Sinks) Try(ctx context.Context, sink fleet.Sink) error {
	to, err := newSender(sink, s.o)
	if err == nil {
		defer to.close()
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, tryLimit)
		defer cancel()
		var refused []refusal
		refused, err = to.send(ctx, []record{trial(s.o.Now())})
		if err == nil && len(refused) > 0 {
			err = refused[0].why
		}
	}
	if err != nil {
		return &fleet.Error{Code: fleet.CodeInvalid, During: "try the sink",
			Message: "the sink did not take the record of trial: " + err.Error(),
			Hint:    "Mend the receiver, or save the sink again: `muster sink set --help` says how."}
	}
	return nil
}
