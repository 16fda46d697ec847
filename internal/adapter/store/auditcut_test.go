package store

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"muster/internal/fleet"
)

// The audit grew for ever. What is cut off leaves a chain that is proven, and a head of what was there.
func TestOldEntriesOfTheAuditAreCutOff(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		clock := &stoppedClock{at: time.Now()}
		options = withEndFile(t, options)
		options.Now = clock.now
		s := filled(t, options)
		old := s.entries()
		clock.move(48 * time.Hour)
		s.token("young", fleet.RoleViewer)
		newest := s.entries()[len(old)]
		deleted := must(s.CutAudit(t.Context(), 24*time.Hour))(t)
		left := s.entries()
		if deleted != int64(len(old)) || left[0].ID != old[len(old)-1].ID+1 || left[0].Subject != "young" {
			t.Fatalf("%d of %d entries were cut, and the first is %+v", deleted, len(old), left[0])
		}
		cut := left[len(left)-1]
		if cut.What != "audit.cut" || !strings.Contains(cut.Detail, "entries 1 to ") {
			t.Errorf("recorded is %+v", cut)
		}
		head := must(scanHead(s.reads.QueryRowContext(t.Context(), selectHeads+` WHERE audit_id = $1`, newest.ID)))(t)
		if head.Hash != newest.Hash {
			t.Errorf("the head that was signed before the cut is %+v, of entry %+v", head, newest)
		}
		signed(s.SignHead(t.Context()))(t)
		check := func(what string) {
			t.Helper()
			if r := s.verify(); len(r.Faults)+len(r.Rows) > 0 || r.FirstID != left[0].ID {
				t.Errorf("%s verify finds %+v", what, r)
			}
		}
		check("after the cut")
		if again := must(s.CutAudit(t.Context(), 24*time.Hour))(t); again != 0 {
			t.Errorf("%d entries were cut again", again)
		}
		s.restart(options)
		check("after a start")
		if s.loss.now() != nil {
			t.Error("what was cut counts as lost")
		}
		s.write(fleet.AuditEntry{ID: left[0].ID, At: left[0].At, Who: "other", What: left[0].What, Subject: left[0].Subject,
			Previous: left[0].Previous, Hash: left[0].Hash})
		s.wantFirst("the first entry that is left", left[0].ID)
	})
}

// Who changes an entry and waits would have had it deleted before anybody looked.
func TestEntriesThatWereChangedAreNotCutOff(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		clock := &stoppedClock{at: time.Now()}
		options.Now = clock.now
		s := filled(t, options)
		clock.move(48 * time.Hour)
		s.token("young", fleet.RoleViewer)
		s.exec(`UPDATE audit SET detail = 'other' WHERE id = 3`)
		if deleted := must(s.CutAudit(t.Context(), 24*time.Hour))(t); deleted != 0 {
			t.Errorf("%d entries were cut", deleted)
		}
		s.wantFirst("the entry that was changed", 3)
	})
}

// A home folder that could not be written to remembered an entry that was cut: the next start would have taken the
// database for one that went on elsewhere.
func TestTheEntryThatTheHomeRemembersIsNotCutOff(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		clock := &stoppedClock{at: time.Now()}
		options = withEndFile(t, options)
		options.Now = clock.now
		s := filled(t, options)
		remembered := must(s.end.synced())(t)
		if err := s.end.close(); err != nil {
			t.Fatal(err)
		}
		s.end.file = must(os.Open(options.EndFile))(t) // Nothing can be written to it.
		s.end.sums = must(os.Open(filepath.Join(filepath.Dir(options.EndFile), SumsFile)))(t)
		s.token("later", fleet.RoleViewer)
		clock.move(48 * time.Hour)
		s.token("young", fleet.RoleViewer)
		deleted := must(s.CutAudit(t.Context(), 24*time.Hour))(t)
		if first := s.entries()[0].ID; deleted == 0 || first != remembered {
			t.Errorf("%d entries were cut, and the first is %d, want %d", deleted, first, remembered)
		}
		s.restart(options)
		if loss := s.loss.now(); loss != nil {
			t.Errorf("lost is %v", loss)
		}
	})
}
