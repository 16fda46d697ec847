package store

import (
	"os"
	"strings"
	"testing"
	"time"

	"muster/internal/fleet"
)

// The row of a generation that another program wrote does not tell which person made the generation.
func TestTheMakerOfAForgedGenerationIsNotKnown(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		m := newMeddled(t, options)
		by := fleet.WithPerson(fleet.WithActor(t.Context(), "anna"), "anna")
		must(m.TagDevice(by, deviceN(1).ID, "later", nil))(t)
		last := must(m.Registry(t.Context()))(t).Generation
		maker := func() fleet.Maker { return must(m.MadeBy(t.Context(), []int64{last}))(t)[0] }
		if got := maker(); got.Person != "anna" {
			t.Fatalf("got %+v", got)
		}
		m.exec(`UPDATE generations SET made_by_person = 'bert' WHERE number = $1`, last)
		if got := maker(); got.Person != "" || got.Name != "anna" {
			t.Errorf("got %+v", got)
		}
	})
}

// An administrator who gives another person a log-in may use it. A new password of the user does not count.
func TestWhenAUserWasGivenALogInIsKept(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		now := seenAt
		options.Now = func() time.Time { return now }
		s := open(t, options)
		created := must(s.CreateUser(t.Context(), fleet.User{Name: "anna", Role: fleet.RoleOperator, Password: "first"}))(t)
		if !created.AccessGivenAt.Equal(now) {
			t.Fatalf("got %+v", created)
		}
		wants := func(what string, want time.Time) {
			t.Helper()
			if got := must(s.User(t.Context(), "anna"))(t); !got.AccessGivenAt.Equal(want) {
				t.Errorf("%s: got %s, want %s", what, got.AccessGivenAt, want)
			}
		}
		wants("created", seenAt)
		given := seenAt
		for _, step := range []struct {
			what  string
			gives bool
			do    func() error
		}{
			{"another role", false, func() error {
				_, err := s.PutUser(t.Context(), fleet.PutUser{Name: "anna", Role: new(fleet.RoleViewer)})
				return err
			}},
			{"the own password", false, func() error {
				_, err := s.PutUser(t.Context(), fleet.PutUser{Name: "anna", Password: new("own"), Own: true})
				return err
			}},
			{"a password", true, func() error {
				_, err := s.PutUser(t.Context(), fleet.PutUser{Name: "anna", Password: new("given")})
				return err
			}},
			{"a log-in link", true, func() error {
				return s.CreateLoginLink(t.Context(), fleet.LoginLink{Hash: "h", User: "anna", ExpiresAt: now.Add(time.Hour)})
			}},
			{"the link is used", true, func() error {
				return s.UseLoginLink(t.Context(), fleet.UseLink{Hash: "h", User: "anna", Password: "by link",
					Session: fleet.Session{ID: "1", User: "anna", Hash: "s", CreatedAt: now, RotatedAt: now, LastUsedAt: now,
						ExpiresAt: now.Add(time.Hour)}})
			}},
		} {
			now = now.Add(time.Minute)
			if err := step.do(); err != nil {
				t.Fatal(step.what, err)
			}
			if step.gives {
				given = now
			}
			wants(step.what, given)
		}
		if users := must(s.Users(t.Context()))(t); users[0].Altered {
			t.Error("the row does not fit its sum")
		}
	})
}

// Migration 116 knows the person behind a generation only where a user of that name was there already.
func TestAnUpgradeKnowsThePersonsOfGenerations(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		m := newMeddled(t, options)
		addPerson(t, m.Store, 0)
		m.exec(`UPDATE users SET created_at = 1000`)
		m.exec(`UPDATE generations SET made_by = 'person0', made_by_person = ''`)
		m.exec(`UPDATE generations SET created_at = 999 WHERE number = 1`)
		m.exec(`UPDATE generations SET made_by = 'ci' WHERE number = 2`)
		text := string(must(os.ReadFile("migrations/0116_persons.sql"))(t))
		m.exec(text[strings.Index(text, "UPDATE generations"):])
		for number, want := range map[int]string{1: "", 2: "", 3: "person0"} {
			var got string
			if err := m.db.QueryRowContext(t.Context(), `SELECT made_by_person FROM generations WHERE number = $1`,
				number).Scan(&got); err != nil || got != want {
				t.Errorf("generation %d: got %q, %v", number, got, err)
			}
		}
	})
}
