package store

import (
	"context"
	"database/sql"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"muster/internal/fleet"
)

// nextVersion is the version of a migration that a later program has.
const nextVersion = 9000

// migratedBy has a later program, with one more migration, open the database of a server that has stopped. Then the
// database counts as one of the present version again, so that it can be opened here.
func (m *meddled) migratedBy(options Options, text string) error {
	m.t.Helper()
	files := fstest.MapFS{"migrations/9000_next.sql": {Data: []byte(text)}}
	for _, name := range must(fs.Glob(migrations, "migrations/*.sql"))(m.t) {
		files[name] = &fstest.MapFile{Data: must(migrations.ReadFile(name))(m.t)}
	}
	later := &Store{dialect: m.dialect, seal: options.Seal, log: m.log, now: m.now}
	later.writer = newWriter(later, nil)
	if err := later.writer.connect(m.t.Context()); err != nil {
		m.t.Fatal(err)
	}
	err := later.migrate(m.t.Context(), files)
	if failed := later.writer.disconnect(); failed != nil {
		m.t.Fatal(failed)
	}
	m.exec(`DELETE FROM goose_db_version WHERE version_id = $1`, int64(nextVersion))
	return err
}

// A migration wrote marks for the rows that it changed: a row that somebody had forged before counted after an upgrade.
func TestAMigrationDoesNotBelieveWhatItFinds(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		m := newMeddled(t, options)
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
		m.exec(`UPDATE templates SET saved_role = 'admin', priority = 7 WHERE label = 'template 0'`)
		m.exec(`INSERT INTO folder_roots (tag, path) VALUES ('lab', '/')`)
		m.exec(`DELETE FROM device_tags WHERE tag = 'lab'`)
		err := m.migratedBy(options, `
			UPDATE templates SET label = label || ', renamed', key = 'options.relaysEnabled';
			UPDATE device_tags SET tag = tag || '2';
			UPDATE tag_modes SET mode = 'observe';
			INSERT INTO protected_tags (tag) VALUES ('new');
			DELETE FROM author_keys WHERE tag = 'lab';`)
		if err != nil {
			t.Fatal(err)
		}
		m.Store = open(t, options)
		rows := m.verify().Rows
		for _, named := range rows {
			if !strings.Contains(named, "table templates") && !strings.Contains(named, "table folder_roots") &&
				!strings.Contains(named, "table device_tags") {
				t.Errorf("named is %s", named)
			}
		}
		if len(rows) != 4 { // the forged template and root; of device_tags the remaining row, and the whole
			t.Errorf("named are %q", rows)
		}
		r := must(m.Registry(t.Context()))(t)
		for _, v := range r.Templates {
			if v.SavedByAdmin() != strings.HasPrefix(v.Label, "template 1") || !strings.HasSuffix(v.Label, "renamed") {
				t.Errorf("template %q counts as saved by %q", v.Label, v.SavedRole)
			}
		}
		if !slices.Equal(r.Roots["lab"], []string{"~/Sync", "~/Work"}) || r.Mode != fleet.ModeObserve ||
			!r.Protected["new"] || len(r.AuthorKeys["lab"]) > 0 {
			t.Errorf("roots are %v, the mode is %s, protected are %v, author keys %v", r.Roots["lab"], r.Mode, r.Protected,
				r.AuthorKeys)
		}
	})
}

// Of an intact database every row is believed after a migration.
func TestAMigrationKeepsIntactRowsBelieved(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		m := newMeddled(t, options)
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
		err := m.migratedBy(options, `
			UPDATE templates SET label = label || ', renamed';
			UPDATE template_tags SET tag = tag || '2';
			UPDATE template_tag_history SET tag = tag || '2';
			DELETE FROM consents;`)
		if err != nil {
			t.Fatal(err)
		}
		m.Store = open(t, options)
		m.wantIntact()
		m.wantMode("after a migration", fleet.ModeOn)
	})
}

// A column that a later version adds to a marked table is covered from then on, and not before.
func TestAColumnThatAMigrationAddsIsCovered(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		m := newMeddled(t, options)
		wider := *templateRows
		wider.content = append(slices.Clone(templateRows.content), "extra")
		wider.later = map[string]int64{"extra": nextVersion}
		m.exec(`UPDATE templates SET saved_role = 'admin', priority = 7 WHERE label = 'template 0'`)
		tx := must(m.db.BeginTx(t.Context(), nil))(t)
		err := keptMarks{m.Store, []*markedTable{&wider}}.over(t.Context(), tx, nextVersion-1, nextVersion, func() error {
			_, err := tx.ExecContext(t.Context(), `ALTER TABLE templates ADD COLUMN extra TEXT NOT NULL DEFAULT 'x'`)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		named := func() (names []string) {
			for _, d := range must(m.doubtsIn(t.Context(), inPool{m.db}, []*markedTable{&wider}, nil))(t) {
				names = append(names, d.tells()...)
			}
			return names
		}
		if names := named(); len(names) != 1 || !strings.Contains(names[0], "template ") {
			t.Errorf("after the migration named are %q", names)
		}
		m.exec(`UPDATE templates SET extra = 'y' WHERE label = 'template 1'`)
		if names := named(); len(names) != 2 {
			t.Errorf("after the new column was changed named are %q", names)
		}
	})
}

