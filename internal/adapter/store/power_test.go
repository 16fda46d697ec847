package store

import (
	"database/sql"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"muster/internal/fleet"
)

// proven is a table that gives power and has another proof than marks.
type proven struct {
	row    string   // condition for the row that is changed, and deleted by Muster
	set    []string // changes of the columns that the proof covers
	other  map[string]string
	remove func(m *meddled) error
}

var provenTables = map[string]proven{
	tokenRows: {row: `name = 'viewer'`,
		set: []string{"name = 'x'", "role = 'admin'", `tag_scope = '["a"]'`, "hash = 'x'", "created_at = 1", "issued_at = 1",
			"expires_at = 1", "old_hash = 'x'", "old_until = 9", "owner = 'x'", "old_owner = 'x'"},
		other:  map[string]string{"name": "'x'", "hash": "'x'"},
		remove: func(m *meddled) error { return m.DeleteToken(m.t.Context(), "viewer") }},
	userRows: {
		row: `name = 'person0'`,
		set: []string{
			"name = 'x'",
			"role = 'admin'",
			`tag_scope = '["a"]'`,
			"password = 'x'",
			"issuer = 'x'",
			"subject = 'x'",
			"disabled_at = 1",
			"access_given_at = 1",
		},
		other:  map[string]string{"name": "'x'"},
		remove: func(m *meddled) error { return m.DeleteUser(m.t.Context(), "person0") },
	},
	secretRows: {row: `name = 'secret'`,
		set:    []string{"name = 'x'", "value = 'x'", `for_keys = '["x"]'`, `for_tags = '["x"]'`},
		other:  map[string]string{"name": "'x'"},
		remove: func(m *meddled) error { return m.DeleteSecret(m.t.Context(), "secret") }},
	enrollKeyRows: {row: `uses = 2`,
		set: []string{"id = 'x'", "hash = 'x'", `tags = '["x"]'`, "uses = 99", "used = 1", "created_at = 1",
			"expires_at = expires_at + 1"},
		other: map[string]string{"id": "'x'", "hash": "'x'"},
		remove: func(m *meddled) error {
			return m.DeleteEnrollKey(m.t.Context(), must(m.EnrollKeys(m.t.Context()))(m.t)[0].ID)
		}},
	decisionRows: {row: `decision = 'rejected'`,
		set:    []string{"device_id = 'x'", "decision = 'deleted'", "decided_at = 1", "decided_by = 'x'"},
		other:  map[string]string{"device_id": "'x'"},
		remove: func(m *meddled) error { return m.ForgetRejection(m.t.Context(), deviceN(50).ID) }},
}

// shownElsewhere are the tests of tables that are proofs themselves, and of those whose rows come and go: a session or
// link that was changed, added or put back lets no one in, and one that is missing is only over.
var shownElsewhere = map[string]string{
	"sessions":    "TestASessionOrLinkThatEndedAndIsPutBackLetsNoOneIn",
	"login_links": "TestASessionOrLinkThatEndedAndIsPutBackLetsNoOneIn",
	"proofs":      "TestAnySealedCellThatWasChangedOrSwappedIsFound",
	"own_keys":    "TestAnySealedCellThatWasChangedOrSwappedIsFound",
	"audit":       "TestAnyEntryThatWasChangedRemovedOrSwappedIsNamed",
	"audit_heads": "TestAForgedHeadKeepsNoHeadFromBeingSigned",
}

// Each table of the database either gives no power, and says why, or shows what somebody did to its rows. That they are
// put back as a whole: TestAWholeDatabaseThatIsPutBackOnlyObserves, which puts back every table.
func TestEveryTableThatGivesPowerShowsWhatWasDoneToIt(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		m := newMeddled(t, options)
		m.fillProven()
		for j, name := range tablesOf(t, m.Store) {
			of, isProven := provenTables[name]
			i := slices.IndexFunc(markedTables, func(table *markedTable) bool { return table.name == name })
			switch test := shownElsewhere[name]; {
			case name == deviceModeRows.name:
			case (i >= 0 || isProven) && !inSample(options, j):
			case i >= 0:
				one := m.firstOf(markedTables[i])
				m.wantPutBackNamed(name, one, func() error { return m.deleteMarked(markedTables[i], one) })
			case isProven:
				m.wantProven(name, of)
			case test != "":
				wantTest(t, test)
			case !strings.Contains(unmarkedTables[name], "power") && !strings.Contains(unmarkedTables[name], "sealed") &&
				!slices.Contains([]string{"stops", "orders", "used_sign_ons"}, name):
				t.Errorf("the table %s gives power and no test changes it: a line in provenTables or shownElsewhere", name)
			}
		}
		last := deviceN(2).ID // what belongs to it goes with it
		m.wantPutBackNamed(deviceModeRows.name, ` WHERE id = '`+string(last)+`'`,
			func() error { return m.DeleteDevice(t.Context(), last, nil) })
	})
}

