package store

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"muster/internal/fleet"
)

// putBackWhole makes a database with a deleted admin token, and has it be what it was before the deletion. It gives the
// last entry of the audit before.
func putBackWhole(t *testing.T, options Options) (m *meddled, lost int64) {
	t.Helper()
	m = newMeddled(t, options)
	m.token("stolen", fleet.RoleAdmin)
	m.keep(tablesOf(t, m.Store)...)
	if err := m.DeleteToken(t.Context(), "stolen"); err != nil {
		t.Fatal(err)
	}
	must(m.TagDevice(t.Context(), deviceN(1).ID, "later", nil))(t)
	all := m.entries()
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	m.meddle(func() {}, func() {}) // puts every table back
	m.Store = open(t, options)
	return m, all[len(all)-1].ID
}

func withEndFile(t *testing.T, options Options) Options {
	t.Helper()
	options.EndFile = filepath.Join(t.TempDir(), EndFile)
	return options
}

// wantResumed wants the fleet observed until a person resumes it, and not longer: rows count again of which nobody can
// tell whether they are the last ones.
func (m *meddled) wantResumed(what string) {
	m.t.Helper()
	m.wantMode(what, fleet.ModeObserve)
	if err := stored(m.Store, m.PutFleetMode(m.t.Context(), fleet.ModeOn)); err != nil {
		m.t.Fatal(err)
	}
	m.wantMode(what+" and resumed", fleet.ModeOn)
}

func (m *meddled) wantMode(what string, want fleet.Mode) {
	m.t.Helper()
	if mode := must(m.Registry(m.t.Context()))(m.t).Mode; mode != want {
		m.t.Errorf("%s the fleet is %s, want %s", what, mode, want)
	}
}

// The whole database put back revived an admin token that was deleted since, and nothing said so.
func TestAWholeDatabaseThatIsPutBackOnlyObserves(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		options = withEndFile(t, options)
		m, lost := putBackWhole(t, options)
		for _, start := range []string{"after the start", "after another start"} {
			m.wantMode(start, fleet.ModeObserve)
			if i := m.Tampering(); i == nil || !strings.Contains(i.Next, "accept-loss") {
				t.Errorf("%s people are told %+v", start, i)
			}
			wantCode(t, m.PutFleetMode(t.Context(), fleet.ModeOn), fleet.CodeConflict)
			if r := m.verify(); len(r.Faults) == 0 || !slices.ContainsFunc(r.Rows, func(row string) bool {
				return strings.Contains(row, `token "stolen"`)
			}) {
				t.Errorf("%s verify finds %+v", start, r)
			}
			m.restart(options)
		}
		_, err := m.AcceptLoss(t.Context(), lost-1, m.accept.now())
		wantCode(t, err, fleet.CodeConflict)
		code := m.accept.now()
		for _, other := range []string{"", "stolen", code[1:]} {
			_, err := m.AcceptLoss(t.Context(), lost, other) // as the token that came back would
			wantCode(t, err, fleet.CodeForbidden)
		}
		m.wantMode("with another code", fleet.ModeObserve)
		file := filepath.Join(filepath.Dir(options.EndFile), fleet.AcceptFile)
		if content := must(os.ReadFile(file))(t); string(content) != code+"\n" {
			t.Errorf("the home has the code %q, want %q", content, code)
		}
		accepted := must(m.AcceptLoss(fleet.WithActor(t.Context(), "admin"), lost, m.accept.now()))(t)
		kept := `counts again: the tag of the device "` + string(deviceN(1).ID) + `, office"`
		if !slices.Contains(accepted, kept) {
			t.Errorf("accepted is %q, want %s", accepted, kept)
		}
		last := m.entries()[len(m.entries())-1]
		if last.What != "audit.acceptLoss" || last.Who != "admin" || last.ID <= lost {
			t.Errorf("recorded is %+v", last)
		}
		if i := m.Tampering(); i == nil || !strings.Contains(i.Reason, `"stolen"`) {
			t.Errorf("once the loss is accepted people are told %+v of the token that came back", i)
		}
		if err := m.DeleteToken(t.Context(), "stolen"); err != nil {
			t.Fatal(err)
		}
		m.restart(options)
		m.wantResumed("after the next start")
		if i := m.Tampering(); i != nil {
			t.Errorf("at the end people are told %+v", i)
		}
		_, err = m.AcceptLoss(t.Context(), lost, m.accept.now())
		wantCode(t, err, fleet.CodeConflict)
		if m.accept.now() == code {
			t.Error("the code that was used counts a second time")
		}
	})
}

