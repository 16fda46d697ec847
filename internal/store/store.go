// Package store keeps what must survive a restart: what people registered, what daemons last said, what Muster wrote
// to them. One SQL text for SQLite and PostgreSQL; dialect.go holds what differs.
//
// Every write goes through one goroutine that commits the waiting writes together, each in a savepoint of its own, and
// is acknowledged after the commit reached the disk. What people registered is also held in memory, as of the last
// commit, so that reading it costs no query. The store knows what is kept, not what it means: rules about daemons and
// templates are elsewhere.
package store

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"muster/internal/fleet"
)

// Sealer encrypts a value for its place, and opens it in that place only.
type Sealer interface {
	ID() string // of the key
	Seal(table, row, column string, plain []byte) []byte
	Open(table, row, column string, sealed []byte) ([]byte, error)
	Current(sealed []byte) bool // it was sealed with the key that seals now
	Derive(purpose string) ([]byte, error)
}

// Options say which database to use, and what the store needs of its surroundings.
type Options struct {
	DSN  string // "postgres://...", "" for SQLite in Home
	Home string // directory of muster.db, its lock and ProvenFile; must exist; with a DSN of ProvenFile only, "": none
	Seal Sealer // nil: there is none yet, or it is lost

	// MakeSeal makes the key of a database in which nothing is sealed yet, where Seal is nil.
	MakeSeal func() (Sealer, error)

	Reads int // connections that may read at a time; 0: as many as usual

	Log *slog.Logger     // nil: nothing is logged
	Now func() time.Time // nil: time.Now

	// Committed is called after each commit and before its writes are acknowledged, one call at a time, with all that
	// the commit changed, and when a mode is put in force that cannot be kept. It must return quickly and must not write
	// to the store: everybody who writes waits for it.
	Committed func(fleet.Committed)

	// Taken is called once, when another server has the database: nothing is written any more, and this server has to
	// end.
	Taken func(error)
}

// Store is one open database. All methods may be used at the same time.
type Store struct {
	dialect dialect
	seal    Sealer
	log     *slog.Logger
	now     func() time.Time

	reads  *reads
	model  model
	writer *writer

	admission atomic.Pointer[fleet.Admission] // replaced by the writer only
	home      *homeLock                       // nil without one
	homePath  string                          // of ProvenFile; "" without one
	lock      lock
	known     knownEnds

	writable writable
	taken    func(error)

	keeping   sync.Mutex  // guards keepTimer
	keepTimer *time.Timer // of the next attempt to keep modes that are in force; nil without one

	decisions modeDecisions
	bounded   bounded
	tampering tampering
}

// Open locks the database for this process, brings its tables up to date, reads what is registered and starts the
// writer. It answers conflict when another server holds the database, when the database is newer than this program,
// and when the seal key does not fit it.
func Open(ctx context.Context, options Options) (*Store, error) {
	s := &Store{seal: options.Seal, homePath: options.Home, log: options.Log, now: options.Now, taken: options.Taken}
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
	if err := migrate(ctx, s.dialect); err != nil {
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
	if err := s.writer.claim(ctx); err != nil {
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
	return s.checkProofs(ctx)
}

// Close answers everything that is queued, then lets go of the database. Later writes are answered unavailable;
// reading what is registered keeps working.
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
	if s.home != nil {
		errs = append(errs, s.home.release())
		s.home = nil
	}
	return errors.Join(errs...)
}

// clock is the present, as exact as the database keeps it.
func (s *Store) clock() time.Time { return s.now().UTC().Truncate(time.Millisecond) }
