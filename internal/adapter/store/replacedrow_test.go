package store

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"muster/internal/fleet"
)

// guarded is a table of which a missing row loosens a guard.
type guarded struct {
	table *markedTable
	holds func(m *meddled) bool // reports whether the guard holds for the devices, templates and tags of newMeddled

	// observes reports that the fleet stays in mode observe once a person accepted the doubt, until somebody resumes it.
	observes bool
}

func observed(m *meddled) bool { return must(m.Registry(m.t.Context()))(m.t).Mode == fleet.ModeObserve }

func nothingByAdmin(m *meddled) bool {
	return !slices.ContainsFunc(must(m.Registry(m.t.Context()))(m.t).Templates, fleet.TaggedTemplate.SavedByAdmin)
}

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
	{protectedRows, tagsProtected, false},
	{tagModeRows, observed, true},
	{deviceTagRows, observed, true},
	{templateTagRows, func(m *meddled) bool { return nothingByAdmin(m) && observed(m) }, true},
	{sourceRows, sourcesReadOnly, true},
	{originRows, nothingByAdmin, true},
	{holdRows, observed, true},
	{folderPathRows, ofBoth(func(m *meddled, id fleet.DeviceID) bool {
		_, err := m.FolderPaths(m.t.Context(), id)
		return fleet.CodeOf(err) == fleet.CodeConflict
	}), true},
	{sightingRows, ofBoth(func(m *meddled, id fleet.DeviceID) bool {
		return must(m.Known(m.t.Context()))(m.t)[id].FoundBy == fleet.FoundByAgent
	}), true},
	{sentRows, ofBoth(func(m *meddled, id fleet.DeviceID) bool {
		return must(m.Touched(m.t.Context(), id, 99))(m.t)
	}), true},
}

// rename gives the first row of a table another key, with the mark that it had.
func (m *meddled) rename(table *markedTable, column string) {
	m.t.Helper()
	m.exec(`UPDATE ` + table.name + ` SET ` + column + ` = ` + m.otherValue(table, column, false) + m.one(table))
}

// A row that was given another key kept its mark, so the sum of the marks was right and nobody missed the row: a
// protected tag was protected no longer, and a device was admitted past its rollout.
func TestARowThatGotAnotherKeyIsMissed(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		for _, of := range guardedTables {
			for _, column := range of.table.key {
				m := newMeddled(t, fresh(t, options))
				what := fmt.Sprintf("another %s in %s", column, of.table.name)
				if of.holds(m) && of.table != protectedRows { // Muster wrote that both tags are protected.
					t.Errorf("%s: the guard holds without a doubt, so the test shows nothing", what)
				}
				m.keep(of.table.name)
				m.rename(of.table, column)
				m.restart(m.options)
				m.wantGuarded(what, of)
				m.connectAnew()
				m.wantGuarded(what+", and a new connection", of)
				accepted := must(m.AcceptLoss(t.Context(), 1, m.accept.now()))(t)
				if !strings.Contains(strings.Join(accepted, "; "), of.table.missing) {
					t.Errorf("%s: accepted is %q", what, accepted)
				}
				m.wantIntact()
				m.restart(m.options)
				if of.observes {
					m.wantResumed(what + " accepted,")
				}
				m.wantIntact()
			}
		}
	})
}

func (m *meddled) wantGuarded(what string, of guarded) {
	m.t.Helper()
	if !of.holds(m) {
		m.t.Errorf("%s: the guard does not hold", what)
	}
	if told := m.Tampering(); told == nil || !strings.Contains(told.Reason, of.table.name) {
		m.t.Errorf("%s: told is %+v", what, told)
	}
	m.wantNamed(what, of.table.name)
}

// Each table whose doubt says what holds while a row may be missing has a test of that.
func TestEachTableWithGuardsIsTested(t *testing.T) {
	t.Parallel()
	for _, table := range markedTables {
		is := slices.ContainsFunc(guardedTables, func(of guarded) bool { return of.table == table })
		if is != (table.missing != "") {
			t.Errorf("%s is in guardedTables: %t", table.name, is)
		}
		if table.missing != "" && table.large {
			t.Errorf("a start does not compare the rows of %s", table.name)
		}
	}
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
			m := newMeddled(t, fresh(t, options))
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
