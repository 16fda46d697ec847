// Package store stores everything that must survive a restart: what people registered, what daemons reported last, and
// what Muster wrote to daemons. It uses the same SQL for SQLite and PostgreSQL; dialect.go has the differences.
//
// Every write goes through one goroutine. It commits the waiting writes together, each in a savepoint of its own, and
// acknowledges them after the commit reached the disk. What people registered is also held in memory, as of the last
// commit, so that reading it costs no query. Rules about daemons and templates are elsewhere: the store does not know
// what the data means.
//
// The store finds rows that another program wrote, changed, removed or put back (see DESIGN.md). Terms:
//
//   - seal: encryption of a value for one table, row and column. It takes the seal key, which is not in the database.
//     A sealed value that was changed or moved does not open.
//   - proof: a sealed value that shows whether rows are as Muster wrote them. The proofs in the table proofs are about
//     other rows; tables of devices, decisions, sessions and log-in links have a column proof, about the row itself.
//   - sum: the digest of a row's content (sumOf) or of a whole roster. The sum of a table's marks is their combination
//     by exclusive or.
//   - roster: the proof that maps each row of a table to the row's sum. The tables of tokens, users, secrets and enrol
//     keys have one.
//   - mark: in a marked table (markedTable), a keyed digest of a row, in the row's column mark. In the proof of a
//     device or decision, a random number, new with each write (rowProof).
//   - audit: the list of entries about who did what. Each entry contains the hash of the entry before it.
//   - ends: the proof about the audit and the other proofs (auditends.go): the audit's first and last entry, the sum
//     of each roster, and the combined marks of each table.
//   - head: the ID and hash of an audit entry, signed by Muster. A head that is kept elsewhere proves that no entry up
//     to this one was changed later.
//   - end file: the file in the home folder that names the newest audit entry (endFile).
//   - believed: said of a row of a marked table that fits its mark, in a table that is not in doubt as a whole. A row
//     that is not believed gives no power.
//   - in doubt: said of a row that does not fit its mark, and of a whole table whose rows together are not those that
//     the ends expect.
//   - altered: said of a row that does not fit its proof or its roster, and of a device without a pin while device rows
//     were removed or put back.
//   - loss: a range of audit entries that the database lacks although the end file or this process knew them. Until an
//     administrator accepts the loss, nothing is written to daemons.
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

// Sealer seals a value for one place: a table, row and column. Open returns an error for any other place, for a value
// that was changed, and for a value whose key the Sealer does not have.
type Sealer interface {
	ID() string // identifies the seal key
	Seal(table, row, column string, plain []byte) []byte
	Open(table, row, column string, sealed []byte) ([]byte, error)
	Current(sealed []byte) bool // reports whether a value was sealed with the present key
	Derive(purpose string) ([]byte, error)
}

// Options contain everything that Open needs: where the database is, and what other parts of the server provide.
type Options struct {
	DSN  string // "postgres://...", "" for SQLite in Home
	Home string // directory of muster.db and its lock, which must exist; "" with a DSN
	Seal Sealer // nil if the key does not exist yet or is lost

	// MakeSeal creates the seal key. Open calls it if Seal is nil and nothing in the database is sealed yet. If MakeSeal
	// is nil too, Open returns an error.
	MakeSeal func() (Sealer, error)

	EndFile string // path of the end file (see endFile), beside fleet.AcceptFile; "": neither file is kept

	// Restored is set where a restore opens the database that it has just filled (see Load). Only then the note about the
	// restore gets its mark, and a missing end file is not recorded in the audit.
	Restored *fleet.Restored

	Reads int // largest number of connections that read; 0: the default

	Log *slog.Logger     // nil: nothing is logged
	Now func() time.Time // nil: time.Now

	// Committed is called after each commit, before the commit's writes are acknowledged, with everything that the
	// commit changed. It is also called when a mode takes effect before it is stored, and when the contents were read
	// again. Calls do not overlap. Committed must return quickly and must not write to the store, because every write
	// waits for it.
	Committed func(fleet.Committed)

	// Taken is called once, when another server has taken the database. From then on nothing is written, and this
	// server has to end.
	Taken func(error)

	// Memory limits the memory for reading large configurations. Nil means no limit.
	Memory Memory
}

// Memory limits the memory that the work of a context may use. Take asks for further bytes. If it returns an error,
// the work must end and return that error.
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
	decoded   decodedProofs
	markKey   []byte // Muster's own key for the marks of rows
	end       endFile
	lostKey   bool // The database lost the key of its marks (see loadMarkKey).
	loss      losses
	accept    acceptCode

	writable writable
	taken    func(error)
	memory   Memory // nil: not bounded

	retention atomic.Pointer[Retention] // see SetRetention; nil: everything is kept
	cleaning  chan struct{}             // tells RunJanitor that the retention changed; its capacity is 1

	keeping   sync.Mutex  // guards keepTimer
	keepTimer *time.Timer // calls keepNow at the next attempt; nil if no attempt is due

	decisions modeDecisions
	bounded   bounded
	tampering tampering
}

// Open locks the database for this process, brings its tables up to date, reads what is registered and starts the
// writer. It returns a conflict error if another server uses the database, if the database is newer than this
// program, or if the seal key does not fit.
func Open(ctx context.Context, options Options) (*Store, error) {
	s := &Store{seal: options.Seal, log: options.Log, now: options.Now, taken: options.Taken, memory: options.Memory,
		cleaning: make(chan struct{}, 1)}
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
	if err := s.writer.checkEnd(ctx, options.Restored != nil); err != nil {
		return err
	}
	if err := s.writer.markFirst(ctx); err != nil {
		return err
	}
	if of := options.Restored; of != nil {
		if err := s.writer.alone(ctx, func(t *tx) error { return t.finishRestore(*of) }); err != nil {
			return err
		}
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
	if _, err = s.writer.reload(ctx, markedTables); err != nil {
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
