package store

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"muster/internal/fleet"
)

// guarded is a table of which a missing row gives somebody power.
type guarded struct {
	table *markedTable
	holds func(m *meddled) bool // reports whether the guard holds for the devices, templates and tags of newMeddled

	// observes reports that the fleet stays in mode observe once a person accepted the doubt, until somebody resumes it.
	observes bool

	// stops reports that a start is refused where a row has another key: its sealed text does not open there.
	stops bool
}

func observed(m *meddled) bool { return must(m.Registry(m.t.Context()))(m.t).Mode == fleet.ModeObserve }

func nothingByAdmin(m *meddled) bool {
	return !slices.ContainsFunc(must(m.Registry(m.t.Context()))(m.t).Templates, fleet.TaggedTemplate.SavedByAdmin)
}

func observedWithoutSignOn(m *meddled) bool {
	return observed(m) && must(m.SignOnDisabled(m.t.Context()))(m.t)
}

func observedVarsOfNobody(m *meddled) bool {
	r := must(m.Registry(m.t.Context()))(m.t)
	ofDevices := r.Devices[deviceN(1).ID].Vars.SavedRole == "" && r.Devices[deviceN(2).ID].Vars.SavedRole == ""
	ofTags := r.TagVars["office"].SavedRole == "" && r.TagVars["lab"].SavedRole == ""
	return observed(m) && (ofDevices || ofTags)
}

func allPaused(m *meddled) bool {
	return !slices.ContainsFunc(must(m.OpenRollouts(m.t.Context()))(m.t), func(r fleet.Rollout) bool {
		return r.Status != fleet.RolloutPaused
	})
}

func guardedSettingsHold(m *meddled) bool { return m.StoredSettings().Doubted }

func tagsProtected(m *meddled) bool {
	protected := must(m.Registry(m.t.Context()))(m.t).Protected
	return protected["office"] && protected["lab"]
}

func sourcesReadOnly(m *meddled) bool {
	r := must(m.Registry(m.t.Context()))(m.t)
	for _, origin := range r.Origins {
		if !r.Sources[origin.Source].ReadOnly {
			return false
		}
	}
	return len(r.Origins) == 2 && observed(m)
}

// ofBoth returns a guard that asks about each of the two devices.
func ofBoth(holds func(m *meddled, id fleet.DeviceID) bool) func(*meddled) bool {
	return func(m *meddled) bool { return holds(m, deviceN(1).ID) && holds(m, deviceN(2).ID) }
}

var guardedTables = []guarded{
	{protectedRows, tagsProtected, false, false},
	{tagModeRows, observed, true, false},
	{deviceTagRows, observed, true, false},
	{templateTagRows, func(m *meddled) bool { return nothingByAdmin(m) && observed(m) }, true, false},
	{sourceRows, sourcesReadOnly, true, false},
	{originRows, nothingByAdmin, true, false},
	{holdRows, observed, true, false},
	{folderPathRows, ofBoth(func(m *meddled, id fleet.DeviceID) bool {
		_, err := m.FolderPaths(m.t.Context(), id)
		return fleet.CodeOf(err) == fleet.CodeConflict
	}), true, false},
	{sightingRows, ofBoth(func(m *meddled, id fleet.DeviceID) bool {
		return must(m.Known(m.t.Context()))(m.t)[id].FoundBy == fleet.FoundByAgent
	}), true, false},
	{sentRows, ofBoth(func(m *meddled, id fleet.DeviceID) bool {
		return must(m.Touched(m.t.Context(), id, 99))(m.t)
	}), true, false},
	{templateRows, func(m *meddled) bool { return nothingByAdmin(m) && observed(m) }, true, true},
	{deviceVarsRows, observedVarsOfNobody, true, true},
	{tagVarsRows, observedVarsOfNobody, true, true},
	{baseRows, observed, true, false},
	{memberRows, observed, true, false},
	{rolloutRows, allPaused, false, false},
	{metaRows, observedWithoutSignOn, true, false},
	{settingRows, guardedSettingsHold, false, false},
	{revocationRows, observed, true, false},
	{deviceModeRows, observed, true, false},
	{generationRows, observed, true, false},
	{templateHistoryRows, observed, true, false},
	{templateTagHistoryRows, observed, true, false},
	{deviceTagHistoryRows, observed, true, false},
	{deviceVarsHistoryRows, observed, true, false},
	{tagVarsHistoryRows, observed, true, false},
}

// unguardedTables are the other tables with marks, each with the reason why a missing row gives nobody power.
var unguardedTables = map[*markedTable]string{
	rootRows:         "authors may then write to fewer places",
	authorKeyRows:    "authors may then change fewer keys",
	consentRows:      "fewer changes are let out",
	groupConsentRows: "fewer changes are let out",
	certificateRows:  "people are shown it",
	sinkRows:         "less is sent to places outside, and the numbers of entries show it there",

	revocationProofRows: "less is proven then",
}

