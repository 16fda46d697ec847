package store

import (
	"strings"
	"testing"

	"muster/internal/fleet"
)

// A session or log-in link that had ended let in again when its row was put back.
func TestASessionOrLinkThatEndedAndIsPutBackLetsNoOneIn(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := filled(t, options)
		s.keep("sessions", "login_links")
		s.meddle(func() {
			ended := must(s.SessionByHash(t.Context(), "token of person0"))(t)
			if err := s.EndSession(t.Context(), ended.ID, ""); err != nil {
				t.Fatal(err)
			}
			rotated := must(s.SessionByHash(t.Context(), "token of person1"))(t)
			if ok, err := s.RotateSession(t.Context(), fleet.Rotation{Session: rotated.ID, Bearer: rotated.Hash,
				Current: rotated.Hash, Next: "later", At: seenAt}); !ok || err != nil {
				t.Fatal(ok, err)
			}
			if err := s.UseLoginLink(t.Context(), fleet.UseLink{Hash: "code of person0", User: "person0", Password: "new",
				Session: fleet.Session{ID: "by link", User: "person0", Hash: "by link", CreatedAt: seenAt,
					ExpiresAt: seenAt.AddDate(100, 0, 0)}}); err != nil {
				t.Fatal(err)
			}
		}, func() {
			must(s.SessionByHash(t.Context(), "later"))(t)
			must(s.SessionByHash(t.Context(), "by link"))(t)
			s.wantIntact()
		})
		for _, hash := range []string{"token of person0", "token of person1"} {
			if v, err := s.SessionByHash(t.Context(), hash); err == nil {
				t.Errorf("%+v counts", v)
			}
		}
		if v, err := s.LoginLink(t.Context(), "code of person0"); err == nil {
			t.Errorf("%+v counts", v)
		}
		found := strings.Join(s.verify().Rows, "\n")
		for _, want := range []string{" of person0 was", " of person1 was", `a log-in link for "person0"`} {
			if !strings.Contains(found, want) {
				t.Errorf("found is %q, without %q", found, want)
			}
		}
	})
}

// A database from before the version in which sessions got a roster is not in doubt: its sessions have ended.
func TestADatabaseWithoutARosterOfSessionsBeginsOne(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := filled(t, options)
		_, err := write(t.Context(), s.Store, "forget the roster", func(t *tx) (none struct{}, err error) {
			ends, _, err := t.auditEnds()
			if err != nil {
				return none, err
			}
			delete(ends.Rosters, sessionRows)
			if err := t.putProof(auditEnds, ends); err != nil {
				return none, err
			}
			return none, t.exec(`DELETE FROM proofs WHERE name = $1`, sessionRows)
		})
		if err != nil {
			t.Fatal(err)
		}
		s.restart(options)
		if v, err := s.SessionByHash(t.Context(), "token of person0"); err == nil {
			t.Errorf("%+v counts", v)
		}
		if err := s.StartSession(t.Context(), fleet.LogIn{Password: "hash of person0", Session: fleet.Session{ID: "next",
			User: "person0", Hash: "next", CreatedAt: seenAt, ExpiresAt: seenAt.AddDate(100, 0, 0)}}); err != nil {
			t.Fatal(err)
		}
		must(s.SessionByHash(t.Context(), "next"))(t)
	})
}

// A session or log-in link that had ended with the loss of an older database, or with a restore, let in again when its
// row was put back before the next log-in.
func TestASessionOrLinkOfAnOlderDatabaseLetsNoOneIn(t *testing.T) {
	older := func(s *tampered) {
		s.keep("audit", "proofs")
		must(s.TagDevice(s.t.Context(), deviceN(1).ID, "later", nil))(s.t)
		s.meddle(func() {}, func() {})
	}
	for what, end := range map[string]func(s *tampered, options Options){
		"a loss while the server runs": func(s *tampered, _ Options) {
			older(s)
			must(s.TagDevice(s.t.Context(), deviceN(2).ID, "later", nil))(s.t)
			if s.loss.now() == nil {
				s.t.Fatal("no loss is found")
			}
		},
		"a loss at a start": func(s *tampered, options Options) {
			older(s)
			s.restart(options)
			if s.loss.now() == nil {
				s.t.Fatal("no loss is found")
			}
		},
		"a restore": func(s *tampered, _ Options) {
			s.exec(`DELETE FROM sessions`)
			s.exec(`DELETE FROM login_links`)
			if err := s.RecordRestore(s.t.Context(), "backup of yesterday"); err != nil {
				s.t.Fatal(err)
			}
		},
	} {
		t.Run(what, func(t *testing.T) {
			onBoth(t, func(t *testing.T, options Options) {
				options = withEndFile(t, options)
				s := filled(t, options)
				s.keep("sessions", "login_links")
				must(s.SessionByHash(t.Context(), "token of person0"))(t)
				must(s.LoginLink(t.Context(), "code of person0"))(t)
				end(s, options)
				if open := must(s.Sessions(t.Context(), ""))(t); len(open) > 0 {
					t.Errorf("%d sessions are left", len(open))
				}
				s.kept = []string{"sessions", "login_links"}
				s.meddle(func() {}, func() {})
				if v, err := s.SessionByHash(t.Context(), "token of person0"); err == nil {
					t.Errorf("%+v counts", v)
				}
				if v, err := s.LoginLink(t.Context(), "code of person0"); err == nil {
					t.Errorf("%+v counts", v)
				}
				if err := s.StartSession(t.Context(), fleet.LogIn{Password: "hash of person0", Session: fleet.Session{ID: "next",
					User: "person0", Hash: "next", CreatedAt: seenAt, ExpiresAt: seenAt.AddDate(100, 0, 0)}}); err != nil {
					t.Fatal(err)
				}
				must(s.SessionByHash(t.Context(), "next"))(t)
				if v, err := s.SessionByHash(t.Context(), "token of person0"); err == nil {
					t.Errorf("after a log-in %+v counts", v)
				}
			})
		})
	}
}
