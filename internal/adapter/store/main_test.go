//muster:needs database
//muster:test -short -rapid.checks=10 -run=Many|Queue|Condition|Concurren|Own|Late|Older|Reader|While|Batch|Kill|Stop
//muster:test -race=false -skip=Many|Queue|Condition|Concurren|Own|Late|Older|Reader|While|Batch|Kill|Stop
//muster:soak
//muster:quick -skip=Dialects|EveryTable|Postgres|Connection|LossOfTheLock|OwnSession|ToTheOtherKind|LostProof|SurvivesKill|RegistryIsWhatTheDatabaseHolds|AModeInForceIsKept|TheStopSwitchWorks|/postgres
package store

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"muster/internal/adapter/seal"
	"muster/internal/adapter/store/pgtest"
	"muster/internal/adapter/store/storetest"
	"muster/internal/fleet"
)

// postgres starts when the first test asks for it.
var postgres = sync.OnceValues(pgtest.Start)

func TestMain(m *testing.M) {
	if home := os.Getenv(crashHome); home != "" {
		os.Exit(writeUntilKilled(home))
	}
	if home := os.Getenv(visitedHome); home != "" {
		os.Exit(visit(home))
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	var started atomic.Bool
	start := postgres
	postgres = func() (*pgtest.Server, error) {
		started.Store(true)
		return start()
	}
	code := m.Run()
	if !started.Load() {
		return code
	}
	server, err := start()
	if err != nil {
		return 1
	}
	if err := server.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, "stop PostgreSQL:", err)
		return 1
	}
	return code
}

// onBoth runs a test on a database of each kind that has its tables, and no rows. Most tests wait for a disk or for a
// process of PostgreSQL, so they run beside each other.
func onBoth(t *testing.T, test func(t *testing.T, options Options)) {
	t.Helper()
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) { test(t, Options{Home: preparedHome(t), Seal: key(t, 1)}) })
	t.Run("postgres", func(t *testing.T) { test(t, Options{DSN: preparedDSN(t), Seal: key(t, 1)}) })
}

// inSample reports whether case i of a large matrix runs: each on SQLite, and in the long form each on PostgreSQL, too.
// The short form runs every fifth there, since each takes five times as long and the code that decides is the same.
// With -short, as with the race detector, a tenth of these runs.
func inSample(o Options, i int) bool {
	if o.DSN != "" && os.Getenv("MUSTER_SOAK") == "" {
		if i%5 != 0 {
			return false
		}
		i /= 5
	}
	return i%10 == 0 || !testing.Short()
}

// stored waits until the database has a mode that it did not take within keepTime, as a busy machine may not.
func stored(s *Store, err error) error {
	if errors.Is(err, fleet.ErrNotKept) && s.keepNow(context.Background()) {
		return nil
	}
	return err
}

// onEmpty runs a test on a database of each kind that has no tables.
func onEmpty(t *testing.T, test func(t *testing.T, options Options)) {
	t.Helper()
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) { test(t, Options{Home: t.TempDir(), Seal: key(t, 1)}) })
	t.Run("postgres", func(t *testing.T) { test(t, Options{DSN: postgresDSN(t), Seal: key(t, 1)}) })
}

var preparedHome = storetest.Prepared(func(home string) error { return prepare(Options{Home: home}) })

// preparedAddress is the database that preparedDSN copies.
var preparedAddress = sync.OnceValues(func() (address string, err error) {
	server, err := postgres()
	if err != nil {
		return "", err
	}
	if address, err = server.NewDatabase(context.Background()); err != nil {
		return "", err
	}
	return address, prepare(Options{DSN: address})
})

func preparedDSN(t *testing.T) string {
	t.Helper()
	address := must(preparedAddress())(t)
	return must(postgres())(t).Copy(t, address)
}

// prepare makes the tables of a database, sealed with the key of the tests.
func prepare(o Options) (err error) {
	if o.Seal, err = seal.New(bytes.Repeat([]byte{1}, seal.KeyBytes)); err != nil {
		return err
	}
	s, err := Open(context.Background(), o)
	if err != nil {
		return err
	}
	return s.Close()
}

func postgresDSN(t *testing.T) string {
	t.Helper()
	return must(postgres())(t).Database(t)
}

func key(tb testing.TB, fill byte) *seal.Key {
	tb.Helper()
	k, err := seal.New(bytes.Repeat([]byte{fill}, seal.KeyBytes))
	if err != nil {
		tb.Fatal(err)
	}
	return k
}

func open(tb testing.TB, options Options) *Store {
	tb.Helper()
	s, err := Open(tb.Context(), options)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s
}

// openWrites connects to the database of a store as another program that writes to it does.
func openWrites(t *testing.T, s *Store) *sql.DB {
	t.Helper()
	db := must(s.dialect.openWrites())(t)
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// deviceN is the n-th device of a test.
func deviceN(n int) fleet.Device {
	var hash [32]byte
	hash[0], hash[1] = byte(n), byte(n>>8)
	return fleet.Device{
		ID: fleet.DeviceIDOf(hash), Label: fmt.Sprintf("device %d", n),
		APIKey:     fleet.NewSecret(fmt.Sprintf("api-key-%d", n)),
		APIAddress: "192.0.2.1", APIPort: 8384,
	}
}

func put(tb testing.TB, s *Store, d fleet.Device) fleet.Device {
	tb.Helper()
	stored, _, err := s.PutDevice(tb.Context(), d, nil)
	if err != nil {
		tb.Fatal(err)
	}
	return stored
}

func create(tb testing.TB, s *Store, label string) fleet.Template {
	tb.Helper()
	stored, err := s.CreateTemplate(tb.Context(), fleet.Template{Label: label, Op: fleet.OpSet, Key: "options.natEnabled",
		Text: "false\n"})
	if err != nil {
		tb.Fatal(err)
	}
	return stored
}

func must[T any](v T, err error) func(testing.TB) T {
	return func(tb testing.TB) T {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
		return v
	}
}

func wantCode(t *testing.T, err error, want fleet.Code) {
	t.Helper()
	if got := fleet.CodeOf(err); got != want {
		t.Fatalf("got %v (code %q), want code %q", err, got, want)
	}
}

// stoppedClock stands still until it is moved.
type stoppedClock struct {
	mu sync.Mutex // guards at
	at time.Time
}

func (c *stoppedClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *stoppedClock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}
