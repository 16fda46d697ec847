package store

import (
	"testing"
	"time"

	"muster/internal/fleet"
)

func TestAUserThatIsDisabledLosesEverySessionAndLogsInNoMore(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		hash := person(t, s, "anna", fleet.RoleOperator)
		session := logIn(t, s, "anna", hash, 0)
		link := fleet.LoginLink{Hash: "link of anna", User: "anna", ExpiresAt: s.clock().Add(time.Minute)}
		wantCode(t, s.CreateLoginLink(t.Context(), link), "")
		for range 2 { // a second time changes nothing
			if user := must(s.DisableUser(t.Context(), "anna"))(t); !user.Disabled() {
				t.Errorf("got %+v", user)
			}
		}
		_, err := s.SessionByHash(t.Context(), session.Hash)
		wantCode(t, err, fleet.CodeNotFound)
		_, err = s.LoginLink(t.Context(), link.Hash)
		wantCode(t, err, fleet.CodeNotFound)
		wantCode(t, s.CreateLoginLink(t.Context(), link), fleet.CodeConflict)
		start := fleet.LogIn{Session: sessionOf("anna", 1, s.clock()), Password: hash}
		wantCode(t, s.StartSession(t.Context(), start), fleet.CodeConflict)
		_, err = s.PutUser(t.Context(), fleet.PutUser{Name: "anna", Password: new("another hash")})
		wantCode(t, err, fleet.CodeConflict)

		for range 2 {
			if user := must(s.EnableUser(t.Context(), "anna"))(t); user.Disabled() || user.Role != fleet.RoleOperator {
				t.Errorf("got %+v", user)
			}
		}
		wantCode(t, s.StartSession(t.Context(), start), "")
		for _, what := range []string{"user.disable", "user.enable"} {
			if entries := must(s.Audit(t.Context(), fleet.AuditQuery{What: what}))(t); len(entries) != 1 {
				t.Errorf("got %+v of %s", entries, what)
			}
		}
		_, err = s.DisableUser(t.Context(), "bert")
		wantCode(t, err, fleet.CodeNotFound)
	})
}

func TestTheLastAdministratorWithAPasswordIsNotDisabled(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		person(t, s, "anna", fleet.RoleAdmin)
		_, err := s.DisableUser(t.Context(), "anna")
		wantCode(t, err, fleet.CodeConflict)
		person(t, s, "bert", fleet.RoleAdmin)
		must(s.DisableUser(t.Context(), "anna"))(t)
		_, err = s.DisableUser(t.Context(), "bert") // anna is disabled, and does not count
		wantCode(t, err, fleet.CodeConflict)
		wantCode(t, s.DeleteUser(t.Context(), "bert"), fleet.CodeConflict)
	})
}

func TestSingleSignOnEnablesNoUserThatIsDisabled(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		must(s.SignOn(t.Context(), signOn(s, berta, fleet.RoleOperator, 1)))(t)
		must(s.DisableUser(t.Context(), "berta"))(t)
		_, err := s.SessionByHash(t.Context(), sessionOf("berta", 1, s.clock()).Hash)
		wantCode(t, err, fleet.CodeNotFound)
		_, err = s.SignOn(t.Context(), signOn(s, berta, fleet.RoleOperator, 2)) // with the role of before
		wantCode(t, err, fleet.CodeConflict)
		_, err = s.SignOn(t.Context(), signOn(s, berta, fleet.RoleAdmin, 3)) // with another one
		wantCode(t, err, fleet.CodeConflict)
		wantCode(t, s.EndSignedOn(t.Context(), berta), "") // no group gives a role for a while
		_, err = s.SignOn(t.Context(), signOn(s, berta, fleet.RoleOperator, 4))
		wantCode(t, err, fleet.CodeConflict)
		if user := must(s.User(t.Context(), "berta"))(t); !user.Disabled() || user.Role != fleet.RoleOperator {
			t.Errorf("got %+v", user)
		}
		must(s.EnableUser(t.Context(), "berta"))(t)
		must(s.SignOn(t.Context(), signOn(s, berta, fleet.RoleOperator, 5)))(t)
	})
}

// A row that a foreign program enabled is not the one that Muster wrote.
func TestAProgramThatWritesToTheDatabaseEnablesNoUser(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		person(t, s, "anna", fleet.RoleAdmin)
		person(t, s, "bert", fleet.RoleAdmin)
		must(s.DisableUser(t.Context(), "bert"))(t)
		must(openWrites(t, s).ExecContext(t.Context(), `UPDATE users SET disabled_at = NULL WHERE name = 'bert'`))(t)
		_, err := s.User(t.Context(), "bert")
		wantCode(t, err, fleet.CodeNotFound)
	})
}