// rename gives the first row of a table another key, with the mark that it had.
func (m *meddled) rename(table *markedTable, column string) {
	m.t.Helper()
	m.exec(`UPDATE ` + table.name + ` SET ` + column + ` = ` + m.otherValue(table, column, false) + m.one(table))
}

// A row that was given another key kept its mark, so the sum of the marks was right and nobody missed the row: a
// protected tag was protected no longer, and a device was admitted past its rollout.
func TestARowThatGotAnotherKeyIsMissed(t *testing.T) {
	onEachKey(t, func(t *testing.T, m *meddled, of guarded, column string) {
		what := "another " + column
		if of.holds(m) && of.table != protectedRows && of.table != rolloutRows { // Muster wrote it so.
			t.Errorf("%s: the guard holds without a doubt, so the test shows nothing", what)
		}
		m.keep(of.table.name)
		m.rename(of.table, column)
		if of.stops {
			m.wantNoStart(what)
			return
		}
		m.restart(m.options)
		m.wantGuarded(what, of)
		m.connectAnew()
		m.wantGuarded(what+", and a new connection", of)
		accepted := must(m.AcceptLoss(t.Context(), 1, m.accept.now()))(t)
		if !strings.Contains(strings.Join(accepted, "; "), of.table.missing) {
			t.Errorf("%s: accepted is %q", what, accepted)
		}
		if hasSealed(of.table) || of.table == deviceModeRows {
			return // The row stays in doubt: what is sealed in it does not open.
		}
		m.wantIntact()
		m.restart(m.options)
		if of.observes {
			m.wantResumed(what + " accepted,")
		}
		m.wantIntact()
	})
}

// onEachKey runs a test for each column of the keys of the guarded tables, on both kinds of database. The connections
// of each end with it.
func onEachKey(t *testing.T, do func(t *testing.T, m *meddled, of guarded, column string)) {
	t.Helper()
	onBoth(t, func(t *testing.T, options Options) {
		for i, of := range guardedTables {
			for j, column := range of.table.key {
				if !inSample(options, i+j) {
					continue
				}
				t.Run(of.table.name+" "+column, func(t *testing.T) {
					do(t, newMeddledCopy(t, options), of, column)
				})
			}
		}
	})
}

func (m *meddled) wantNoStart(what string) {
	m.t.Helper()
	if err := m.Close(); err != nil {
		m.t.Fatal(err)
	}
	if s, err := Open(m.t.Context(), m.options); err == nil {
		m.t.Errorf("%s: the server starts", what)
		_ = s.Close()
	}
}

func (m *meddled) wantGuarded(what string, of guarded) {
	m.t.Helper()
	if !of.holds(m) {
		m.t.Errorf("%s: the guard does not hold", what)
	}
	if told := m.Tampering(); told == nil || !strings.Contains(told.Reason, of.table.name) &&
		!strings.Contains(told.Reason, " more") {
		m.t.Errorf("%s: told is %+v", what, told)
	}
	m.wantNamed(what, of.table.name)
}

// Each table whose doubt says what holds while a row may be missing has a test of that. Each other table has a reason
// why a missing row gives nobody power.
func TestEachTableWithGuardsIsTested(t *testing.T) {
	t.Parallel()
	for _, table := range markedTables {
		is := slices.ContainsFunc(guardedTables, func(of guarded) bool { return of.table == table })
		if is != (table.missing != "") {
			t.Errorf("%s is in guardedTables: %t", table.name, is)
		}
		if is == (unguardedTables[table] != "") {
			t.Errorf("%s: test what holds while one of its rows is missing (guardedTables), or say why that gives nobody "+
				"power (unguardedTables)", table.name)
		}
	}
}

// Another program that renamed the row by which single sign-on was off had it on again: a start took the row for the
// note of a restore, and gave it a mark.
func TestARowWithTheNameOfAnotherGetsNoMark(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		for _, name := range []string{"restored", "rules", "settled_generation", "fleet_mode", "other"} {
			m := newMeddledCopy(t, options)
			m.exec(`DELETE FROM meta WHERE name = $1`, name)
			m.exec(`UPDATE meta SET name = $1 WHERE name = 'single_sign_on'`, name)
			for start := range 3 {
				m.restart(m.options)
				if !observedWithoutSignOn(m) {
					t.Errorf("%s, start %d: single sign-on is on, or the fleet is not observed", name, start+1)
				}
				m.wantNamed(name, "meta")
			}
			told := strings.Join(must(m.AcceptLoss(t.Context(), 1, m.accept.now()))(t), "; ")
			if !strings.Contains(told, disablesSignOn) {
				t.Errorf("%s: accepted is %q", name, told)
			}
			m.restart(m.options)
			if m.wantIntact(); !must(m.SignOnDisabled(t.Context()))(t) {
				t.Errorf("%s: single sign-on is on once the doubt was accepted", name)
			}
		}
	})
}

