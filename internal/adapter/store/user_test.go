package store

import (
	"strings"
	"testing"
	"time"

	"muster/internal/fleet"
)

// person makes a user who can log in, and gives the hash of the password.
func person(t *testing.T, s *Store, name string, role fleet.Role) string {
	t.Helper()
	hash := "hash of " + name
	must(s.CreateUser(t.Context(), fleet.User{Name: name, Role: role, Password: hash}))(t)
	return hash
}

// sessionOf is the n-th session of a user, for a week.
func sessionOf(user string, n int, now time.Time) fleet.Session {
	digit := string(rune('a' + n))
	return fleet.Session{ID: user + digit, User: user, Hash: strings.Repeat(digit, 60) + user, CreatedAt: now,
		RotatedAt: now, LastUsedAt: now, ExpiresAt: now.Add(7 * 24 * time.Hour), Address: "192.0.2.7", Client: "test"}
}

func logIn(t *testing.T, s *Store, user, password string, n int) fleet.Session {
	t.Helper()
	session := sessionOf(user, n, s.clock())
	if err := s.StartSession(t.Context(), fleet.LogIn{Session: session, Password: password}); err != nil {
		t.Fatal(err)
	}
	return session
}

func TestUsersAndTokensShareTheirNames(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		token := func(name string) error {
			return s.CreateToken(t.Context(), fleet.Token{Name: name, Role: fleet.RoleViewer, Hash: strings.Repeat("0", 64)})
		}
		person(t, s, "anna", fleet.RoleViewer)
		wantCode(t, token("Anna"), fleet.CodeConflict)
		wantCode(t, token("ci"), "")
		for name, want := range map[string]fleet.Code{
			"anna": fleet.CodeConflict, "ci": fleet.CodeConflict, "muster": fleet.CodeInvalid, "daemon": fleet.CodeInvalid,
			"": fleet.CodeInvalid, "a\x00b": fleet.CodeInvalid, "bert": "",
		} {
			_, err := s.CreateUser(t.Context(), fleet.User{Name: name, Role: fleet.RoleViewer})
			wantCode(t, err, want)
		}
		for _, name := range []string{"muster", "Daemon", "TEMPLATE", fleet.Anonymous} {
			wantCode(t, token(name), fleet.CodeInvalid)
		}
		if got := must(s.Users(t.Context()))(t); len(got) != 2 || got[0].Name != "anna" || got[1].Name != "bert" ||
			got[0].CreatedAt.IsZero() || !got[0].LastLogInAt.IsZero() {
			t.Errorf("got %+v", got)
		}
	})
}

func TestTheLastAdministratorWithAPasswordStays(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		person(t, s, "anna", fleet.RoleAdmin)
		must(s.CreateUser(t.Context(), fleet.User{Name: "invited", Role: fleet.RoleAdmin}))(t) // cannot log in yet
		viewer := fleet.RoleViewer
		_, err := s.PutUser(t.Context(), fleet.PutUser{Name: "anna", Role: &viewer})
		wantCode(t, err, fleet.CodeConflict)
		wantCode(t, s.DeleteUser(t.Context(), "anna"), fleet.CodeConflict)
		person(t, s, "bert", fleet.RoleAdmin)
		got, err := s.PutUser(t.Context(), fleet.PutUser{Name: "anna", Role: &viewer})
		if err != nil || got.Role != viewer {
			t.Fatalf("got %+v, %v", got, err)
		}
		wantCode(t, s.DeleteUser(t.Context(), "bert"), fleet.CodeConflict)
		wantCode(t, s.DeleteUser(t.Context(), "anna"), "")
		wantCode(t, s.DeleteUser(t.Context(), "anna"), fleet.CodeNotFound)
	})
}

// An administrator made a user with a link, corrected the role, and the link that was sent was dead. Another password
// ends it. A link for a viewer that lives for a day stayed when the viewer became an administrator.
func TestAnotherPasswordOrTheRoleOfAnAdministratorEndsLoginLinks(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		viewer, author, admin, password := fleet.RoleViewer, fleet.RoleAuthor, fleet.RoleAdmin, "another hash"
		lab := fleet.ScopeOf([]fleet.Tag{"lab"})
		for name, put := range map[string]fleet.PutUser{"anna": {Role: &viewer}, "bert": {Password: &password},
			"carl": {Role: &author}, "dora": {Role: &admin}, "emil": {Scope: &lab}} {
			put.Name = name
			operator := fleet.RoleOperator
			session := logIn(t, s, name, person(t, s, name, operator), 0)
			link := fleet.LoginLink{Hash: "link of " + name, User: name, ExpiresAt: s.clock().Add(time.Minute)}
			if err := s.CreateLoginLink(t.Context(), link); err != nil {
				t.Fatal(err)
			}
			must(s.PutUser(t.Context(), fleet.PutUser{Name: name, Role: &operator}))(t) // changes nothing
			if got := must(s.SessionByHash(t.Context(), session.Hash))(t); got.Role != operator || got.User != name {
				t.Errorf("got %+v", got)
			}
			must(s.PutUser(t.Context(), put))(t)
			_, err := s.SessionByHash(t.Context(), session.Hash)
			wantCode(t, err, fleet.CodeNotFound)
			_, err = s.LoginLink(t.Context(), link.Hash)
			ends := put.Password != nil || put.Role == &admin
			wantCode(t, err, map[bool]fleet.Code{true: fleet.CodeNotFound}[ends])
		}
		logIn(t, s, "bert", password, 1)
		if err := s.DeleteUser(t.Context(), "bert"); err != nil {
			t.Fatal(err)
		}
		if got := must(s.Sessions(t.Context(), ""))(t); len(got) != 0 {
			t.Errorf("got %+v after the user was deleted", got)
		}
	})
}

