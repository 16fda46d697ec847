package store

import (
	"os"
	"path/filepath"
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
			if r := m.verify(); len(r.Faults) == 0 || len(r.Rows) > 0 {
				t.Errorf("%s verify finds %+v", start, r)
			}
			m.restart(options)
		}
		_, err := m.AcceptLoss(t.Context(), lost-1)
		wantCode(t, err, fleet.CodeConflict)
		must(m.AcceptLoss(fleet.WithActor(t.Context(), "admin"), lost))(t)
		m.wantMode("once the loss is accepted", fleet.ModeOn)
		if i := m.Tampering(); i != nil {
			t.Errorf("once the loss is accepted people are told %+v", i)
		}
		last := m.entries()[len(m.entries())-1]
		if last.What != "audit.acceptLoss" || last.Who != "admin" || last.ID <= lost {
			t.Errorf("recorded is %+v", last)
		}
		m.restart(options)
		m.wantMode("after the next start", fleet.ModeOn)
		_, err = m.AcceptLoss(t.Context(), lost)
		wantCode(t, err, fleet.CodeConflict)
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
		must(m.AcceptLoss(t.Context(), loss.To))(t)
		m.wantMode("once the loss is accepted", fleet.ModeOn)
	})
}

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
		accepted := must(m.AcceptLoss(t.Context(), 1))(t)
		if len(accepted) != 3 {
			t.Errorf("accepted is %q", accepted)
		}
		r := must(m.Registry(t.Context()))(t)
		for _, v := range r.Templates {
			if v.SavedByAdmin() != (v.Label != "forged") {
				t.Errorf("template %q counts as saved by %q", v.Label, v.SavedRole)
			}
		}
		if r.Mode != fleet.ModeOn || len(r.Roots["lab"]) != 2 {
			t.Errorf("accepted are mode %s and roots %v", r.Mode, r.Roots["lab"])
		}
		m.wantIntact()
		m.restart(options)
		m.wantMode("after a start", fleet.ModeOn)
	})
}
