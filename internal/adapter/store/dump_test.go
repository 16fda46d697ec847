package store

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"muster/internal/adapter/seal"
	"muster/internal/fleet"
)

// A table that is forgotten in the list would be in no backup.
func TestEveryTableIsInABackup(t *testing.T) {
	t.Parallel()
	s := open(t, Options{Home: t.TempDir(), Seal: key(t, 1)})
	if got, want := slices.Sorted(slices.Values(dumpedTables)), tablesOf(t, s); !slices.Equal(got, want) {
		t.Errorf("a backup has %v\nthe database has %v", got, want)
	}
}

// dumped keeps what a Sink is given.
type dumped struct {
	version   int64
	tables    []string
	columns   map[string][]string
	rows      map[string][]string // as text
	sequences map[string]int64
}

func (d *dumped) Schema(version int64) error {
	*d = dumped{version: version, columns: map[string][]string{}, rows: map[string][]string{},
		sequences: map[string]int64{}}
	return nil
}

func (d *dumped) Table(name string, columns []string) error {
	d.tables = append(d.tables, name)
	d.columns[name] = slices.Clone(columns)
	return nil
}

func (d *dumped) Row(values []any) error {
	table := d.tables[len(d.tables)-1]
	var cells []string
	for i, column := range d.columns[table] {
		cells = append(cells, fmt.Sprintf("%s=%T(%v)", column, values[i], values[i]))
	}
	slices.Sort(cells) // the columns have another order in the other database
	d.rows[table] = append(d.rows[table], strings.Join(cells, " "))
	return nil
}

func (d *dumped) Sequence(table string, last int64) error {
	d.sequences[table] = last
	return nil
}

func dumpOf(t *testing.T, options Options) *dumped {
	t.Helper()
	var d dumped
	if err := Dump(t.Context(), options, &d); err != nil {
		t.Fatal(err)
	}
	for table := range d.rows {
		slices.Sort(d.rows[table])
	}
	return &d
}

// rowsInEveryTable fills a database with the rows of every version of the tables, and with some more.
func rowsInEveryTable(t *testing.T, options Options) {
	t.Helper()
	upgradeRows(t, options, nil)
	s := must(Open(t.Context(), options))(t)
	device := fillSealed(t, s, 30)
	err := errors.Join(stored(s, s.PutTagMode(t.Context(), "office", fleet.ModeObserve)),
		s.CreateToken(t.Context(), fleet.Token{Name: "t", Role: fleet.RoleAdmin, Hash: "h", CreatedAt: time.Unix(3, 0)}),
		s.SaveObservations(t.Context(), []fleet.Observation{{Device: device.ID, LastSeen: time.Unix(4, 0),
			Status: &fleet.Status{MyID: device.ID}, Version: &fleet.Version{}, Summaries: []fleet.FolderSummary{{Folder: "f"}},
			Config: &fleet.ObservedConfig{JSON: []byte("{}"), Digest: "x", Folders: []fleet.FolderLabel{{Folder: "f"}}}}}))
	if err != nil {
		t.Fatal(err)
	}
	deleted := create(t, s, "deleted")
	if err := errors.Join(s.DeleteTemplate(t.Context(), deleted.ID, nil), s.Close()); err != nil {
		t.Fatal(err)
	}
}

// onBothWays runs a test with a database of each kind, and an empty one of the other.
func onBothWays(t *testing.T, test func(t *testing.T, from, to Options)) {
	t.Helper()
	t.Parallel()
	t.Run("to postgres", func(t *testing.T) {
		test(t, Options{Home: t.TempDir(), Seal: key(t, 1)}, Options{DSN: postgresDSN(t), Seal: key(t, 1)})
	})
	t.Run("to sqlite", func(t *testing.T) {
		test(t, Options{DSN: postgresDSN(t), Seal: key(t, 1)}, Options{Home: t.TempDir(), Seal: key(t, 1)})
	})
}

// restored returns the options with which a restore opens the database that moveTo has filled.
func restored(options Options) Options {
	options.Restored = &fleet.Restored{BackupAt: time.Unix(1, 0), At: time.Unix(2, 0)}
	return options
}

// moveTo fills a database with what another one has.
func moveTo(t *testing.T, from, to Options) error {
	t.Helper()
	return Load(t.Context(), to, fleet.Restored{BackupAt: time.Unix(1, 0), At: time.Unix(2, 0)}, func(sink Sink) error {
		return Dump(t.Context(), from, sink)
	})
}

func TestADatabaseMovesToTheOtherKindRowByRow(t *testing.T) {
	onBothWays(t, func(t *testing.T, from, to Options) {
		rowsInEveryTable(t, from)
		if err := moveTo(t, from, to); err != nil {
			t.Fatal(err)
		}
		was, is := dumpOf(t, from), dumpOf(t, to)
		for _, table := range dumpedTables {
			if len(was.rows[table]) == 0 {
				t.Errorf("%s has no row: this test shows nothing about it", table)
			}
			if slices.Contains(endingWithARestore, table) && len(is.rows[table]) > 0 {
				t.Errorf("%s: sessions of before are valid again", table)
			}
			if table == "meta" || slices.Contains(endingWithARestore, table) {
				continue // meta gets another mode
			}
			for i, row := range was.rows[table] {
				if len(is.rows[table]) != len(was.rows[table]) || is.rows[table][i] != row {
					t.Errorf("%s: was\n%s\nof %d, is %.2000q", table, row, len(was.rows[table]), is.rows[table])
					break
				}
			}
		}
		for table, last := range was.sequences { // SQLite also notes IDs that it was given
			if is.sequences[table] != last {
				t.Errorf("%s gave IDs up to %d, and now %d", table, last, is.sequences[table])
			}
		}
		if len(was.sequences) < 3 {
			t.Errorf("only %v gave IDs: this test shows little", was.sequences)
		}
		s := open(t, restored(to))
		registry := must(s.Registry(t.Context()))(t)
		if registry.Mode != fleet.ModeObserve || registry.Restored == nil ||
			!registry.Restored.BackupAt.Equal(time.Unix(1, 0)) {
			t.Errorf("got mode %v, restored %+v", registry.Mode, registry.Restored)
		}
		if next := create(t, s, "next"); next.ID <= was.sequences["templates"] {
			t.Errorf("ID %d was used before", next.ID)
		}
		if err := stored(s, s.PutFleetMode(t.Context(), fleet.ModeOn)); err != nil {
			t.Fatal(err)
		}
		if again := must(s.Registry(t.Context()))(t); again.Restored != nil {
			t.Errorf("a person resumed, and still %+v", again.Restored)
		}
	})
}

