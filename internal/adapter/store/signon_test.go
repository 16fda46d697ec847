package store

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"muster/internal/fleet"
)

var berta = fleet.Identity{Issuer: "https://id.example", Subject: "77"}

// signOn is the n-th log-in of a person by single sign-on.
func signOn(s *Store, who fleet.Identity, role fleet.Role, n int) fleet.SignOn {
	return fleet.SignOn{Identity: who, Names: []string{"berta", "berta-77"}, Role: role,
		Session: sessionOf("berta", n, s.clock()), Attempt: fmt.Sprint("attempt ", n),
		AttemptUntil: s.clock().Add(10 * time.Minute)}
}

func TestSingleSignOnMakesAUserAndKeepsToTheIdentity(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		person(t, s, "berta", fleet.RoleAdmin) // by password: another person, for all that is known
		first := must(s.SignOn(t.Context(), signOn(s, berta, fleet.RoleOperator, 1)))(t)
		if first.Name != "berta-77" || first.Role != fleet.RoleOperator || first.Identity != berta || first.Password != "" {
			t.Errorf("got %+v", first)
		}
		if user := must(s.User(t.Context(), "berta"))(t); user.Role != fleet.RoleAdmin || user.Password == "" {
			t.Errorf("got %+v", user)
		}
		of := sessionOf("berta", 1, s.clock())
		if v := must(s.SessionByHash(t.Context(), of.Hash))(t); v.User != "berta-77" || v.Identity != berta {
			t.Errorf("got %+v", v)
		}
		_, err := s.SignOn(t.Context(), signOn(s, berta, fleet.RoleOperator, 1))
		wantCode(t, err, fleet.CodeConflict) // the same attempt

		must(s.SignOn(t.Context(), signOn(s, berta, fleet.RoleOperator, 2)))(t)
		must(s.SessionByHash(t.Context(), of.Hash))(t) // with the same role it goes on
		scoped := signOn(s, berta, fleet.RoleViewer, 3)
		scoped.Scope = fleet.ScopeOf([]fleet.Tag{"office"})
		if user := must(s.SignOn(t.Context(), scoped))(t); user.Role != fleet.RoleViewer || user.Scope != scoped.Scope {
			t.Errorf("got %+v", user)
		}
		_, err = s.SessionByHash(t.Context(), of.Hash)
		wantCode(t, err, fleet.CodeNotFound)

		third := signOn(s, fleet.Identity{Issuer: berta.Issuer, Subject: "78"}, fleet.RoleViewer, 4)
		_, err = s.SignOn(t.Context(), third)
		wantCode(t, err, fleet.CodeConflict) // both names are taken
		for _, nobody := range []fleet.Identity{{}, {Issuer: berta.Issuer}, {Subject: "77"},
			{Issuer: "x", Subject: "a\x00"}} {
			_, err = s.SignOn(t.Context(), signOn(s, nobody, fleet.RoleViewer, 5))
			wantCode(t, err, fleet.CodeInvalid)
		}

		if err := s.EndSignedOn(t.Context(), berta); err != nil {
			t.Fatal(err)
		}
		_, err = s.User(t.Context(), "berta-77")
		wantCode(t, err, fleet.CodeNotFound)
		if sessions := must(s.Sessions(t.Context(), ""))(t); len(sessions) != 0 {
			t.Errorf("got %+v", sessions)
		}
		if err := s.EndSignedOn(t.Context(), berta); err != nil {
			t.Errorf("a second time: %v", err)
		}
	})
}

func TestAUserOfSingleSignOnHasNoPasswordAndNoRoleOfOurs(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		must(s.SignOn(t.Context(), signOn(s, berta, fleet.RoleAdmin, 1)))(t)
		for _, put := range []fleet.PutUser{{Password: new("hash")}, {Role: new(fleet.RoleViewer)}} {
			put.Name = "berta"
			_, err := s.PutUser(t.Context(), put)
			wantCode(t, err, fleet.CodeConflict)
		}
		wantCode(t, s.CreateLoginLink(t.Context(), fleet.LoginLink{Hash: "h", User: "berta",
			ExpiresAt: s.clock().Add(time.Minute)}), fleet.CodeConflict)
		person(t, s, "root", fleet.RoleAdmin)
		wantCode(t, s.DeleteUser(t.Context(), "root"), fleet.CodeConflict) // berta has no password
		wantCode(t, s.DeleteUser(t.Context(), "berta"), "")
	})
}

func TestSwitchingSingleSignOnOffEndsItsSessions(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		must(s.SignOn(t.Context(), signOn(s, berta, fleet.RoleAdmin, 1)))(t)
		other := logIn(t, s, "root", person(t, s, "root", fleet.RoleAdmin), 2)
		wantOff := func(want bool) {
			t.Helper()
			if off := must(s.SignOnDisabled(t.Context()))(t); off != want {
				t.Errorf("got %v", off)
			}
		}
		wantOff(false)
		for range 2 {
			wantCode(t, s.SwitchSignOn(t.Context(), true, "by the user root"), "")
			wantOff(true)
		}
		_, err := s.SessionByHash(t.Context(), sessionOf("berta", 1, s.clock()).Hash)
		wantCode(t, err, fleet.CodeNotFound)
		must(s.SessionByHash(t.Context(), other.Hash))(t)
		wantCode(t, s.SwitchSignOn(t.Context(), false, "by the user root"), "")
		wantOff(false)
		entries := must(s.Audit(t.Context(), fleet.AuditQuery{What: "sign-on.disable"}))(t)
		if len(entries) != 2 || entries[0].Detail != "by the user root" {
			t.Errorf("got %+v", entries)
		}
	})
}

