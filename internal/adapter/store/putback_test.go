package store

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"muster/internal/fleet"
)

// wantNobodyIn checks that the session and the log-in link of a person that addPerson made let nobody in.
func (m *meddled) wantNobodyIn(what, person string) {
	m.t.Helper()
	if _, err := m.SessionByHash(m.t.Context(), "token of "+person); fleet.CodeOf(err) != fleet.CodeNotFound {
		m.t.Errorf("%s: the session lets in, or %v", what, err)
	}
	if _, err := m.LoginLink(m.t.Context(), "code of "+person); fleet.CodeOf(err) != fleet.CodeNotFound {
		m.t.Errorf("%s: the log-in link lets in, or %v", what, err)
	}
}

// endAccessOf ends the session of a person that addPerson made, and replaces the log-in link.
func (m *meddled) endAccessOf(person string) {
	m.t.Helper()
	if err := m.EndSession(m.t.Context(), "session of "+person, person); err != nil {
		m.t.Fatal(err)
	}
	link := fleet.LoginLink{Hash: "other code", User: person, ExpiresAt: seenAt.AddDate(100, 0, 0)}
	if err := m.CreateLoginLink(m.t.Context(), link); err != nil {
		m.t.Fatal(err)
	}
}

// A session that had ended, and a log-in link that was replaced, let in again once the whole database was put back,
// until they expired. So did sessions that had not ended: who copied the database may have copied a browser, too.
func TestNoSessionOfADatabaseThatIsPutBackLetsIn(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		for what, running := range map[string]bool{"before a start": false, "while the server runs": true} {
			options := withEndFile(t, fresh(t, options))
			m := newMeddled(t, options)
			addPerson(t, m.Store, 0)
			addPerson(t, m.Store, 1)
			m.keep(tablesOf(t, m.Store)...)
			m.endAccessOf("person0")
			if running {
				m.meddle(func() {}, func() {})
				must(m.TagDevice(t.Context(), deviceN(1).ID, "later", nil))(t)
			} else {
				if err := m.Close(); err != nil {
					t.Fatal(err)
				}
				m.meddle(func() {}, func() {})
				m.Store = open(t, options)
			}
			if m.loss.now() == nil {
				t.Fatal("no loss is found")
			}
			for _, person := range []string{"person0", "person1"} {
				m.wantNobodyIn(what, person)
			}
			// Who was given a link since changed the list of users, so a user of the older one does not count.
			later := fleet.User{Name: "later", Role: fleet.RoleViewer, Password: "hash of later"}
			must(m.CreateUser(t.Context(), later))(t)
			again := fleet.LogIn{Password: later.Password, Session: fleet.Session{ID: "again", User: later.Name, Hash: "again",
				CreatedAt: seenAt, ExpiresAt: seenAt.AddDate(100, 0, 0)}}
			if err := m.StartSession(t.Context(), again); err != nil {
				t.Fatal(err)
			}
			must(m.AcceptLoss(t.Context(), m.loss.now().To, m.accept.now()))(t)
			m.restart(options)
			for _, person := range []string{"person0", "person1"} {
				m.wantNobodyIn(what+", accepted", person)
			}
			if _, err := m.SessionByHash(t.Context(), "again"); err != nil {
				t.Errorf("%s: who logs in afterwards is not let in: %v", what, err)
			}
		}
	})
}

// Sessions went on where somebody had deleted the newest entry of the audit, and left the sealed ends as they were.
func TestALostEntryAloneEndsEverySession(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		options = withEndFile(t, options)
		m := newMeddled(t, options)
		addPerson(t, m.Store, 0)
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
		m.exec(`DELETE FROM audit WHERE id = (SELECT MAX(id) FROM audit)`)
		m.Store = open(t, options)
		if m.loss.now() == nil {
			t.Fatal("no loss is found")
		}
		m.wantNobodyIn("the newest entry was deleted", "person0")
	})
}

