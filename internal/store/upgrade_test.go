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

// Every version of the tables has a dump in testdata, of rows as they were when it was current. All versions are gone
// through in turn: each migration finds the rows of every version before, and keeps them.
func TestEveryMigrationKeepsTheRowsOfBefore(t *testing.T) {
	onEmpty(t, func(t *testing.T, options Options) {
		d := must(dialectOf(options))(t)
		db := must(d.openWrites())(t)
		provider := must(newProvider(d, db))(t)
		var before map[string][]tableRow
		for _, source := range provider.ListSources() {
			must(provider.UpTo(t.Context(), source.Version))(t)
			wantKept(t, source.Version, before, rowsInAll(t, d))
			dump, err := os.ReadFile(fmt.Sprintf("testdata/%04d.sql", source.Version))
			if errors.Is(err, fs.ErrNotExist) {
				t.Fatalf("migration %d has no dump: write rows of what it adds to testdata/%04[1]d.sql", source.Version)
			}
			rows := string(dump)
			if options.DSN != "" {
				rows = strings.ReplaceAll(rows, "X'", `'\x`)
			}
			must(db.ExecContext(t.Context(), rows))(t)
			before = rowsInAll(t, d)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		wantReadable(t, open(t, options))
	})
}

// wantReadable reads the rows of the dumps as the server does.
func wantReadable(t *testing.T, s *Store) {
	t.Helper()
	registry, id := must(s.Registry(t.Context()))(t), deviceN(1).ID
	device := registry.Devices[id]
	if len(registry.Templates) != 3 || device == nil || !device.Settings.Restart ||
		device.Settings.PinOrigin != fleet.PinFirstUse {
		t.Errorf("got %+v, device %+v", registry, device)
	}
	if text := registry.Templates[2].Text; text != "device.label" {
		t.Errorf("got the text %q", text)
	}
	if vars := registry.VarsOf(id); vars != `{"address":"192.0.2.7","limit":10}` || registry.VarsByAdmins(id) {
		t.Errorf("got the vars %s", vars)
	}
	if reads := registry.Templates[2].Reads; !reads.Known || !reads.Device.Has("label") {
		t.Errorf("got inputs %+v", reads)
	}
	if r := must(s.Rollout(t.Context(), 1))(t); len(r.Members) != 1 ||
		!slices.Equal(r.Members[0].Held, []string{"folders.docs"}) {
		t.Errorf("got rollout %+v", r)
	}
	wantRolloutsConverted(t, s)
	stops := must(s.Stops(t.Context()))(t)
	unsaved := func(stop fleet.Stop) bool {
		return stop.Key == "whole" && stop.Kind == fleet.StopUnsaved && stop.Answers == 5
	}
	if len(stops[id]) != 3 || !slices.ContainsFunc(stops[id], unsaved) {
		t.Errorf("got stops %+v", stops)
	}
}

// wantRolloutsConverted checks what became of rollouts beyond a blast limit, and of an undo that was under way.
func wantRolloutsConverted(t *testing.T, s *Store) {
	t.Helper()
	first := must(s.Rollout(t.Context(), 1))(t)
	if m := first.Members[0]; m.Wave != 1 || m.From != 2 || first.Status != fleet.RolloutHalted {
		t.Errorf("got %+v", first)
	}
	held := must(s.Rollout(t.Context(), 2))(t)
	if held.Status != fleet.RolloutWaiting || !held.Unapproved() || held.Approval.Reason != "too many devices" ||
		held.Wave != 0 ||
		len(held.Waves) != 0 || !held.WaveAt.IsZero() || held.Members[0].Wave != 0 || held.Members[0].From != 2 {
		t.Errorf("got %+v, want it to wait for approval", held)
	}
	if answered := must(s.Rollout(t.Context(), 3))(t); answered.Status != fleet.RolloutRunning ||
		answered.Approval == nil ||
		answered.Unapproved() || answered.Wave != 1 || answered.Members[0].Wave != 1 {
		t.Errorf("got %+v, want it to go on", answered)
	}
	if undone := must(s.Rollout(t.Context(), 4))(t); undone.Status != fleet.RolloutUndone || undone.UndoneBy != 4 {
		t.Errorf("got %+v, want it undone", undone)
	}
}

// wantKept checks that every row is there still, with the same values in the columns that it had. What a migration
// rewrites is listed here.
func wantKept(t *testing.T, version int64, before, after map[string][]tableRow) {
	t.Helper()
	for table, rows := range before {
		for _, row := range rows {
			switch {
			case table == "stops" && version == 15 && row["kind"] == "unsaveable":
				continue // becomes unsaved
			case version == 19 && (table == "templates" || table == "template_history"):
				continue // wantReadable opens their texts
			case version == 17 && (table == "rollouts" || table == "rollout_members") && fmt.Sprint(row["status"]) != "halted":
				continue // wantRolloutsConverted is about them
			case !slices.ContainsFunc(after[table], row.isIn):
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
