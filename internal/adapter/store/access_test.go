package store

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"muster/internal/fleet"
)

func TestTokensAreKeptByName(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		token := fleet.Token{Name: "ci", Role: fleet.RoleAuthor, Hash: strings.Repeat("0", 64), CreatedAt: seenAt,
			IssuedAt: seenAt, Owner: "anna"}
		if err := s.CreateToken(t.Context(), token); err != nil {
			t.Fatal(err)
		}
		sameName, sameHash := token, token
		sameName.Hash, sameHash.Name = strings.Repeat("1", 64), "other"
		wantCode(t, s.CreateToken(t.Context(), sameName), fleet.CodeConflict)
		wantCode(t, s.CreateToken(t.Context(), sameHash), fleet.CodeConflict)
		if got := must(s.Tokens(t.Context()))(t); !slices.Equal(got, []fleet.Token{token}) {
			t.Errorf("got %+v, want %+v", got, token)
		}
		wantUsesAndRotations(t, s, token)
		if err := s.DeleteToken(t.Context(), "ci"); err != nil {
			t.Fatal(err)
		}
		wantCode(t, s.DeleteToken(t.Context(), "ci"), fleet.CodeNotFound)
	})
}

// wantUsesAndRotations uses and rotates the one token of the store.
func wantUsesAndRotations(t *testing.T, s *Store, token fleet.Token) {
	t.Helper()
	use := fleet.TokenUse{At: seenAt.Add(time.Hour), From: "192.0.2.7"}
	early := fleet.TokenUse{At: seenAt.Add(-time.Hour), From: "192.0.2.8"} // of a token of that name before
	for _, uses := range []map[string]fleet.TokenUse{{"ci": use, "nobody": use}, {"ci": early}, {}} {
		if err := s.TokensUsed(t.Context(), uses); err != nil {
			t.Fatal(err)
		}
	}
	token.LastUse = use
	if got := must(s.Tokens(t.Context()))(t); !slices.Equal(got, []fleet.Token{token}) {
		t.Errorf("got %+v, want %+v", got, token)
	}
	token.OldHash, token.OldUntil, token.Hash = token.Hash, seenAt.Add(2*time.Hour), strings.Repeat("2", 64)
	token.IssuedAt, token.ExpiresAt = seenAt.Add(time.Hour), seenAt.Add(3*time.Hour)
	token.Owner, token.OldOwner = "ben", "anna"
	if err := s.RotateToken(t.Context(), token); err != nil {
		t.Fatal(err)
	}
	if got := must(s.Tokens(t.Context()))(t); !slices.Equal(got, []fleet.Token{token}) {
		t.Errorf("got %+v, want %+v", got, token)
	}
	wantCode(t, s.RotateToken(t.Context(), token), fleet.CodeNotFound) // its text of before is another by now
}

func TestATokenWhoseScopeCannotBeReadSeesNoDevice(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		scope := fleet.ScopeOf([]fleet.Tag{"a, b", "ö"})
		for i, name := range []string{"kept", "broken", "empty"} {
			token := fleet.Token{Name: name, Role: fleet.RoleViewer, Scope: scope, Hash: strings.Repeat(fmt.Sprint(i), 64)}
			if err := s.CreateToken(t.Context(), token); err != nil {
				t.Fatal(err)
			}
		}
		must(write(t.Context(), s, "break scopes", func(t *tx) (none struct{}, err error) {
			return none, errors.Join(t.exec(`UPDATE tokens SET tag_scope = '{' WHERE name = 'broken'`),
				t.exec(`UPDATE tokens SET tag_scope = '[]' WHERE name = 'empty'`))
		}))(t)
		for _, token := range must(s.Tokens(t.Context()))(t) {
			if token.Name == "kept" && token.Scope != scope || token.Name != "kept" && token.Scope != fleet.NoDevices {
				t.Errorf("got %+v", token)
			}
		}
	})
}