// columnsWithoutPower are the columns of tables that give power whose change nobody has to find, each with the reason.
var columnsWithoutPower = map[string]string{
	"devices.created_at":       "people are shown it",
	"sightings.last_seen_at":   "people are shown it",
	"devices.updated_at":       "people are shown it",
	"devices.quiet_after":      "how long a device may be away gives no power",
	"templates.updated_at":     "people are shown it",
	"secrets.created_at":       "people are shown it",
	"secrets.updated_at":       "people are shown it",
	"users.created_at":         "people are shown it",
	"users.updated_at":         "people are shown it",
	"users.last_login_at":      "people are shown it",
	"tokens.last_used_at":      "people are shown it",
	"tokens.last_used_from":    "people are shown it",
	"enroll_keys.created_by":   "people are shown it; the audit has who made the key",
	"enroll_keys.last_used_at": "people are shown it",
	"login_links.made_by":      "people are shown it; the audit has who made the link",
	"login_links.created_at":   "people are shown it",
	"sessions.address":         "people are shown it",
	"sessions.client":          "people are shown it",
	"sessions.last_used_at":    "it ends a session that nobody uses, and who has both halves of one uses it",
}

// otherValues are values for columns that name a row: any other text would name none.
var otherValues = map[string]string{"sessions.user_name": "'person1'"}

// Each column of a table that gives power either gives none itself, and says why, or its change is found. A new column
// fails until it is decided which holds.
func TestEveryColumnThatGivesPowerShowsThatItWasChanged(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		m := newMeddled(t, options)
		m.fillProven()
		addPerson(t, m.Store, 1)
		signed(m.SignHead(t.Context()))(t)
		undecided := maps.Clone(columnsWithoutPower)
		for _, name := range tablesOf(t, m.Store) {
			_, isProven := provenTables[name]
			if _, elsewhere := shownElsewhere[name]; !elsewhere && !isProven && unmarkedTables[name] != "" {
				continue // The table says why it gives no power.
			}
			m.keep(name)
			for i, column := range m.typesOf(name) {
				full := name + "." + column.Name()
				_, without := columnsWithoutPower[full]
				delete(undecided, full)
				if !inSample(options, len(name)+i) {
					continue
				}
				m.meddle(func() { m.change(name, column) }, func() {
					if r := m.verify(); len(r.Rows)+len(r.Faults) == 0 != without {
						t.Errorf("%s was changed, and found is %q: it is named in columnsWithoutPower: %v", full, r.Rows, without)
					}
				})
			}
		}
		for column := range undecided {
			t.Errorf("there is no column %s", column)
		}
		m.wantIntact()
	})
}