// What was paused must not be watched because of a restore.
func TestARestoreLeavesAFleetPausedThatWas(t *testing.T) {
	onBothWays(t, func(t *testing.T, from, to Options) {
		s := must(Open(t.Context(), from))(t)
		if err := errors.Join(
			stored(s, s.PutFleetMode(t.Context(), fleet.ModePaused)),
			s.Close(),
			moveTo(t, from, to),
		); err != nil {
			t.Fatal(err)
		}
		if got := must(open(t, restored(to)).Registry(t.Context()))(t); got.Mode != fleet.ModePaused || got.Restored == nil {
			t.Errorf("got mode %v, restored %v", got.Mode, got.Restored)
		}
	})
}

func TestADatabaseThatIsNotEmptyStaysAsItIs(t *testing.T) {
	onBothWays(t, func(t *testing.T, from, to Options) {
		for n, options := range []Options{from, to} {
			s := must(Open(t.Context(), options))(t)
			put(t, s, deviceN(n))
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
		before := dumpOf(t, to)
		wantCode(t, moveTo(t, from, to), fleet.CodeConflict)
		if after := dumpOf(t, to); fmt.Sprint(after.rows) != fmt.Sprint(before.rows) {
			t.Errorf("was\n%v\nis\n%v", before.rows, after.rows)
		}
	})
}

// A source that breaks off anywhere, or lies, leaves an empty database, which can be filled afterwards.
func TestALoadThatBreaksOffLeavesNothing(t *testing.T) {
	onBothWays(t, func(t *testing.T, from, to Options) {
		rowsInEveryTable(t, from)
		broken := errors.New("the file is cut short")
		for name, test := range map[string]struct {
			sink func(Sink) Sink
			want error
		}{
			"in the first table": {func(s Sink) Sink { return &breaking{Sink: s, rows: 1, err: broken} }, broken},
			"in a later table":   {func(s Sink) Sink { return &breaking{Sink: s, rows: 40, err: broken} }, broken},
			"a table is missing": {func(s Sink) Sink { return &without{Sink: s, table: "outbox"} }, nil},
		} {
			err := Load(t.Context(), to, fleet.Restored{}, func(sink Sink) error {
				return Dump(t.Context(), from, test.sink(sink))
			})
			if err == nil || test.want != nil && !errors.Is(err, test.want) {
				t.Errorf("%s: got %v", name, err)
			}
		}
		if err := moveTo(t, from, to); err != nil {
			t.Error(err)
		}
	})
}

// breaking fails after some rows.
type breaking struct {
	Sink
	rows int
	err  error
}

func (b *breaking) Row(values []any) error {
	if b.rows--; b.rows < 0 {
		return b.err
	}
	return b.Sink.Row(values)
}

// without leaves a table out.
type without struct {
	Sink
	table string
	now   bool
}

func (w *without) Table(name string, columns []string) error {
	if w.now = name == w.table; w.now {
		return nil
	}
	return w.Sink.Table(name, columns)
}

func (w *without) Row(values []any) error {
	if w.now {
		return nil
	}
	return w.Sink.Row(values)
}

func (w *without) Sequence(table string, last int64) error {
	if table == w.table {
		return nil
	}
	return w.Sink.Sequence(table, last)
}

// A backup whose keys do not open all that is in it would be found out when it is needed.
func TestTheCheckerOpensEverySealedValue(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		fillSealed(t, s, 3)
		db := openWrites(t, s)
		if err := Dump(t.Context(), options, NewChecker(key(t, 1))); err != nil {
			t.Error(err)
		}
		if err := Dump(t.Context(), options, NewChecker(key(t, 2))); fleet.CodeOf(err) != fleet.CodeConflict {
			t.Errorf("with another key: %v", err)
		}
		ring := seal.NewRing(key(t, 2), key(t, 1))
		if err := Dump(t.Context(), options, NewChecker(ring)); err != nil {
			t.Errorf("during a rotation: %v", err)
		}
		for _, column := range sealedColumns {
			cells := must(column.cells(t.Context(), pool{s.reads}, nil, 1, `length(`+column.column+`) > $1`, 0))(t)
			bad := slices.Clone(cells[0].sealed)
			bad[len(bad)-1] ^= 1
			text, args := column.put(cells[0], bad)
			if _, err := db.ExecContext(t.Context(), text, args...); err != nil {
				t.Fatal(err)
			}
			if err := Dump(t.Context(), options, NewChecker(key(t, 1))); err == nil {
				t.Errorf("a changed value in %s.%s was not found", column.table, column.column)
			}
			text, args = column.put(sealedCell{key: cells[0].key, sealed: bad}, cells[0].sealed)
			if _, err := db.ExecContext(t.Context(), text, args...); err != nil {
				t.Fatal(err)
			}
		}
	})
}