// The same, while the server runs: it has to find it with the next write.
func TestAnAuditThatIsPutBackWhileTheServerRunsOnlyObserves(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		options = withEndFile(t, options)
		m := newMeddled(t, options)
		m.keep("audit", "proofs")
		must(m.TagDevice(t.Context(), deviceN(1).ID, "later", nil))(t)
		m.meddle(func() {}, func() {})
		m.wantMode("before a write", fleet.ModeOn)
		must(m.TagDevice(t.Context(), deviceN(2).ID, "later", nil))(t)
		m.wantMode("after a write", fleet.ModeObserve)
		m.restart(options)
		m.wantMode("after a start", fleet.ModeObserve)
		loss := m.loss.now()
		must(m.AcceptLoss(t.Context(), loss.To, m.accept.now()))(t)
		m.wantMode("once the loss is accepted", fleet.ModeOn)
	})
}

// A server that crashed between the commit that found older ends and the note about it in the home believed what was
// put back: the new entries followed those that the home knew.
func TestACrashAfterOlderEndsWereFoundHidesNoLoss(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		options = withEndFile(t, options)
		m := newMeddled(t, options)
		m.token("stolen", fleet.RoleAdmin)
		m.keep("proofs", "tokens")
		if err := m.DeleteToken(t.Context(), "stolen"); err != nil {
			t.Fatal(err)
		}
		m.meddle(func() {}, func() {})
		commits := m.secondWriter()
		last := &attempt{request: &request{who: "admin", do: func(t *tx) error {
			t.record("other", "", "")
			return nil
		}}}
		if _, err := commits.transact(t.Context(), []*attempt{last}); err != nil { // what follows a commit never happens
			t.Fatal(err)
		}
		m.wantMode("before the crash", fleet.ModeOn)
		m.restart(options)
		m.wantMode("after the crash", fleet.ModeObserve)
		if m.loss.now() == nil {
			t.Error("no loss is found")
		}
	})
}

// A damaged key of the marks had the fleet observed for ever: each start made another key.
func TestALostKeyOfTheMarksIsReplacedOnceItIsAccepted(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		for what, change := range map[string]string{
			"damaged": `UPDATE own_keys SET value = (SELECT body FROM proofs WHERE name = 'tokens') WHERE name = $1`,
			"removed": `DELETE FROM own_keys WHERE name = $1`,
		} {
			options := withEndFile(t, fresh(t, options))
			m := newMeddled(t, options)
			derives := options.Seal
			options.Seal = otherDerived{derives} // as after the seal key was replaced
			m.exec(change, markKeyPurpose)
			m.restart(options)
			m.wantMode(what, fleet.ModeObserve)
			if i := m.Tampering(); i == nil || !strings.Contains(i.Reason, lostMarkKey) {
				t.Errorf("%s: people are told %+v", what, i)
			}
			accepted := must(m.AcceptLoss(t.Context(), 1, m.accept.now()))(t)
			if !strings.Contains(accepted[0], "keeps a new one") {
				t.Errorf("%s: accepted is %q", what, accepted)
			}
			m.wantResumed(what + " and accepted")
			m.wantIntact()
			for range 2 {
				m.restart(options)
				m.wantMode(what+" and started again", fleet.ModeOn)
				m.wantIntact()
				options.Seal = derives
			}
		}
	})
}

// Who takes the key of the marks, too, hid that the whole database is older.
func TestAnOlderDatabaseWithoutTheKeyOfItsMarksIsALoss(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		options = withEndFile(t, options)
		m, lost := putBackWhole(t, options)
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(options.EndFile, endOf(m.Store, lost), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(filepath.Join(filepath.Dir(options.EndFile), SumsFile)); err != nil {
			t.Fatal(err)
		}
		m.exec(`DELETE FROM own_keys WHERE name = $1`, markKeyPurpose)
		options.Seal = otherDerived{options.Seal}
		m.Store = open(t, options)
		if m.loss.now() == nil {
			t.Error("no loss is found")
		}
	})
}

// endOf is the content of the file that remembers this entry as the last one.
func endOf(s *Store, last int64) []byte {
	return []byte(s.endText(fleet.AuditEnds{LastID: last, LastHash: strings.Repeat("0", 64)}))
}

// otherDerived derives other keys than the Sealer derived with which the database began.
type otherDerived struct{ Sealer }

func (o otherDerived) Derive(purpose string) ([]byte, error) { return o.Sealer.Derive(purpose + "!") }