// Tokens, users and secrets that were changed since came back with the whole database. Those of a table that is as it
// was go on counting, or each failover would cost all tokens.
func TestARosterThatIsPutBackCountsOnlyIfItIsTheOneThatTheHomeKnows(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		for name, of := range provenTables {
			if name == decisionRows {
				continue // A decision only keeps a device out.
			}
			options := withEndFile(t, fresh(t, options))
			m := newMeddled(t, options)
			m.fillProven()
			m.keep(tablesOf(t, m.Store)...)
			if err := of.remove(m); err != nil {
				t.Fatal(err)
			}
			if err := m.Close(); err != nil {
				t.Fatal(err)
			}
			m.meddle(func() {}, func() {})
			m.Store = open(t, options)
			for table, verify := range map[string]func() ([]string, error){
				tokenRows:     func() ([]string, error) { return m.verifyTokens(t.Context()) },
				userRows:      func() ([]string, error) { return m.verifyUsers(t.Context()) },
				secretRows:    func() ([]string, error) { return m.verifySecrets(t.Context()) },
				enrollKeyRows: func() ([]string, error) { return m.verifyEnrollKeys(t.Context()) },
			} {
				wrong := must(verify())(t)
				if (len(wrong) > 0) != (table == name) {
					t.Errorf("%s was put back: of %s is found %q", name, table, wrong)
				}
			}
		}
	})
}

// Rows of every table with marks kept their power once the loss was accepted, although another row had been there
// since.
func TestATableThatIsPutBackWithTheWholeDatabaseGivesNoPowerUnseen(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		for i, table := range markedTables {
			if !inSample(options, i) {
				continue
			}
			options := withEndFile(t, fresh(t, options))
			m := newMeddled(t, options)
			m.keep(tablesOf(t, m.Store)...)
			if err := m.deleteMarked(table, m.firstOf(table)); err != nil {
				t.Fatal(table.name, err)
			}
			if err := m.Record(t.Context(), "other", "", ""); err != nil {
				t.Fatal(err)
			}
			if err := m.Close(); err != nil {
				t.Fatal(err)
			}
			m.meddle(func() {}, func() {})
			m.Store = open(t, options)
			m.wantWholeDoubt(table)
			accepted := must(m.AcceptLoss(t.Context(), m.loss.now().To, m.accept.now()))(t)
			one := firstKey(table, m)
			named := table.accept != "" || table == rolloutRows || table == revocationRows || slices.ContainsFunc(accepted,
				func(text string) bool { return strings.HasPrefix(text, "counts again: "+table.noun+` "`+one) })
			if !named {
				t.Errorf("%s: accepted is %q, without %q", table.name, accepted, one)
			}
			if observingAfter([]doubt{{table: table, whole: true}}) != "" {
				m.wantResumed(table.name)
			}
			m.restart(options)
			m.wantMode(table.name+" in the end", fleet.ModeOn)
		}
	})
}

func firstKey(table *markedTable, m *meddled) string {
	rows := must(m.markedRows(m.t.Context(), pool{m.reads}, table, ""))(m.t)
	if len(rows) == 0 {
		return ""
	}
	return rows[0].name()
}

// wantWholeDoubt wants this table in doubt as a whole, and no other.
func (m *meddled) wantWholeDoubt(table *markedTable) {
	m.t.Helper()
	m.model.look(func(c *contents) {
		if len(c.doubts) != 1 || c.doubts[0].table != table || !c.doubts[0].every() {
			m.t.Errorf("%s was put back: in doubt is %+v", table.name, c.doubts)
		}
	})
}

// Without the sums in the home nobody can tell which tables are as they were.
func TestALossWithoutTheSumsOfTheHomeBelievesNoTable(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		options = withEndFile(t, options)
		m := newMeddled(t, options)
		m.fillProven()
		m.exec(`DELETE FROM protected_tags`)
		m.keep(tablesOf(t, m.Store)...)
		must(m.TagDevice(t.Context(), deviceN(1).ID, "later", nil))(t)
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
		m.meddle(func() {}, func() {})
		file := filepath.Join(filepath.Dir(options.EndFile), SumsFile)
		content := must(os.ReadFile(file))(t)
		// After a crash of the machine, the file may be cut off.
		if err := os.WriteFile(file, content[:len(content)/2], 0o600); err != nil {
			t.Fatal(err)
		}
		m.Store = open(t, options)
		m.model.look(func(c *contents) {
			for _, table := range markedTables {
				if !slices.ContainsFunc(c.doubts, func(d doubt) bool { return d.table == table && d.every() }) {
					t.Errorf("%s is believed", table.name)
				}
			}
		})
		if wrong := must(m.verifyTokens(t.Context()))(t); len(wrong) == 0 {
			t.Error("tokens count")
		}
		must(m.AcceptLoss(t.Context(), m.loss.now().To, m.accept.now()))(t)
		r := must(m.Registry(t.Context()))(t)
		for _, tag := range []fleet.Tag{"office", "lab"} {
			if !r.Protected[tag] {
				t.Errorf("the tag %s is not protected: protection that was lost is not known", tag)
			}
		}
	})
}

