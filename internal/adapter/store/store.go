// Package store keeps what must survive a restart: what people registered, what daemons last told, what Muster wrote
// to them. It has one SQL text for SQLite and PostgreSQL; dialect.go has what differs.
//
// Every write goes through one goroutine. It commits the waiting writes together, each in a savepoint of its own, and
// acknowledges them after the commit reached the disk. What people registered is also held in memory, as of the last
// commit, so that reading it costs no query. The store knows what is kept, not what it means: rules about daemons and
// templates are elsewhere.
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
	Current(sealed []byte) bool // tells whether a value was sealed with the present key
	Derive(purpose string) ([]byte, error)
}

// Options name the database, and have what the store needs of the rest of the server.
type Options struct {
	DSN  string // "postgres://...", "" for SQLite in Home
	Home string // directory of muster.db and its lock, which must exist; "" with a DSN
	Seal Sealer // nil: the key does not exist yet, or is lost

	// MakeSeal makes the seal key, where Seal is nil, for a database in which nothing is sealed yet.
	MakeSeal func() (Sealer, error)

	EndFile string // path of the file that remembers how the audit ends, beside fleet.AcceptFile; "": nothing does

	Restoring bool // a restore makes the home: that it has no EndFile yet is no entry of the audit

	Revisions int // how many a device keeps, from each new one on; 0: only PruneRevisions bounds them

	Reads int // connections that may read at a time; 0: the usual number

	Log *slog.Logger     // nil: nothing is logged
	Now func() time.Time // nil: time.Now

	// Committed is called after each commit, before the commit's writes are acknowledged, with everything that the
	// commit changed. It is also called when a mode is put in force that cannot be stored. Calls do not overlap. It must
	// return quickly and must not write to the store: every write waits for it.
	Committed func(fleet.Committed)

	// Taken is called once, when another server has the database. From then on nothing is written, and this server has
	// to end.
	Taken func(error)

	// Memory bounds the memory for large configurations that are read. Nil: it is not bounded.
	Memory Memory
}

// Memory gives memory to the work of a context. Where there is not enough, the work ends with the error that Memory
// gives.
type Memory interface {
	Take(ctx context.Context, bytes int64) error
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

	admission atomic.Pointer[fleet.Admission] // only the writer replaces it
	home      *homeLock                       // nil with PostgreSQL
	lock      lock
	known     knownEnds
	markKey   []byte // Muster's own key for the marks of rows
	end       endFile
	lostKey   bool // The database does not have the key of its marks: no row is believed.
	loss      losses
	accept    acceptCode

	writable writable
	taken    func(error)
	memory   Memory // nil: not bounded

	revisions int // of a device; 0: PruneRevisions alone bounds them

	keeping   sync.Mutex  // guards keepTimer
	keepTimer *time.Timer // runs the next attempt to store modes that are in force; nil where none is due

	decisions modeDecisions
	bounded   bounded
	tampering tampering
}

// Open locks the database for this process, brings its tables up to date, reads what is registered and starts the
// writer. It answers conflict when another server holds the database, when the database is newer than this program,
// and when the seal key does not fit it.
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

// Close finishes all writes in the queue, then closes the database. Later writes are answered unavailable. What
// people registered can still be read.
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

// clock gives the present time, as exact as the database keeps it.
func (s *Store) clock() time.Time { return s.now().UTC().Truncate(time.Millisecond) }