// Another audit with as many entries is not the one that the home knows: another server had the old database meanwhile.
func TestAnotherAuditOfTheSameLengthOnlyObserves(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		options = withEndFile(t, options)
		m := newMeddled(t, options)
		m.keep(tablesOf(t, m.Store)...)
		for _, tag := range []fleet.Tag{"a", "b"} {
			must(m.TagDevice(t.Context(), deviceN(1).ID, tag, nil))(t)
		}
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
		m.meddle(func() {}, func() {})
		m.Store = open(t, withoutEnd(options))
		for _, tag := range []fleet.Tag{"c", "d", "e"} {
			must(m.TagDevice(t.Context(), deviceN(1).ID, tag, nil))(t)
		}
		m.restart(options)
		m.wantMode("with another audit", fleet.ModeObserve)
	})
}

func withoutEnd(options Options) Options {
	options.EndFile = ""
	return options
}

// A home without the file begins one and says so; a file that somebody wrote does not count as one.
func TestAHomeThatDoesNotKnowTheAuditSaysSo(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		options = withEndFile(t, options)
		m := newMeddled(t, options)
		began := func() (n int) {
			for _, e := range m.entries() {
				if e.What == "audit.end" {
					n++
				}
			}
			return n
		}
		before := began()
		m.restart(options)
		if began() != before {
			t.Error("a home that knows the audit says that it does not")
		}
		content := must(os.ReadFile(options.EndFile))(t)
		for i, change := range []func() error{
			func() error { return os.Remove(options.EndFile) },
			func() error {
				return os.WriteFile(options.EndFile, []byte(strings.Replace(string(content), "0000", "9999", 1)), 0o600)
			},
		} {
			if err := change(); err != nil {
				t.Fatal(err)
			}
			m.restart(options)
			if began() != before+i+1 {
				t.Errorf("%d of %d are recorded", began(), before+i+1)
			}
			m.wantMode("without its file", fleet.ModeOn)
		}
	})
}

// Rows that were changed or removed: an admin accepts them, and nobody counts as who saved them.
func TestWhatIsInDoubtCountsOnceItIsAccepted(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		m := newMeddled(t, options)
		m.exec(`UPDATE templates SET label = 'forged' WHERE label = 'template 0'`)
		m.exec(`DELETE FROM device_tags WHERE tag = 'lab'`)
		m.exec(`INSERT INTO folder_roots (tag, path) VALUES ('lab', '/')`)
		m.restart(options)
		m.wantMode("with rows in doubt", fleet.ModeObserve)
		wantCode(t, m.PutFleetMode(t.Context(), fleet.ModeOn), fleet.CodeConflict)
		accepted := must(m.AcceptLoss(t.Context(), 1, m.accept.now()))(t)
		if len(accepted) != 5 || !strings.Contains(accepted[4], "office") {
			t.Errorf("accepted is %q", accepted)
		}
		r := must(m.Registry(t.Context()))(t)
		for _, v := range r.Templates {
			if v.SavedByAdmin() != (v.Label != "forged") {
				t.Errorf("template %q counts as saved by %q", v.Label, v.SavedRole)
			}
		}
		if len(r.Roots["lab"]) != 2 {
			t.Errorf("accepted are the roots %v", r.Roots["lab"])
		}
		m.wantResumed("once it is accepted")
		m.wantIntact()
		m.restart(options)
		m.wantMode("after a start", fleet.ModeOn)
	})
}

// An old database that was put back under the newer entries of the audit was taken for the newest one: the deleted
// token gave its role, and no loss was found.
func TestADatabaseThatIsPutBackUnderItsAuditOnlyObserves(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		options = withEndFile(t, options)
		m := newMeddled(t, options)
		m.token("stolen", fleet.RoleAdmin)
		tables := tablesOf(t, m.Store)
		m.keep(slices.DeleteFunc(tables, func(table string) bool { return table == "audit" })...)
		if err := m.DeleteToken(t.Context(), "stolen"); err != nil {
			t.Fatal(err)
		}
		all := m.entries()
		lost := all[len(all)-1].ID
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
		m.meddle(func() {}, func() {})
		m.Store = open(t, options)
		for _, start := range []string{"after the start", "after another start"} {
			m.wantMode(start, fleet.ModeObserve)
			if loss := m.loss.now(); loss == nil || loss.To != lost {
				t.Errorf("%s the loss is %v, want entry %d", start, loss, lost)
			}
			m.restart(options)
		}
		must(m.AcceptLoss(t.Context(), lost, m.accept.now()))(t)
		m.restart(options)
		m.wantMode("once the loss is accepted", fleet.ModeOn)
	})
}