// An older database that was put back a second time, before the first loss was accepted, gave the power that it had
// before: the end file stays as it is while a loss is open.
func TestADatabaseThatIsPutBackTwiceIsFoundTwice(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		options = withEndFile(t, options)
		m, lost := putBackWhole(t, options)
		m.token("later", fleet.RoleAdmin)
		for _, table := range m.kept {
			m.exec(`DROP TABLE kept_` + table)
		}
		m.keep(m.kept...)
		if err := m.DeleteToken(t.Context(), "later"); err != nil {
			t.Fatal(err)
		}
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
		m.meddle(func() {}, func() {})
		m.Store = open(t, options)
		if loss := m.loss.now(); loss == nil || loss.From > lost || loss.To <= lost {
			t.Errorf("lost are %v, want entries beyond %d", loss, lost)
		}
		if wrong := strings.Join(must(m.verifyTokens(t.Context()))(t), "; "); !strings.Contains(wrong, `"later"`) {
			t.Errorf("of tokens is found %q", wrong)
		}
	})
}

// A copy of the database that went on elsewhere, with the same key, and has a longer audit: its sessions ended, but all
// its rows counted, also the admin token that was made there. A copy that went on until its retention had deleted the
// entry that the home remembers was no loss at all.
func TestTheRowsOfACopyThatWentOnElsewhereDoNotCount(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		for _, c := range []struct {
			what         string
			running, cut bool
		}{{"before a start", false, false}, {"while the server runs", true, false}, {"cut, before a start", false, true},
			{"cut, while the server runs", true, true}} {
			clock := &stoppedClock{at: time.Now()}
			options := withEndFile(t, fresh(t, options))
			options.Now = clock.now
			m := newMeddled(t, options)
			before := m.snapshot("before")
			m.reopen(withoutEnd(options), nil)
			m.goOn(clock, c.cut)
			elsewhere := m.snapshot("elsewhere")
			m.reopen(options, before)
			if m.loss.now() != nil {
				t.Fatal("the original is lost")
			}
			must(m.TagDevice(t.Context(), deviceN(1).ID, "original", nil))(t)
			if c.running {
				elsewhere()
				if wrong := strings.Join(must(m.verifyTokens(t.Context()))(t), "; "); !strings.Contains(wrong, `"forged"`) {
					t.Errorf("%s, and nothing is written yet: of tokens is found %q", c.what, wrong)
				}
				must(m.TagDevice(t.Context(), deviceN(2).ID, "later", nil))(t)
			} else {
				m.reopen(options, elsewhere)
			}
			for _, started := range []string{"", ", and a start later"} {
				m.wantMode(c.what+started, fleet.ModeObserve)
				if wrong := strings.Join(must(m.verifyTokens(t.Context()))(t), "; "); !strings.Contains(wrong, `"forged"`) {
					t.Errorf("%s%s: of tokens is found %q", c.what, started, wrong)
				}
				if len(m.verify().Faults) == 0 {
					t.Errorf("%s%s: the chain of the audit is whole", c.what, started)
				}
				m.restart(options)
				m.model.look(func(is *contents) {
					if !slices.ContainsFunc(is.doubts, func(d doubt) bool { return d.table.name == "device_tags" && d.every() }) {
						t.Errorf("%s%s: the tags of devices are believed", c.what, started)
					}
				})
			}
		}
	})
}

// goOn makes a token and writes more to the audit than the original will. If cut is true, it deletes all of that but
// the newest entries, because of their age.
func (m *meddled) goOn(clock *stoppedClock, cut bool) {
	m.t.Helper()
	m.token("forged", fleet.RoleAdmin)
	for _, tag := range []fleet.Tag{"a", "b", "c", "d"} {
		must(m.TagDevice(m.t.Context(), deviceN(1).ID, tag, nil))(m.t)
	}
	if !cut {
		return
	}
	clock.move(48 * time.Hour)
	must(m.TagDevice(m.t.Context(), deviceN(1).ID, "e", nil))(m.t)
	if must(m.CutAudit(m.t.Context(), 24*time.Hour))(m.t) == 0 {
		m.t.Fatal("nothing was cut")
	}
}

