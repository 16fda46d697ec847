package sink

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

const (
	batchEntries = 500
	batchBytes   = 1 << 20
	sendLimit    = time.Minute
	firstPause   = time.Second
	longestPause = 5 * time.Minute
)

// sender sends records to one sink.
type sender interface {
	// send returns once the sink has answered. The records that it names were not taken; all others were. An error
	// says that none was taken, or that nobody knows.
	send(ctx context.Context, records []record) ([]refusal, error)
	close()
}

// refusal is a record that a sink did not take.
type refusal struct {
	at    int // index of the record
	why   error
	again bool // the sink may take it later
}

// batchError says that a sink does not take these records together. One of them may be the reason, or their size.
type batchError struct{ why error }

func (e *batchError) Error() string { return e.why.Error() }

// laterError says how long a sink wants to be left alone.
type laterError struct {
	after time.Duration
	why   error
}

func (e *laterError) Error() string { return e.why.Error() }

// runner sends to one sink. One goroutine (run) owns it.
type runner struct {
	sink  fleet.Sink
	to    sender
	o     Options
	log   *slog.Logger
	stop  context.CancelFunc
	wakes chan struct{} // its capacity is 1

	mu      sync.Mutex // guards what follows
	trouble string
	since   time.Time
}

func newRunner(sink fleet.Sink, to sender, o Options, log *slog.Logger, stop context.CancelFunc) *runner {
	return &runner{sink: sink, to: to, o: o, log: log.With(slog.String("sink", sink.Name)), stop: stop,
		wakes: make(chan struct{}, 1)}
}

func (r *runner) rouse() {
	select {
	case r.wakes <- struct{}{}:
	default:
	}
}

func (r *runner) standing() (trouble string, since time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.trouble, r.since
}

func (r *runner) run(ctx context.Context) {
	defer r.to.close()
	for failures := 0; ctx.Err() == nil; {
		more, err := r.round(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			r.failed(err)
			sleep(ctx, pause(failures, err))
			failures++
		case !more:
			failures = 0
			select {
			case <-ctx.Done():
			case <-r.wakes:
			}
		default:
			failures = 0
		}
	}
}