// Who removed the proof of the ends had all rows marked as Muster's: the entry about the loss made new ends, which
// looked like those of a version before marks.
func TestRowsAreNotBelievedAnewAfterALoss(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		for what, change := range map[string]func(*meddled){
			"without its ends":      func(m *meddled) { m.exec(`DELETE FROM proofs WHERE name = 'audit ends'`) },
			"of an earlier version": func(m *meddled) { m.putBack(auditEnds, m.endsBefore(2)) },
		} {
			options := withEndFile(t, fresh(t, options))
			m := newMeddled(t, options)
			if err := m.Close(); err != nil {
				t.Fatal(err)
			}
			change(m)
			m.exec(`DELETE FROM audit WHERE id = (SELECT MAX(id) FROM audit)`)
			m.exec(`UPDATE templates SET saved_role = 'admin', mark = NULL`)
			for range 2 {
				m.Store = open(t, options)
				m.wantMode(what, fleet.ModeObserve)
				for _, v := range must(m.Registry(t.Context()))(t).Templates {
					if v.SavedByAdmin() {
						t.Errorf("%s: template %q counts as saved by an admin", what, v.Label)
					}
				}
				if err := m.Close(); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

// endsBefore gives the proof of ends that are older, from before rows had marks.
func (m *meddled) endsBefore(entries int64) []byte {
	m.t.Helper()
	var ends fleet.AuditEnds
	if err := m.openProof(auditEnds, m.proof(auditEnds), &ends); err != nil {
		m.t.Fatal(err)
	}
	ends.LastID, ends.Tables = ends.LastID-entries, nil
	return m.seal.Seal("proofs", auditEnds, "body", must(json.Marshal(ends))(m.t))
}

// With a loss, an admin also accepted what was found in tokens, users and devices: nobody was told any more.
func TestAcceptingALossKeepsWhatElseIsFound(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		m := newMeddled(t, options)
		m.token("forged", fleet.RoleViewer)
		m.exec(`UPDATE tokens SET role = 'admin' WHERE name = 'forged'`)
		m.exec(`DELETE FROM device_tags WHERE tag = 'lab'`)
		m.restart(options)
		must(m.AcceptLoss(t.Context(), 1, m.accept.now()))(t)
		if i := m.Tampering(); i == nil || !strings.Contains(i.Reason, "forged") {
			t.Errorf("once the rows are accepted people are told %+v", i)
		}
	})
}

// One sealed value that does not open kept a server from starting after an upgrade, and a loss from being accepted.
func TestAValueThatDoesNotOpenStaysInDoubt(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		m := newMeddled(t, options)
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
		m.putBack(auditEnds, m.endsBefore(0))
		for _, table := range markedTables {
			m.exec(`UPDATE ` + table.name + ` SET mark = NULL`)
		}
		m.exec(`UPDATE template_history SET text = proof FROM (SELECT proof FROM devices LIMIT 1) AS other`)
		m.Store = open(t, options)
		wantOnly := func(when string) {
			t.Helper()
			rows := m.verify().Rows
			if len(rows) == 0 || slices.ContainsFunc(rows, func(row string) bool {
				return !strings.Contains(row, "template_history") || strings.Contains(row, "none of its rows")
			}) {
				t.Errorf("%s found is %q", when, rows)
			}
		}
		wantOnly("after the upgrade")
		must(m.AcceptLoss(t.Context(), 1, m.accept.now()))(t)
		wantOnly("once it is accepted")
	})
}

// A revocation that was removed from the database was accepted as "rows missing: 1", and the device was let in again.
func TestAcceptLossNamesTheRevocationsThatAreLost(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		options = withEndFile(t, options)
		m := newMeddled(t, options)
		gone, ended, kept := deviceN(70).ID, deviceN(71).ID, deviceN(72).ID
		for _, id := range []fleet.DeviceID{gone, ended, kept} {
			revoke(t, m.Store, fleet.Revocation{Device: id})
		}
		must(m.ApplyEdit(t.Context(), fleet.Edit{Readmit: []fleet.DeviceID{ended}}, fleet.Basis{}))(t)
		m.exec(`DELETE FROM revocations WHERE device_id = '` + string(gone) + `'`)
		m.restart(options)
		all := m.entries()
		accepted := must(m.AcceptLoss(t.Context(), all[len(all)-1].ID, m.accept.now()))(t)
		text := strings.Join(accepted, "; ")
		if !strings.Contains(text, "muster device revoke "+string(gone)) {
			t.Errorf("accepted is %s", text)
		}
		for _, id := range []fleet.DeviceID{ended, kept} {
			if strings.Contains(text, id.Short()) {
				t.Errorf("accepted is %s, although the row of %s is as it was", text, id)
			}
		}
		if strings.Contains(text, "the audit begins on") {
			t.Errorf("accepted is %s, although the audit is whole", text)
		}
	})
}