func TestSecretsAreKeptByName(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		for i, value := range []string{"first", "second"} {
			created, err := putSecret(t, s, "pass", value)
			if err != nil || created != (i == 0) {
				t.Fatalf("got created %v, %v", created, err)
			}
			if got := must(s.Secret(t.Context(), "pass"))(t); got.Value.Reveal() != value {
				t.Errorf("got %q, want %q", got.Value.Reveal(), value)
			}
		}
		must(putSecret(t, s, "another", "x"))(t)
		if got := must(s.Secrets(t.Context()))(t); len(got) != 2 || got[0].Name != "another" || got[1].Name != "pass" {
			t.Errorf("got %v", got)
		}
		if err := s.DeleteSecret(t.Context(), "pass"); err != nil {
			t.Fatal(err)
		}
		_, err := s.Secret(t.Context(), "pass")
		wantCode(t, err, fleet.CodeNotFound)
		wantCode(t, s.DeleteSecret(t.Context(), "pass"), fleet.CodeNotFound)
		for _, name := range []string{"", "a\x00b", strings.Repeat("x", 129)} {
			_, err := putSecret(t, s, name, "x")
			wantCode(t, err, fleet.CodeInvalid)
		}
		_, err = putSecret(t, s, "empty", "")
		wantCode(t, err, fleet.CodeInvalid)
	})
}

func putSecret(t *testing.T, s *Store, name, value string) (created bool, err error) {
	t.Helper()
	_, created, err = s.PutSecret(t.Context(), fleet.PutSecret{Name: name, Value: fleet.NewSecret(value)})
	return created, err
}

func TestTheListsOfASecretStayWithItUntilTheyAreReplaced(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		keys, tags := []string{"gui.password", "gui.apiKey", "gui.password"}, []fleet.Tag{"b", "a"}
		if _, created, err := s.PutSecret(t.Context(), fleet.PutSecret{Name: "pw", Keys: &keys}); err == nil {
			t.Fatalf("a secret without a value: created %v", created)
		}
		made := fleet.PutSecret{Name: "pw", Value: fleet.NewSecret("one"), Keys: &keys, Tags: &tags}
		if _, created, err := s.PutSecret(t.Context(), made); err != nil || !created {
			t.Fatalf("created %v, %v", created, err)
		}
		want := fleet.SecretScope{Keys: []string{"gui.apiKey", "gui.password"}, Tags: []fleet.Tag{"a", "b"}}
		for _, put := range []fleet.PutSecret{{Name: "pw", Value: fleet.NewSecret("two")}, {Name: "pw"}} {
			got, created, err := s.PutSecret(t.Context(), put)
			if err != nil || created || !reflect.DeepEqual(got.Scope, want) || !got.Value.IsZero() {
				t.Errorf("got %+v, %v, %v", got, created, err)
			}
		}
		if got := must(s.Secret(t.Context(), "pw"))(t); got.Value.Reveal() != "two" || !reflect.DeepEqual(got.Scope, want) {
			t.Errorf("got %+v", got)
		}
		if got := must(s.Secrets(t.Context()))(t); len(got) != 1 || !got[0].Value.IsZero() ||
			!reflect.DeepEqual(got[0].Scope, want) {
			t.Errorf("got %+v", got)
		}
		none := []string{}
		if got, _, err := s.PutSecret(t.Context(), fleet.PutSecret{Name: "pw", Keys: &none,
			Tags: new([]fleet.Tag)}); err != nil || !got.Scope.IsZero() {
			t.Errorf("got %+v, %v", got, err)
		}
	})
}