func (m *meddled) typesOf(table string) []*sql.ColumnType {
	m.t.Helper()
	rows, err := m.db.QueryContext(m.t.Context(), `SELECT * FROM `+table+` LIMIT 0`)
	if err != nil {
		m.t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	types := must(rows.ColumnTypes())(m.t)
	if err := rows.Err(); err != nil {
		m.t.Fatal(err)
	}
	return types
}

// change gives a column of the first row another value.
func (m *meddled) change(table string, column *sql.ColumnType) {
	m.t.Helper()
	place, where := "rowid", ""
	if m.options.DSN != "" {
		place = "ctid"
	}
	if table == metaRows.name {
		where = metaRows.where("")
	}
	name := column.Name()
	value, ok := map[string]string{
		"INTEGER": `COALESCE(` + name + `, 0) + 1000`,
		"BOOLEAN": `NOT ` + name,
		"TEXT":    `COALESCE(` + name + `, '') || 'x'`,
		"BLOB":    `$1`,
	}[strings.NewReplacer("INT8", "INTEGER", "BOOL", "BOOLEAN", "BYTEA", "BLOB").Replace(
		strings.ReplaceAll(column.DatabaseTypeName(), "BOOLEAN", "BOOL"))]
	if !ok {
		m.t.Fatalf("%s.%s is of the type %s", table, name, column.DatabaseTypeName())
	}
	if other := otherValues[table+"."+name]; other != "" {
		value = other
	}
	var args []any
	if value == `$1` {
		args = append(args, []byte("another"))
	}
	m.exec(`UPDATE `+table+` SET `+name+` = `+value+` WHERE `+place+` = (SELECT MIN(`+place+`) FROM `+table+where+`)`,
		args...)
}

func (m *meddled) fillProven() {
	m.t.Helper()
	m.token("viewer", fleet.RoleViewer)
	addPerson(m.t, m.Store, 0)
	must(putSecret(m.t, m.Store, "secret", "value"))(m.t)
	enrollKey(m.t, m.Store, 0, 2, "office")
	m.reject(50)
	m.wantIntact()
}

// wantProven changes, deletes, inserts and puts back a row of a table.
func (m *meddled) wantProven(name string, of proven) {
	m.t.Helper()
	m.keep(name)
	found := func(what string) func() {
		return func() {
			if len(m.verify().Rows) == 0 {
				m.t.Errorf("%s: %s: nothing is found", name, what)
			}
		}
	}
	for _, set := range of.set {
		m.meddle(func() { m.exec(`UPDATE ` + name + ` SET ` + set + ` WHERE ` + of.row) }, found(set))
	}
	m.meddle(func() { m.exec(`DELETE FROM ` + name + ` WHERE ` + of.row) }, found("deleted"))
	m.meddle(func() {
		columns := m.columnsOf(name)
		values := slices.Clone(columns)
		for i, column := range columns {
			if other, is := of.other[column]; is {
				values[i] = other
			}
		}
		m.exec(`INSERT INTO ` + name + ` (` + strings.Join(columns, ", ") + `) SELECT ` + strings.Join(values, ", ") +
			` FROM kept_` + name + ` WHERE ` + of.row)
	}, found("inserted"))
	m.exec(`DROP TABLE kept_` + name)
	m.wantIntact()
	m.wantPutBackNamed(name, ` WHERE `+of.row, func() error { return of.remove(m) })
}

// firstOf picks one marked row of a table by its key.
func (m *meddled) firstOf(table *markedTable) string {
	row := must(m.markedRows(m.t.Context(), inPool{m.db}, table, ""))(m.t)[0]
	var parts []string
	for i, column := range table.key {
		parts = append(parts, `CAST(`+column+` AS TEXT) = '`+row.key[i]+`'`)
	}
	return ` WHERE ` + strings.Join(parts, " AND ")
}

// deleteMarked deletes a row as Muster does, and nothing that belongs to it.
func (m *meddled) deleteMarked(table *markedTable, one string) error {
	writes := m.secondWriter()
	alone := `PRAGMA foreign_keys = 0`
	if m.options.DSN != "" {
		alone = `SET session_replication_role = replica`
	}
	if err := writes.session.exec(m.t.Context(), alone); err != nil {
		return err
	}
	remove := &attempt{request: &request{do: func(t *tx) error {
		return errors.Join(t.unmark(table, strings.TrimPrefix(one, " WHERE ")), t.exec(`DELETE FROM `+table.name+one))
	}}}
	_, err := writes.transact(m.t.Context(), []*attempt{remove})
	return errors.Join(err, remove.err)
}

// wantPutBackNamed has Muster delete a row, and somebody put it back with the proof that it had.
func (m *meddled) wantPutBackNamed(name, one string, remove func() error) {
	m.t.Helper()
	m.exec(`CREATE TABLE put_back_` + name + ` AS SELECT * FROM ` + name + one)
	if err := remove(); err != nil {
		m.t.Fatal(name, err)
	}
	m.wantIntact()
	m.exec(`INSERT INTO ` + name + ` ` + m.dialect.givenID() + ` SELECT * FROM put_back_` + name)
	if rows := m.verify().Rows; len(rows) == 0 {
		m.t.Errorf("%s: a row that is put back is not found: %q", name, rows)
	}
	m.exec(`DELETE FROM ` + name + one)
	m.wantIntact()
}

func wantTest(t *testing.T, name string) {
	t.Helper()
	for _, file := range must(filepath.Glob("*_test.go"))(t) {
		if strings.Contains(string(must(os.ReadFile(file))(t)), "func "+name+"(") {
			return
		}
	}
	t.Errorf("there is no test %s", name)
}