// snapshot copies every table, and returns a function that puts the copies back.
func (m *meddled) snapshot(name string) (putBack func()) {
	m.t.Helper()
	tables := tablesOf(m.t, m.Store)
	tables = slices.DeleteFunc(tables, func(table string) bool { return strings.HasPrefix(table, "copy_") })
	for _, table := range tables {
		m.exec(`CREATE TABLE copy_` + name + `_` + table + ` AS SELECT * FROM ` + table)
	}
	return func() {
		for _, table := range tables {
			m.exec(`DELETE FROM ` + table)
			m.exec(`INSERT INTO ` + table + ` ` + m.dialect.givenID() + ` SELECT * FROM copy_` + name + `_` + table)
		}
	}
}

// reopen closes the store, calls meanwhile if there is one, and opens the store again.
func (m *meddled) reopen(options Options, meanwhile func()) {
	m.t.Helper()
	if err := m.Close(); err != nil {
		m.t.Fatal(err)
	}
	if meanwhile != nil {
		meanwhile()
	}
	m.Store = open(m.t, options)
}

// A loss that nobody had accepted was forgotten at a start whose file of sums was cut off, where a copy of the database
// had gone on elsewhere and its retention had deleted the entry that the end file names.
func TestALossOutlastsItsEntryAndTheSums(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		clock := &stoppedClock{at: time.Now()}
		options = withEndFile(t, options)
		options.Now = clock.now
		m, lost := putBackWhole(t, options)
		m.reopen(withoutEnd(options), func() { m.meddle(func() {}, func() {}) })
		for _, tag := range []fleet.Tag{"a", "b", "c", "d", "e"} {
			must(m.TagDevice(t.Context(), deviceN(1).ID, tag, nil))(t)
		}
		clock.move(48 * time.Hour)
		must(m.TagDevice(t.Context(), deviceN(2).ID, "later", nil))(t)
		if must(m.CutAudit(t.Context(), 24*time.Hour))(t) == 0 {
			t.Fatal("nothing was cut")
		}
		m.reopen(options, func() {
			if err := os.Truncate(filepath.Join(filepath.Dir(options.EndFile), SumsFile), 9); err != nil {
				t.Fatal(err)
			}
		})
		m.wantMode("after the start", fleet.ModeObserve)
		if loss := m.loss.now(); loss == nil || loss.To != lost {
			t.Errorf("lost is %v, want up to %d", loss, lost)
		}
	})
}

// A consent that was used let its change out a second time: to use one has no entry in the audit, so a database that
// was copied before had the newest entry.
func TestADatabaseThatIsPutBackToBeforeAChangeWithoutAnEntryIsFound(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		for what, running := range map[string]bool{"before a start": false, "while the server runs": true} {
			options := withEndFile(t, fresh(t, options))
			m := newMeddled(t, options)
			m.reopen(options, nil)
			m.keep(tablesOf(t, m.Store)...)
			last := m.known.now().LastID
			open := must(m.OpenConsents(t.Context()))(t)
			if err := m.CloseConsents(t.Context(), []int64{open[0].ID}, 8); err != nil {
				t.Fatal(err)
			}
			if now := m.known.now().LastID; now != last {
				t.Fatalf("the newest entry is %d, and was %d", now, last)
			}
			if running {
				m.meddle(func() {}, func() {})
				if rows := m.verify().Rows; !slices.ContainsFunc(rows, func(row string) bool {
					return strings.HasPrefix(row, "changes after entry")
				}) {
					t.Errorf("%s verify finds %q", what, rows)
				}
				must(m.TagDevice(t.Context(), deviceN(1).ID, "later", nil))(t)
			} else {
				m.reopen(options, func() { m.meddle(func() {}, func() {}) })
			}
			if loss := m.loss.now(); loss == nil || loss.To != last || loss.From <= last {
				t.Fatalf("%s: lost is %v, want what came after entry %d", what, loss, last)
			}
			m.restart(options)
			m.wantMode(what, fleet.ModeObserve)
			if counts := must(m.OpenConsents(t.Context()))(t); len(counts) != 0 {
				t.Errorf("%s: there count %+v", what, counts)
			}
			must(m.AcceptLoss(t.Context(), last, m.accept.now()))(t)
			m.restart(options)
			m.wantMode(what+", accepted", fleet.ModeOn)
		}
	})
}
