package store

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"modernc.org/sqlite"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

const (
	queueLength = 1024 // writes that wait; further callers wait for a place in the queue
	batchLength = 256  // writes in one transaction

	reconnectLimit = 10 * time.Second
)

// writer is the one goroutine that writes. It takes all waiting writes and runs each in a savepoint of one
// transaction. It commits, updates the contents in memory, calls Options.Committed, and only then answers the callers.
// If one write fails, only its savepoint is rolled back. If the whole transaction fails, every caller gets that error.
type writer struct {
	store     *Store
	committed func(fleet.Committed)

	closing sync.RWMutex // guards closed; held for reading while a write is being queued
	closed  bool
	queue   chan *request
	done    chan struct{} // closed when run has ended

	scrubs     chan chan error
	unscrubbed bool // SQLite's log may still have deleted content. Only run uses this field.

	session  *session // connection for writing; nil without one. Open uses it before run starts, then only run.
	instance string   // random text that claim wrote into the database; see checkClaim

	headBeyond int64 // ID of the last head that findHeadsBeyond recorded; only run uses it

	explained map[fleet.DeviceID]explanation // see explain; only run uses it
	decided   map[fleet.ModeScope]int64      // turn (see override) of the mode written last, by scope; only run uses it

	telling sync.Mutex // held while Options.Committed is called
}

// request is one write on its way through the queue.
type request struct {
	during string
	do     func(*tx) error // nil: the caller only asks whether the lock is held
	who    string
	person string // see fleet.PersonOf
	role   fleet.Role
	title  string      // The person wrote it about the act; see fleet.MessageOf.
	taken  atomic.Bool // set by the writer when it takes the request, or by the caller when it gives up
	answer chan error  // buffered for the one answer
}

func newWriter(s *Store, committed func(fleet.Committed)) *writer {
	return &writer{store: s, committed: committed, queue: make(chan *request, queueLength), done: make(chan struct{}),
		scrubs: make(chan chan error), unscrubbed: true, // a crash may have left something in SQLite's log
		explained: map[fleet.DeviceID]explanation{}, decided: map[fleet.ModeScope]int64{}}
}

// write queues do and waits for its commit. If ctx ends before the writer has taken the request, write returns an
// error and nothing is written. After that, write waits for the result even if ctx ends, so that its answer is always
// true.
func write[T any](ctx context.Context, s *Store, during string, do func(*tx) (T, error)) (T, error) {
	var none, result T
	err := s.writer.submit(ctx, &request{
		during: during, who: fleet.ActorOf(ctx), person: fleet.PersonOf(ctx), role: fleet.RoleOf(ctx),
		title: fleet.MessageOf(ctx), answer: make(chan error, 1),
		do: func(t *tx) (err error) {
			result, err = do(t)
			return err
		},
	})
	if err != nil {
		return none, err
	}
	return result, nil
}

func (w *writer) submit(ctx context.Context, r *request) error {
	if err := w.enqueue(ctx, r); err != nil {
		return err
	}
	select {
	case err := <-r.answer:
		return err
	case <-ctx.Done():
		if r.taken.CompareAndSwap(false, true) {
			return gaveUp(r, ctx)
		}
		return <-r.answer
	}
}

func (w *writer) enqueue(ctx context.Context, r *request) error {
	w.closing.RLock()
	defer w.closing.RUnlock()
	if w.closed {
		return shuttingDown(r.during)
	}
	select {
	case w.queue <- r:
		return nil
	case <-ctx.Done():
		return gaveUp(r, ctx)
	}
}

func shuttingDown(during string) error {
	return &fleet.Error{Code: fleet.CodeUnavailable, During: during, Message: "Muster is shutting down", Hint: tryAgain}
}

func gaveUp(r *request, ctx context.Context) error {
	return &fleet.Error{
		Code: fleet.CodeUnavailable, During: r.during,
		Message: "nothing was written: the request ended while it waited for the database",
		Hint:    tryAgain, Err: context.Cause(ctx),
	}
}

// stop refuses new writes, and returns when all queued writes are answered.
func (w *writer) stop() {
	w.closing.Lock()
	if !w.closed {
		w.closed = true
		close(w.queue)
	}
	w.closing.Unlock()
	<-w.done
}

func (w *writer) stopped() bool {
	w.closing.RLock()
	defer w.closing.RUnlock()
	return w.closed
}

func (w *writer) run() {
	defer close(w.done)
	idle := time.NewTicker(verifyEvery)
	defer idle.Stop()
	for {
		select {
		case first, open := <-w.queue:
			if !open {
				return
			}
			w.serve(first)
		case answer := <-w.scrubs:
			answer <- w.scrub()
		case <-idle.C:
			w.verify()
			w.scrubSoon()
		}
	}
}

func (w *writer) serve(first *request) {
	batch := w.gather(first)
	if len(batch) == 0 {
		return
	}
	err := w.commit(batch)
	for _, b := range batch {
		if b.err == nil {
			b.err = err
		}
		answer := failure(b.request.during, b.err)
		w.store.writable.note(answer)
		b.request.answer <- answer
	}
}