func pause(failures int, err error) time.Duration {
	d := longestPause
	if failures < 10 {
		d = min(firstPause<<failures, longestPause)
	}
	d = d*3/4 + rand.N(d/4)
	var later *laterError
	if errors.As(err, &later) {
		d = max(d, min(later.after, longestPause))
	}
	return d
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// errNoCursor is the trouble of a sink whose cursor another program deleted. A sink that was removed has no runner.
var errNoCursor = errors.New("the database does not say any more how far it is: save the sink again")

// round sends the next batch, and reports whether there may be more.
func (r *runner) round(ctx context.Context) (more bool, err error) {
	cursors, err := r.o.Store.SinkCursors(ctx)
	if err != nil {
		return false, err
	}
	from, there := cursors[r.sink.Name]
	if !there {
		return false, errNoCursor
	}
	records, to, more, err := r.gather(ctx, from)
	if err != nil || len(records) == 0 && to.Log == from.Log {
		return false, err
	}
	refused, err := r.deliver(ctx, records)
	if err != nil {
		return false, err
	}
	for _, one := range refused {
		if of := records[one.at]; of.number > 0 {
			to.Refused = append(to.Refused, fleet.SinkRefusal{Stream: of.stream, Number: of.number,
				At: r.o.Now().UTC().Truncate(time.Millisecond), Reason: one.why.Error()})
		}
	}
	to.Sent = int64(len(records) - len(refused))
	if to.Reported > 0 {
		to.Sent--
	}
	if len(records) > 0 {
		r.recovered(refused)
	}
	return more, r.advance(ctx, from, to)
}

// advance records what the sink took. It does not give up, since the batch would be sent again.
func (r *runner) advance(ctx context.Context, from fleet.SinkCursor, to fleet.SinkProgress) error {
	for failures := 0; ; failures++ {
		err := r.o.Store.AdvanceSink(ctx, r.sink.Name, from, to)
		if err == nil || ctx.Err() != nil {
			return err
		}
		if failures == 0 {
			r.log.Warn("what the sink took cannot be recorded", logkey.Err(err))
		}
		sleep(ctx, pause(failures, err))
	}
}

// gather reads the next entries. A sink that lost entries is told so first.
func (r *runner) gather(ctx context.Context, from fleet.SinkCursor) (records []record, to fleet.SinkProgress, more bool,
	err error) {
	to = fleet.SinkProgress{Log: from.Log, Audit: from.Audit}
	if from.Lost > 0 {
		records, to.Reported = append(records, gap(r.sink.Name, from.Lost, from.Gaps, r.o.Now())), from.Lost
	}
	entries, err := r.o.Store.LogEntries(ctx, fleet.LogQuery{Oldest: true, After: from.Log, Limit: batchEntries})
	if err != nil {
		return nil, to, false, err
	}
	kinds := map[fleet.LogKind]bool{}
	for _, kind := range r.sink.Kinds() {
		kinds[kind] = true
	}
	size := 0
	fits := func(one record) bool {
		size += len(one.json)
		return len(records) == 0 || len(records) < batchEntries && size <= batchBytes
	}
	more = len(entries) == batchEntries
	for _, e := range entries {
		if kinds[e.Kind] {
			one := ofLog(e)
			if !fits(one) {
				return records, to, true, nil
			}
			records = append(records, one)
		}
		to.Log = e.Number
	}
	if from.Audit < 0 {
		return records, to, more, nil
	}
	audit, err := r.o.Store.Audit(ctx, fleet.AuditQuery{Oldest: true, After: from.Audit, Limit: batchEntries})
	for _, e := range audit {
		one := ofAudit(e)
		if !fits(one) {
			return records, to, true, nil
		}
		records, to.Audit = append(records, one), e.ID
	}
	return records, to, more || len(audit) == batchEntries, err
}

// deliver sends records until each was taken or refused for good.
func (r *runner) deliver(ctx context.Context, records []record) (refused []refusal, err error) {
	left := make([]int, len(records))
	for i := range left {
		left[i] = i
	}
	for tries := 0; len(left) > 0; tries++ {
		var batch []record
		for _, i := range left {
			batch = append(batch, records[i])
		}
		answers, err := r.sendBatch(ctx, batch)
		if err != nil {
			return nil, err
		}
		var again []int
		for _, one := range answers {
			at := left[one.at]
			if one.again {
				again = append(again, at)
				err = one.why
			} else {
				refused = append(refused, refusal{at: at, why: one.why})
			}
		}
		if len(again) > 0 {
			r.failed(err)
			sleep(ctx, pause(tries, err))
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
		}
		left = again
	}
	return refused, nil
}

// sendBatch sends records. Where the sink refuses all of them, it is asked with a record of trial whether it refuses
// everything: then the sink is at fault, and nothing is passed over.
func (r *runner) sendBatch(ctx context.Context, batch []record) ([]refusal, error) {
	refused, err := r.send(ctx, batch)
	var whole *batchError
	switch {
	case errors.As(err, &whole):
		if err := r.probe(ctx); err != nil {
			return nil, err
		}
		return r.halve(ctx, batch, whole)
	case err == nil && len(refused) == len(batch) && !refused[0].again:
		return refused, r.probe(ctx)
	}
	return refused, err
}

func (r *runner) probe(ctx context.Context) error {
	refused, err := r.send(ctx, []record{trial(r.o.Now())})
	if err == nil && len(refused) > 0 {
		err = refused[0].why
	}
	if err != nil {
		return fmt.Errorf("it refuses everything: %w", err)
	}
	return nil
}

func (r *runner) send(ctx context.Context, batch []record) ([]refusal, error) {
	ctx, cancel := context.WithTimeout(ctx, sendLimit)
	defer cancel()
	return r.to.send(ctx, batch)
}

// sendParts sends records at once. A batch that is refused as a whole is sent in halves, down to the record at fault.
func (r *runner) sendParts(ctx context.Context, batch []record) ([]refusal, error) {
	refused, err := r.send(ctx, batch)
	var whole *batchError
	if !errors.As(err, &whole) {
		return refused, err
	}
	return r.halve(ctx, batch, whole)
}

func (r *runner) halve(ctx context.Context, batch []record, whole *batchError) ([]refusal, error) {
	if len(batch) == 1 {
		return []refusal{{at: 0, why: whole.why}}, nil
	}
	half := len(batch) / 2
	first, err := r.sendParts(ctx, batch[:half])
	if err != nil {
		return nil, err
	}
	second, err := r.sendParts(ctx, batch[half:])
	for _, one := range second {
		one.at += half
		first = append(first, one)
	}
	return first, err
}

func (r *runner) failed(err error) {
	text := err.Error()
	r.mu.Lock()
	changed := r.trouble != text
	if r.trouble == "" {
		r.since = r.o.Now()
	}
	r.trouble = text
	r.mu.Unlock()
	if changed {
		r.log.Warn("the sink takes nothing", logkey.Err(err))
	}
}

func (r *runner) recovered(refused []refusal) {
	r.mu.Lock()
	was := r.trouble
	r.trouble, r.since = "", time.Time{}
	r.mu.Unlock()
	if was != "" {
		r.log.Info("the sink takes entries again", logkey.Reason, was)
	}
	if len(refused) > 0 {
		r.log.Warn("the sink refused entries", logkey.Count, len(refused), logkey.Err(refused[0].why))
	}
}