// Who can write to the database only becomes nobody else by it.
func TestAnIdentityThatMusterDidNotWriteLetsNobodyIn(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := newTampered(t, options)
		must(s.SignOn(t.Context(), signOn(s.Store, berta, fleet.RoleAdmin, 1)))(t)
		person(t, s.Store, "root", fleet.RoleAdmin)
		s.keep("users", "sessions", "proofs")
		mine := fleet.Identity{Issuer: berta.Issuer, Subject: "mine"}
		for what, change := range map[string]string{
			"another's identity": `UPDATE users SET subject = 'mine' WHERE name = 'berta'`,
			"one for a password": `UPDATE users SET issuer = 'https://id.example', subject = 'mine' WHERE name = 'root'`,
			"a password": `UPDATE users SET password = 'hash', issuer = '', subject = ''
				WHERE name = 'berta'`,
		} {
			s.meddle(func() { s.exec(change) }, func() {
				if r := s.verify(); len(r.Rows) == 0 {
					t.Errorf("%s: nothing is found", what)
				}
				user, err := s.SignOn(t.Context(), signOn(s.Store, mine, fleet.RoleViewer, 6))
				if err == nil && (user.Name == "berta" || user.Name == "root") {
					t.Errorf("%s: got %+v", what, user)
				}
				v, err := s.SessionByHash(t.Context(), sessionOf("berta", 1, s.clock()).Hash)
				if err == nil && v.Identity != berta {
					t.Errorf("%s: the session %+v counts", what, v)
				}
			})
			s.exec(`DELETE FROM used_sign_ons`)
		}
	})
}

// A log-out at the provider ends the session that was begun there, and those of its person of which that is not known.
func TestALogOutAtTheProviderEndsWhatItNames(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		cesar := fleet.Identity{Issuer: berta.Issuer, Subject: "78"}
		start := func(n int, who fleet.Identity, there string) {
			in := signOn(s, who, fleet.RoleViewer, n)
			in.Session.ProviderSession = there
			if who == cesar {
				in.Names = []string{"cesar"}
			}
			must(s.SignOn(t.Context(), in))(t)
		}
		n := 0
		for what, test := range map[string]struct {
			out  fleet.SignedOut
			want string // sessions that are left: of berta one, two and without, of cesar one
		}{
			"a session":           {fleet.SignedOut{Person: berta, Session: "one"}, "b2 c1"},
			"all of a person":     {fleet.SignedOut{Person: berta}, "c1"},
			"a session of nobody": {fleet.SignedOut{Person: fleet.Identity{Issuer: berta.Issuer}, Session: "two"}, "b1 b c1"},
			"no session known":    {fleet.SignedOut{Person: berta, Session: "three"}, "b1 b2 c1"},
			"another issuer": {fleet.SignedOut{Person: fleet.Identity{Issuer: "https://evil.example", Subject: "77"}},
				"b1 b2 b c1"},
			"nothing at all": {fleet.SignedOut{Person: fleet.Identity{Issuer: berta.Issuer}}, "b1 b2 b c1"},
			"a stranger":     {fleet.SignedOut{Person: fleet.Identity{Issuer: berta.Issuer, Subject: "a\x00"}}, "b1 b2 b c1"},
		} {
			hashes := map[string]string{}
			for _, one := range []struct {
				name, there string
				who         fleet.Identity
			}{{"b1", "one", berta}, {"b2", "two", berta}, {"b", "", berta}, {"c1", "one-of-cesar", cesar}} {
				n++
				start(n, one.who, one.there)
				hashes[one.name] = sessionOf("berta", n, s.clock()).Hash
			}
			test.out.Token, test.out.TokenUntil = "token "+what, s.clock().Add(time.Minute)
			ended := must(s.SignOut(t.Context(), test.out))(t)
			var left []string
			for _, name := range []string{"b1", "b2", "b", "c1"} {
				if _, err := s.SessionByHash(t.Context(), hashes[name]); err == nil {
					left = append(left, name)
				}
			}
			if got := strings.Join(left, " "); got != test.want || len(ended) != 4-len(left) {
				t.Errorf("%s: left are %q, want %q; ended are %d", what, got, test.want, len(ended))
			}
			for _, who := range []fleet.Identity{berta, cesar} {
				if err := s.EndSignedOn(t.Context(), who); err != nil {
					t.Fatal(err)
				}
			}
		}
		again := fleet.SignedOut{Person: berta, Token: "token a session", TokenUntil: s.clock().Add(time.Minute)}
		_, err := s.SignOut(t.Context(), again)
		wantCode(t, err, fleet.CodeConflict)
	})
}