// The password may be changed while a log-in with the old one is under way.
func TestALogInWithAPasswordOfBeforeFails(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		old, next := person(t, s, "anna", fleet.RoleViewer), "next"
		must(s.PutUser(t.Context(), fleet.PutUser{Name: "anna", Password: &next}))(t)
		for user, password := range map[string]string{"anna": old, "nobody": ""} {
			err := s.StartSession(t.Context(), fleet.LogIn{Session: sessionOf(user, 0, s.clock()), Password: password})
			wantCode(t, err, fleet.CodeConflict)
		}
		in := fleet.LogIn{Session: sessionOf("anna", 1, s.clock()), Password: next, Rehashed: "the same, dearer"}
		if err := s.StartSession(t.Context(), in); err != nil {
			t.Fatal(err)
		}
		if got := must(s.User(t.Context(), "anna"))(t); got.Password != in.Rehashed || got.LastLogInAt.IsZero() {
			t.Errorf("got %+v", got)
		}
		must(s.SessionByHash(t.Context(), in.Session.Hash))(t)
	})
}

func TestSessionsRotateAndEnd(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		clock := &stoppedClock{at: seenAt}
		options.Now = clock.now
		s := open(t, options)
		password := person(t, s, "anna", fleet.RoleViewer)
		first := logIn(t, s, "anna", password, 0)
		second := logIn(t, s, "anna", password, 1)
		rotation := fleet.Rotation{Session: first.ID, Current: first.Hash, Bearer: first.Hash, Next: "next",
			At: seenAt.Add(time.Hour)}
		for i, want := range []bool{true, false} { // two requests at the same time
			if got := must(s.RotateSession(t.Context(), rotation))(t); got != want {
				t.Errorf("%d: got %t, want %t", i, got, want)
			}
		}
		for _, hash := range []string{first.Hash, "next"} {
			got := must(s.SessionByHash(t.Context(), hash))(t)
			if got.ID != first.ID || got.Hash != "next" || !got.RotatedAt.Equal(rotation.At) {
				t.Errorf("got %+v", got)
			}
		}
		for _, at := range []time.Time{seenAt.Add(time.Hour), seenAt} { // never back
			if err := s.SessionUsed(t.Context(), second.ID, at); err != nil {
				t.Fatal(err)
			}
		}
		if got := must(s.SessionByHash(t.Context(), second.Hash))(t); !got.LastUsedAt.Equal(seenAt.Add(time.Hour)) {
			t.Errorf("got %+v", got)
		}
		for _, none := range []string{"", "a\x00b"} {
			_, err := s.SessionByHash(t.Context(), none)
			if fleet.CodeOf(err) == "" {
				t.Errorf("%q is the hash of a session", none)
			}
		}
		person(t, s, "bert", fleet.RoleViewer)
		wantCode(t, s.EndSession(t.Context(), first.ID, "bert"), fleet.CodeNotFound)
		wantCode(t, s.EndSession(t.Context(), first.ID, "anna"), "")
		wantCode(t, s.EndSession(t.Context(), second.ID, ""), "")
		wantCode(t, s.EndSession(t.Context(), "a\x00b", ""), fleet.CodeNotFound)
		if got := must(s.Sessions(t.Context(), "anna"))(t); len(got) != 0 {
			t.Errorf("got %+v", got)
		}
	})
}

func TestAUserHasFewSessions(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		clock := &stoppedClock{at: seenAt}
		options.Now = clock.now
		s := open(t, options)
		password := person(t, s, "anna", fleet.RoleViewer)
		over := sessionOf("anna", 0, seenAt)
		over.ID, over.Hash, over.ExpiresAt = "over", "over", seenAt.Add(time.Second)
		if err := s.StartSession(t.Context(), fleet.LogIn{Session: over, Password: password}); err != nil {
			t.Fatal(err)
		}
		for n := range sessionsPerUser + 2 {
			clock.move(time.Second)
			logIn(t, s, "anna", password, n)
		}
		got := must(s.Sessions(t.Context(), "anna"))(t)
		if len(got) != sessionsPerUser || got[0].ID != sessionOf("anna", sessionsPerUser+1, seenAt).ID {
			t.Errorf("got %d sessions, the newest %+v", len(got), got[0])
		}
		for _, ended := range []string{over.Hash, sessionOf("anna", 0, seenAt).Hash} {
			_, err := s.SessionByHash(t.Context(), ended)
			wantCode(t, err, fleet.CodeNotFound)
		}
	})
}

func TestALogInLinkWorksOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		clock := &stoppedClock{at: seenAt}
		options.Now = clock.now
		s := open(t, options)
		create := func(hash, user string) {
			t.Helper()
			if err := s.CreateLoginLink(t.Context(), fleet.LoginLink{Hash: hash, User: user,
				ExpiresAt: clock.now().Add(15 * time.Minute)}); err != nil {
				t.Fatal(err)
			}
		}
		use := func(hash, user string, n int) error {
			return s.UseLoginLink(t.Context(), fleet.UseLink{Hash: hash, User: user, Password: "set by " + hash,
				Session: sessionOf(user, n, clock.now())})
		}
		create("replaced", "")
		create("first", "")
		wantCode(t, use("replaced", "anna", 0), fleet.CodeNotFound)
		wantCode(t, use("first", "muster", 0), fleet.CodeInvalid) // the link stays
		wantCode(t, use("first", "anna", 1), "")
		wantCode(t, use("first", "eve", 2), fleet.CodeNotFound)
		if got := must(s.Users(t.Context()))(t); len(got) != 1 || got[0].Name != "anna" || got[0].Role != fleet.RoleAdmin ||
			got[0].Password != "set by first" {
			t.Errorf("got %+v", got)
		}
		before := must(s.Sessions(t.Context(), "anna"))(t)
		create("forgotten", "anna")
		if got := must(s.LoginLink(t.Context(), "forgotten"))(t); got.User != "anna" {
			t.Errorf("got %+v", got)
		}
		wantCode(t, use("forgotten", "anna", 3), "")
		after := must(s.Sessions(t.Context(), "anna"))(t)
		if len(before) != 1 || len(after) != 1 || before[0].ID == after[0].ID {
			t.Errorf("got the sessions %+v, then %+v, want that of the link only", before, after)
		}
		create("late", "")
		clock.move(15 * time.Minute)
		_, err := s.LoginLink(t.Context(), "late")
		wantCode(t, err, fleet.CodeNotFound)
		wantCode(t, use("late", "eve", 4), fleet.CodeNotFound)
		wantCode(t, s.CreateLoginLink(t.Context(), fleet.LoginLink{Hash: "x", User: "nobody"}), fleet.CodeNotFound)
	})
}

func TestTheAuditHasPeople(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		ctx := fleet.WithActor(t.Context(), "root")
		user := must(s.CreateUser(ctx, fleet.User{Name: "anna", Role: fleet.RoleViewer, Password: "secret hash"}))(t)
		logIn(t, s, "anna", user.Password, 0)
		if err := s.EndSession(ctx, sessionOf("anna", 0, s.clock()).ID, ""); err != nil {
			t.Fatal(err)
		}
		author, password := fleet.RoleAuthor, "another hash"
		must(s.PutUser(ctx, fleet.PutUser{Name: "anna", Role: &author, Password: &password}))(t)
		if err := s.DeleteUser(ctx, "anna"); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range must(s.Audit(t.Context(), fleet.AuditQuery{Limit: 50}))(t) {
			got = append(got, e.Who+" "+e.What+" "+e.Subject+" "+e.Detail)
		}
		const want = `root user.delete anna author
root user.password anna 
root user.role anna author, was viewer
root logout anna the session from 192.0.2.7
muster login anna from 192.0.2.7
root user.create anna viewer`
		if strings.Join(got, "\n") != want {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), want)
		}
	})
}

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

// A link with which somebody becomes or is an administrator lived for a day, where its finder has everything.
func TestTheLinkOfAnAdministratorLivesAQuarterOfAnHour(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		clock := &stoppedClock{at: seenAt}
		options.Now = clock.now
		s := open(t, options)
		person(t, s, "anna", fleet.RoleAdmin)
		person(t, s, "bert", fleet.RoleAuthor)
		for _, c := range []struct {
			user string
			life time.Duration
			code fleet.Code
		}{{"anna", time.Hour, fleet.CodeInvalid}, {"", time.Hour, fleet.CodeInvalid}, {"anna", fleet.LinkLife, ""},
			{"", fleet.LinkLife, ""}, {"bert", 24 * time.Hour, ""}} {
			wantCode(t, s.CreateLoginLink(t.Context(), fleet.LoginLink{Hash: "link of " + c.user, User: c.user,
				ExpiresAt: clock.now().Add(c.life)}), c.code)
		}
		entries := must(s.Audit(t.Context(), fleet.AuditQuery{What: "login-link.create"}))(t)
		until := "until " + clock.now().Add(24*time.Hour).UTC().Format(time.RFC3339)
		if len(entries) != 3 || entries[0].Subject != "bert" || entries[0].Detail != until {
			t.Errorf("got %+v, want %s", entries, until)
		}
	})
}