func TestNobodyHasANameThatCannotBeKept(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		d := put(t, s, deviceN(1))
		o := fullObservation(d.ID, "one")
		o.Config.Folders = []fleet.FolderLabel{{Folder: "a\uFFFDb"}} // what such a name is shown as
		observe(t, s, o)
		for _, name := range []string{"a\x00b", "a\xffb", "\x00", strings.Repeat("x", 10_000)} {
			_, err := s.Secret(t.Context(), name)
			wantCode(t, err, fleet.CodeNotFound)
			wantCode(t, s.DeleteSecret(t.Context(), name), fleet.CodeNotFound)
			wantCode(t, s.DeleteToken(t.Context(), name), fleet.CodeNotFound)
			wantCode(t, s.TokensUsed(t.Context(), map[string]fleet.TokenUse{name: {At: seenAt}}), "")
			_, err = s.FolderSummaries(t.Context(), name)
			wantCode(t, err, fleet.CodeNotFound)
			_, err = s.DeleteTag(t.Context(), fleet.Tag(name), nil)
			wantCode(t, err, fleet.CodeNotFound)
			wantCode(t, s.CreateToken(t.Context(), fleet.Token{Name: name, Role: fleet.RoleAuthor,
				Hash: strings.Repeat("0", 64)}), fleet.CodeInvalid)
		}
	})
}

func TestTheAuditSaysWhoDidWhat(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		ctx := fleet.WithActor(t.Context(), "anna\x00")
		d := deviceN(1)
		_, _, err := s.PutDevice(ctx, d, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.DeleteDevice(ctx, deviceN(2).ID, nil); err == nil { // what fails is not recorded
			t.Fatal("deleted what is not there")
		}
		if err := s.Record(t.Context(), "login", "bert", "from 192.0.2.7"); err != nil {
			t.Fatal(err)
		}
		for n := range 120 { // more than fit in one statement
			must(s.TagDevice(ctx, d.ID, fleet.Tag(fmt.Sprint("tag", n)), nil))(t)
		}
		var got []string
		for before := int64(0); ; { // page by page
			page := must(s.Audit(t.Context(), fleet.AuditQuery{After: before, Limit: 50}))(t)
			if len(page) == 0 {
				break
			}
			for _, e := range page {
				got = append(got, e.Who+" "+e.What+" "+e.Subject+" "+e.Detail)
				before = e.ID
				if e.At.IsZero() {
					t.Errorf("%+v has no time", e)
				}
			}
		}
		slices.Reverse(got)
		if len(got) != 122 || got[0] != "anna\uFFFD device.create "+string(d.ID)+" device 1" ||
			got[1] != "muster login bert from 192.0.2.7" ||
			got[121] != "anna\uFFFD device.tag "+string(d.ID)+" tag119" {
			t.Errorf("got %d entries: %q", len(got), got)
		}
	})
}

// What is secret lies nowhere in plain text: not in a column, and with SQLite not in a file.
func TestSealedColumnsHoldNoPlainText(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		d := deviceN(1)
		d.APIKey = fleet.NewSecret("plain-api-key")
		put(t, s, d)
		observe(t, s, fullObservation(d.ID, "one"))
		must(putSecret(t, s, "name", "plain-secret"))(t)
		must(s.BeginIntent(t.Context(), fleet.Intent{Device: d.ID, Writes: []byte(`"plain-write"`)}, []fleet.BaseEntry{{
			Key: "gui.password", Base: []byte(`"plain-base"`), Written: []byte(`"plain-written"`),
			Intended: []byte(`"plain-intended"`), Sent: []byte("plain-sent"),
		}}))(t)
		rows := 0
		for _, table := range tablesOf(t, s) {
			for _, row := range rowsOf(t, s, table) {
				rows++
				if row.mentions("plain-") {
					t.Errorf("plain text in %s: %v", table, row)
				}
			}
		}
		if rows < 12 {
			t.Errorf("looked at %d rows only", rows)
		}
		for _, name := range must(filepath.Glob(filepath.Join(options.Home, sqliteFile+"*")))(t) {
			if content := must(os.ReadFile(name))(t); options.DSN == "" && bytes.Contains(content, []byte("plain-")) {
				t.Errorf("plain text in %s", filepath.Base(name))
			}
		}
	})
}
