// Package store stores everything that must survive a restart: what people registered, what daemons reported last,
// and what Muster wrote to daemons. It uses the same SQL for SQLite and PostgreSQL; dialect.go has the differences.
//
// Every write goes through one goroutine. It commits the waiting writes together, each in a savepoint of its own, and
// acknowledges them after the commit reached the disk. What people registered is also held in memory, as of the last
// commit, so that reading it costs no query. Rules about daemons and templates are elsewhere: the store does not know
// what the data means.
package store

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"muster/internal/fleet"
)

// Sealer encrypts a value for one place, and opens it only in that place.
type Sealer interface {
	ID() string // identifies the seal key
	Seal(table, row, column string, plain []byte) []byte
	Open(table, row, column string, sealed []byte) ([]byte, error)
	Current(sealed []byte) bool // reports whether a value was sealed with the present key
	Derive(purpose string) ([]byte, error)
}

// Options name the database, and contain what the store needs from the rest of the server.
type Options struct {
	DSN  string // "postgres://...", "" for SQLite in Home
	Home string // directory of muster.db and its lock, which must exist; "" with a DSN
	Seal Sealer // nil if the key does not exist yet or is lost

	// MakeSeal creates the seal key if Seal is nil and nothing is sealed in the database yet.
	MakeSeal func() (Sealer, error)

	EndFile string // path of the file with the audit's newest entry (see endFile), beside fleet.AcceptFile; "": none

	Restoring bool // A restore makes the home folder: a missing EndFile is not recorded in the audit.

	Revisions int // number that a device keeps, applied at each new one; 0: only PruneRevisions bounds them

	Reads int // largest number of connections that read; 0: the default

	Log *slog.Logger     // nil: nothing is logged
	Now func() time.Time // nil: time.Now

	// Committed is called after each commit, before the commit's writes are acknowledged, with everything that the
	// commit changed. It is also called when a mode takes effect that cannot be stored. Calls do not overlap.
	// Committed must return quickly and must not write to the store, because every write waits for it.
	Committed func(fleet.Committed)

	// Taken is called once, when another server has taken the database. From then on nothing is written, and this
	// server has to end.
	Taken func(error)

	// Memory limits the memory for reading large configurations. Nil means no limit.
	Memory Memory
}

// Memory reserves memory for the work of a context. If there is not enough, Take returns an error, and the work ends
// with it.
type Memory interface {
	Take(ctx context.Context, bytes int64) error
}

// Store is one open database. All methods may be called concurrently.
type Store struct {
	dialect dialect
	seal    Sealer
	log     *slog.Logger
	now     func() time.Time

	reads  *reads
	model  model
	writer *writer

	admission atomic.Pointer[fleet.Admission] // replaced by the writer only
	home      *homeLock                       // nil with PostgreSQL
	lock      lock
	known     knownEnds
	markKey   []byte // Muster's own key for the marks of rows
	end       endFile
	lostKey   bool // The database lost the key of its marks (see loadMarkKey).
	loss      losses
	accept    acceptCode

	writable writable
	taken    func(error)
	memory   Memory // nil: not bounded

	revisions int // number that a device keeps; 0: see Options.Revisions

	keeping   sync.Mutex  // guards keepTimer
	keepTimer *time.Timer // runs keepNow at the next attempt; nil if none is due

	decisions modeDecisions
	bounded   bounded
	tampering tampering
}

// Open locks the database for this process, brings its tables up to date, reads what is registered and starts the
// writer. It returns a conflict error if another server uses the database, if the database is newer than this
// program, or if the seal key does not fit.
func Open(ctx context.Context, options Options) (*Store, error) {
	s := &Store{seal: options.Seal, log: options.Log, now: options.Now, taken: options.Taken, memory: options.Memory,
		revisions: options.Revisions}
	s.end.path = options.EndFile
	if options.EndFile != "" {
		s.accept.path = filepath.Join(filepath.Dir(options.EndFile), fleet.AcceptFile)
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.now == nil {
		s.now = time.Now
	}
	var err error
	if s.dialect, err = dialectOf(options); err != nil {
		return nil, err
	}
	if err := s.open(ctx, options); err != nil {
		return nil, errors.Join(failure("open database", err), s.release())
	}
	go s.writer.run() //nolint:contextcheck // it outlives the call, and ends with Close
	return s, nil
}

func (s *Store) open(ctx context.Context, options Options) (err error) {
	if s.home, err = s.dialect.lockHome(); err != nil {
		return err
	}
	s.writer = newWriter(s, options.Committed)
	if err := s.writer.connect(ctx); err != nil {
		return err
	}
	if err := s.migrate(ctx, migrations); err != nil {
		return err
	}
	if s.home != nil {
		if err := s.home.opened(); err != nil {
			return err
		}
	}
	if err := s.writer.checkSeal(ctx, options.MakeSeal); err != nil {
		return err
	}
	if err := s.writer.alone(ctx, (*tx).loadMarkKey); err != nil {
		return err
	}
	if err := s.writer.claim(ctx); err != nil {
		return err
	}
	if err := s.writer.checkEnd(ctx, options.Restoring); err != nil {
		return err
	}
	if err := s.writer.markFirst(ctx); err != nil {
		return err
	}
	if err := s.writer.alone(ctx, (*tx).finishRestore); err != nil {
		return err
	}
	pool, err := s.dialect.openReads()
	if err != nil {
		return err
	}
	s.reads = newReads(pool, s.dialect.parsesEveryTime())
	if err := s.writer.checkDevices(ctx); err != nil {
		return err
	}
	if err := s.writer.checkDecisions(ctx); err != nil {
		return err
	}
	if _, err = s.writer.reload(ctx); err != nil {
		return err
	}
	s.accept.renew(s)
	found, err := s.checkProofs(ctx)
	s.tampering.add(found...)
	return err
}

// Close finishes all writes in the queue, then closes the database. Later writes get an unavailable error. Registry
// can still be called.
func (s *Store) Close() error {
	s.stopKeeping()
	s.writer.stop()
	return s.release()
}

func (s *Store) release() error {
	var errs []error
	if s.reads != nil {
		errs = append(errs, s.reads.Close())
	}
	if s.writer != nil {
		errs = append(errs, s.writer.disconnect())
	}
	errs = append(errs, s.end.close())
	if s.home != nil {
		errs = append(errs, s.home.release())
		s.home = nil
	}
	return errors.Join(errs...)
}

// clock returns the present time in milliseconds, the precision with which the database stores times.
func (s *Store) clock() time.Time { return s.now().UTC().Truncate(time.Millisecond) }