// A note about a restore that another program added or changed got a mark at the next start, and with it the mode that
// was there.
func TestAForgedNoteOfARestoreIsNotBelieved(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		for what, forge := range map[string]string{
			"the note":              `INSERT INTO meta (name, value) VALUES ('restored', '{}')`,
			"the note, and no JSON": `INSERT INTO meta (name, value) VALUES ('restored', 'off')`,
			"the note and a mode": `INSERT INTO meta (name, value) VALUES ('restored', '{}')
				ON CONFLICT (name) DO UPDATE SET value = '{}'; UPDATE meta SET value = 'on' WHERE name = 'fleet_mode'`,
		} {
			m := newMeddledCopy(t, options)
			if err := stored(m.Store, m.PutFleetMode(t.Context(), fleet.ModePaused)); err != nil {
				t.Fatal(err)
			}
			for one := range strings.SplitSeq(forge, ";") {
				m.exec(one)
			}
			for range 2 {
				m.restart(m.options)
				m.wantNamed(what, "meta")
			}
		}
	})
}

// An edit of the row with the other key, or the hourly cleaning, ended the doubt of a start that had not come yet.
func TestARowThatGotAnotherKeyIsMissedAfterItsDeletion(t *testing.T) {
	onEachKey(t, func(t *testing.T, m *meddled, of guarded, column string) {
		m.keep(of.table.name)
		before := must(m.markedRows(t.Context(), inPool{m.db}, of.table, ""))(t)
		m.rename(of.table, column)
		if _, err := write(t.Context(), m.Store, "delete it", func(tx *tx) (none struct{}, err error) {
			return none, tx.deleteRenamed(of.table, before)
		}); err != nil {
			t.Fatal(err)
		}
		m.restart(m.options)
		m.wantGuarded("another "+column, of)
	})
}

// deleteRenamed deletes the rows of a table that were not there before, as Muster deletes rows.
func (t *tx) deleteRenamed(table *markedTable, before []markedRow) error {
	rows, err := t.store.markedRows(t.ctx, t.session, table, "")
	for _, row := range rows {
		same := func(other markedRow) bool { return slices.Equal(other.key, row.key) }
		if err == nil && !slices.ContainsFunc(before, same) {
			err = errors.Join(t.unmark(table, table.byKey(), row.keyArgs()...),
				t.exec(`DELETE FROM `+table.name+` WHERE `+table.byKey(), row.keyArgs()...))
		}
	}
	return err
}

// A person or Muster who then changed or deleted the row with the other key ended the doubt, and the row that was
// replaced stayed away.
func TestAChangeOfARowThatReplacedAnotherEndsNoDoubt(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		for what, c := range map[string]struct {
			of     *markedTable
			forge  string
			change func(m *meddled) error
		}{
			"the protection is ended": {protectedRows, `UPDATE protected_tags SET tag = 'other' WHERE tag = 'lab'`,
				func(m *meddled) error { return m.ProtectTag(as(m.t, fleet.RoleAdmin), "other", false) }},
			"something is sent": {sentRows, `UPDATE sent_generations SET device_id = '` + string(deviceN(3).ID) +
				`' WHERE device_id = '` + string(deviceN(1).ID) + `'`, func(m *meddled) error {
				_, err := m.BeginIntent(m.t.Context(), fleet.Intent{Device: deviceN(3).ID, Generation: 7,
					Writes: []byte("writes")}, nil)
				return err
			}},
			"the device is deleted": {holdRows, `UPDATE holds SET device_id = '` + string(deviceN(3).ID) +
				`' WHERE device_id = '` + string(deviceN(1).ID) + `'`, func(m *meddled) error {
				return m.DeleteDevice(m.t.Context(), deviceN(3).ID, nil)
			}},
		} {
			m := newMeddledCopy(t, options)
			put(t, m.Store, deviceN(3))
			m.exec(c.forge)
			if err := c.change(m); err != nil {
				t.Errorf("%s: %v", what, err)
			}
			m.restart(m.options)
			m.wantGuarded(what, guardedTables[slices.IndexFunc(guardedTables, func(of guarded) bool {
				return of.table == c.of
			})])
		}
	})
}

// A row without a mark was only added. It puts no other row in doubt.
func TestARowThatWasOnlyAddedPutsNoTableInDoubt(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		m := newMeddled(t, options)
		m.exec(`INSERT INTO device_tags (device_id, tag) VALUES ($1, 'forged')`, string(deviceN(1).ID))
		m.exec(`INSERT INTO protected_tags (tag) VALUES ('forged')`)
		m.restart(options)
		m.wantNoWholeDoubt()
		r := must(m.Registry(t.Context()))(t)
		if r.ModeOf(deviceN(1).ID) != fleet.ModeObserve || r.ModeOf(deviceN(2).ID) != fleet.ModeOn {
			t.Errorf("the devices are %s and %s", r.ModeOf(deviceN(1).ID), r.ModeOf(deviceN(2).ID))
		}
	})
}