// The mark of a device has covered its label only since version 112: what was forged before is not believed after the
// upgrade, and all other devices are.
func TestTheLabelOfADeviceIsCoveredAfterAnUpgrade(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		m := newMeddled(t, options)
		var ends fleet.AuditEnds
		if err := m.openProof(auditEnds, m.proof(auditEnds), &ends); err != nil {
			t.Fatal(err)
		}
		is, earlier, later := tally{}, deviceModeRows.asOf(111), deviceModeRows.asOf(112)
		for _, row := range must(m.markedRows(t.Context(), inPool{m.db}, earlier, ""))(t) {
			row.mark = row.fits
			is = is.withRow(m.Store, earlier, row)
			m.exec(`UPDATE devices SET mark = $1 WHERE id = $2`, row.mark, row.key[0])
		}
		ends.Tables[earlier.name] = fleet.TableMark{Rows: is.rows, Sum: is.sum.String()}
		m.putBack(auditEnds, must(m.sealProof(auditEnds, ends))(t))
		m.exec(`UPDATE devices SET mode = 'paused' WHERE id = $1`, string(deviceN(1).ID))
		tx := must(m.db.BeginTx(t.Context(), nil))(t)
		err := keptMarks{m.Store, []*markedTable{deviceModeRows}}.over(t.Context(), tx, 111, 112, func() error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		want := func(what string, ids ...fleet.DeviceID) {
			t.Helper()
			doubts := must(m.doubtsIn(t.Context(), inPool{m.db}, []*markedTable{later}, nil))(t)
			if len(doubts) != 1 || doubts[0].whole || len(doubts[0].rows) != len(ids) {
				t.Fatalf("%s: in doubt are %+v", what, doubts)
			}
			for _, id := range ids {
				if !doubts[0].names(string(id)) {
					t.Errorf("%s: the row of %s is believed", what, id)
				}
			}
		}
		want("after the upgrade", deviceN(1).ID)
		m.exec(`UPDATE devices SET label = 'other' WHERE id = $1`, string(deviceN(2).ID))
		want("another label", deviceN(1).ID, deviceN(2).ID)
	})
}

// Another label that a person gives keeps a device believed, and makes no forged row one that is.
func TestALabelThatAPersonGivesIsBelieved(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		m := newMeddled(t, options)
		relabel := func(n int, label string) {
			t.Helper()
			d := must(m.Registry(t.Context()))(t).Devices[deviceN(n).ID].Device
			d.Label = label
			if _, _, err := m.PutDevice(t.Context(), d, nil); err != nil {
				t.Fatal(err)
			}
		}
		relabel(1, "given")
		m.wantIntact()
		m.exec(`UPDATE devices SET label = 'forged', mode = 'on', may_restart = TRUE WHERE id = $1`, string(deviceN(1).ID))
		m.restart(options)
		relabel(1, "given")
		m.wantNamed("forged, and given another label", "devices")
	})
}

// A key that is not the database's own could not tell which rows to believe: the migration would run without marks.
func TestAMigrationWaitsForTheSealKeyOfTheDatabase(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		m := newMeddled(t, options)
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
		right := options.Seal
		for _, options.Seal = range []Sealer{nil, key(t, 2)} {
			wantCode(t, m.migratedBy(options, `UPDATE templates SET label = label || ', renamed'`), fleet.CodeConflict)
		}
		options.Seal = right
		m.Store = open(t, options)
		m.wantIntact()
		if v := must(m.Registry(t.Context()))(t).Templates[0]; strings.HasSuffix(v.Label, "renamed") {
			t.Errorf("the migration ran: %s", v.Label)
		}
	})
}

// inPool reads with any connection of a pool.
type inPool struct{ db *sql.DB }

func (p inPool) query(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	return p.db.QueryContext(ctx, text, args...)
}

// Until version 117 the sums of the marks did not cover the keys. After the upgrade they do, and a table with a row
// that was not believed is in doubt: that row may have had another key.
func TestSumsCoverTheKeysAfterAnUpgrade(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		m := newMeddled(t, options)
		m.sumWithoutKeys()
		m.exec(`UPDATE template_tags SET tag = 'other' WHERE tag = 'lab'`)
		m.exec(`UPDATE tag_vars SET saved_by = 'other' WHERE tag = 'lab'`)
		m.exec(`INSERT INTO device_tags (device_id, tag) VALUES ($1, 'forged')`, string(deviceN(1).ID))
		tx := must(m.db.BeginTx(t.Context(), nil))(t)
		err := keptMarks{m.Store, markedTables}.over(t.Context(), tx, sumsCoverKeys-1, sumsCoverKeys,
			func() error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		doubts := must(m.doubtsIn(t.Context(), inPool{m.db}, markedTables, nil))(t)
		want := map[*markedTable]bool{templateTagRows: true, tagVarsRows: true, deviceTagRows: false}
		for _, d := range doubts {
			whole, there := want[d.table]
			if !there || whole != d.whole || len(d.rows) != 1 {
				t.Errorf("after the upgrade in doubt is %+v", d)
			}
			delete(want, d.table)
		}
		if len(want) > 0 {
			t.Errorf("not in doubt: %+v", want)
		}
	})
}

// sumWithoutKeys has the ends of the audit hold the sums of the marks as they were before version 117.
func (m *meddled) sumWithoutKeys() {
	m.t.Helper()
	var ends fleet.AuditEnds
	if err := m.openProof(auditEnds, m.proof(auditEnds), &ends); err != nil {
		m.t.Fatal(err)
	}
	for _, table := range markedTables {
		earlier := table.asOf(sumsCoverKeys - 1)
		is := must(m.addMarksUp(m.t.Context(), inPool{m.db}, earlier))(m.t)
		ends.Tables[table.name] = fleet.TableMark{Rows: is.rows, Sum: is.sum.String()}
	}
	m.putBack(auditEnds, must(m.sealProof(auditEnds, ends))(m.t))
}
