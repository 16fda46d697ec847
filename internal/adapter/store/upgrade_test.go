package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"muster/internal/fleet"
)

// Every version of the tables has rows in testdata, as they were when it was current. All versions are gone through in
// turn: each migration finds the rows of every version before, and keeps them.
func TestEveryMigrationKeepsTheRowsThatThereAre(t *testing.T) {
	onEmpty(t, func(t *testing.T, options Options) {
		upgradeRows(t, options, wantKept)
		wantReadable(t, open(t, options))
	})
}

// upgradeRows makes the tables of each version in turn and fills in its rows. check is given all rows before and after
// each migration.
func upgradeRows(t *testing.T, options Options, check func(t *testing.T, version int64,
	before, after map[string][]tableRow)) {
	t.Helper()
	d := must(dialectOf(options))(t)
	db := must(d.openWrites())(t)
	provider := must(newProvider(d, db, migrations, withoutRows))(t)
	var before map[string][]tableRow
	for _, source := range provider.ListSources() {
		must(provider.UpTo(t.Context(), source.Version))(t)
		if check != nil {
			check(t, source.Version, before, rowsInAll(t, d))
		}
		dump, err := os.ReadFile(fmt.Sprintf("testdata/%04d.sql", source.Version))
		if errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("migration %d has no rows: write those of what it adds to testdata/%04[1]d.sql", source.Version)
		}
		rows := string(dump)
		if options.DSN != "" {
			rows = strings.ReplaceAll(rows, "X'", `'\x`)
		}
		must(db.ExecContext(t.Context(), rows))(t)
		before = rowsInAll(t, d)
	}
	for table, rows := range before {
		if len(rows) == 0 {
			t.Errorf("no version has rows of the table %s", table)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// wantReadable reads the rows as the server does. Their proofs hold.
func wantReadable(t *testing.T, s *Store) {
	t.Helper()
	r := must(s.VerifyAudit(t.Context(), nil))(t)
	if len(r.Faults) > 0 || !slices.Equal(r.Rows, []string{ // the rows of 0124.sql, which SQL puts into no roster
		`session "s30" of signed-on was changed, added or put back: it lets no one in`,
		`a log-in link for "person0" was changed, added or put back: it lets no one in`,
	}) {
		t.Errorf("found is %+v", r)
	}
	registry, id := must(s.Registry(t.Context()))(t), deviceN(1).ID
	device := registry.Devices[id]
	if device == nil || device.APIKey != deviceN(1).APIKey || !device.Settings.Restart ||
		device.Settings.PinOrigin != fleet.PinGiven || !slices.Equal(device.Tags, []fleet.Tag{"office"}) {
		t.Errorf("got device %+v", device)
	}
	if len(registry.Templates) != 2 || registry.Templates[0].Text != "false\n" {
		t.Errorf("got templates %+v", registry.Templates)
	}
	if vars := registry.VarsOf(id); vars != `{"x":0}` {
		t.Errorf("got the vars %s", vars)
	}
	if r := must(s.Rollout(t.Context(), 1))(t); len(r.Members) != 1 ||
		!slices.Equal(r.Members[0].Held, []string{"folders.docs"}) {
		t.Errorf("got rollout %+v", r)
	}
	if stops := must(s.Stops(t.Context()))(t); len(stops[id]) != 1 || stops[id][0].Kind != fleet.StopUnsaved {
		t.Errorf("got stops %+v", stops)
	}
	if secret := must(s.Secret(t.Context(), "secret 0"))(t); secret.Value.Reveal() != "value 0" {
		t.Errorf("got secret %+v", secret)
	}
	entries := must(s.BaseEntries(t.Context(), id))(t)
	if len(entries) != 1 || string(entries[0].Intended) != `"intended"` {
		t.Errorf("got entries %+v", entries)
	}
	if !must(s.Touched(t.Context(), id, 0))(t) || must(s.Touched(t.Context(), id, 1))(t) {
		t.Error("for which generation something was sent is not what the intents say")
	}
}

// wantKept checks that every row is there still, with the same values in the columns that it had. A migration that
// rewrites rows is listed here, with what wantReadable checks instead.
func wantKept(t *testing.T, version int64, before, after map[string][]tableRow) {
	t.Helper()
	for table, rows := range before {
		for _, row := range rows {
			if version == 106 && table == "sessions" { // Earlier sessions have one half, and end.
				continue
			}
			if version == 124 && (table == "sessions" || table == "login_links") { // Earlier ones are in no roster, and end.
				continue
			}
			if version == 112 && row["name"] == lostOrders { // It has a time from then on.
				continue
			}
			if !slices.ContainsFunc(after[table], row.isIn) {
				t.Errorf("migration %d: %s had the row %v, and has %v", version, table, row, after[table])
			}
		}
	}
}

// isIn tells whether another row has all values of this one.
func (r tableRow) isIn(other tableRow) bool {
	for column, value := range r {
		if there, ok := other[column]; !ok || there != value {
			return false
		}
	}
	return true
}

// rowsInAll are the rows of all tables, read over connections that know no earlier version of them.
func rowsInAll(t *testing.T, d dialect) map[string][]tableRow {
	t.Helper()
	db := must(d.openReads())(t)
	defer func() { _ = db.Close() }()
	unopened, all := &Store{dialect: d, reads: newReads(db, false)}, map[string][]tableRow{}
	for _, table := range tablesOf(t, unopened) {
		all[table] = rowsOf(t, unopened, table)
	}
	return all
}