// attempt is one write of a batch, with its result.
type attempt struct {
	request *request
	err     error
}

// gather returns a batch: first, which the writer took from the queue already, and the writes that wait now, at most
// batchLength in all. It leaves out requests whose callers gave up. It does not wait for more: the next batch gathers
// while this one is being written to disk.
func (w *writer) gather(first *request) []*attempt {
	var batch []*attempt
	add := func(r *request) {
		if r.taken.CompareAndSwap(false, true) {
			batch = append(batch, &attempt{request: r})
		}
	}
	add(first)
	for len(batch) < batchLength {
		select {
		case r, open := <-w.queue:
			if !open {
				return batch
			}
			add(r)
		default:
			return batch
		}
	}
	return batch
}

// commit runs a batch and commits it. It returns the error of the batch as a whole. The error of a single write is in
// its attempt.
func (w *writer) commit(batch []*attempt) error {
	ctx := context.Background()
	if limit := w.store.dialect.batchLimit(); limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	effects, err := w.transact(ctx, batch)
	if err != nil {
		effects.takeBack()
		w.store.log.Warn("a transaction failed", logkey.Err(err))
		w.startOver()
		return err
	}
	w.unscrubbed = w.unscrubbed || effects.forgets
	if effects.empty() {
		return nil
	}
	w.store.model.apply(effects.model)
	for _, run := range effects.after {
		run()
	}
	w.tell(effects.committed)
	return nil
}

func (w *writer) transact(ctx context.Context, batch []*attempt) (effects effects, err error) {
	if !slices.ContainsFunc(batch, func(b *attempt) bool { return b.request.do != nil }) {
		return effects, w.first(ctx, `SELECT 1`)
	}
	if err := w.begin(ctx); err != nil {
		return effects, err
	}
	now := w.store.clock()
	for _, b := range batch {
		if b.request.do == nil {
			continue
		}
		t := &tx{store: w.store, session: w.session, ctx: ctx, now: now, who: b.request.who,
			person: b.request.person, role: b.request.role, pending: effects}
		err := t.savepoint(b)
		if b.err == nil {
			titleEntries(t.effects.audit, b.request.title)
			effects.merge(t.effects)
		}
		if err != nil {
			return effects, err
		}
	}
	end := &tx{store: w.store, session: w.session, ctx: ctx, now: now}
	if err := end.appendAudit(effects); err != nil {
		return effects, err
	}
	effects.merge(end.effects)
	return effects, w.session.exec(ctx, "COMMIT")
}

func (w *writer) begin(ctx context.Context) error { return w.first(ctx, w.store.dialect.begin()) }

// first checks the lock, and executes the first statement of a batch. If the connection was cut while it was idle,
// first connects again. That is safe because the transaction has written nothing yet.
func (w *writer) first(ctx context.Context, statement string) error {
	if err := w.store.lock.takenAway(); err != nil {
		return err
	}
	if err := w.checkHome(ctx); err != nil {
		return err
	}
	if w.session != nil {
		err := w.session.exec(ctx, statement)
		var local *sqlite.Error // an error of SQLite, where no connection can be cut
		if err == nil || errors.As(err, &local) {
			return err
		}
		w.store.log.Info("the connection to the database was cut", logkey.Err(errors.Join(err, w.disconnect())))
	}
	if err := w.reconnect(ctx); err != nil {
		return unavailable(err)
	}
	return w.session.exec(ctx, statement)
}

func (w *writer) tell(committed fleet.Committed) {
	w.telling.Lock()
	defer w.telling.Unlock()
	if w.committed != nil && !committed.Empty() {
		w.committed(committed)
	}
}

// startOver connects again after a failed transaction, and reads the contents again, because nobody knows whether the
// commit reached the disk.
func (w *writer) startOver() {
	if w.session == nil {
		return // The connection could not be made before.
	}
	if err := w.disconnect(); err != nil {
		w.store.log.Debug("closing the connection that failed", logkey.Err(err))
	}
	ctx, cancel := context.WithTimeout(context.Background(), reconnectLimit)
	defer cancel()
	if err := w.reconnect(ctx); err != nil {
		w.store.log.Warn("the database is not back yet", logkey.Err(err))
	}
}

func (w *writer) reconnect(ctx context.Context) error {
	changed, err := w.connectAgain(ctx)
	if fleet.CodeOf(err) == fleet.CodeConflict {
		err = takenBy("database", err)
	}
	if w.store.home == nil || errors.Is(err, errTaken) {
		w.noteLock(err)
	}
	if err != nil {
		return errors.Join(err, w.disconnect())
	}
	w.tell(changed)
	return nil
}

// connectAgain makes a new connection, takes the lock and reads the contents. changed says which parts of the contents
// may differ from what was in memory. The tables in growingTables are not compared with their marks, because that may
// take longer than reconnectLimit.
func (w *writer) connectAgain(ctx context.Context) (changed fleet.Committed, err error) {
	if err := w.connect(ctx); err != nil {
		return changed, err
	}
	if err := w.checkClaim(ctx); err != nil {
		return changed, err
	}
	return w.reload(ctx, loadedTables)
}
