package store

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"muster/internal/fleet"
)

// listed stores a secret that is for one key and one tag.
func (s *tampered) listed(name, value, key string, tag fleet.Tag) {
	s.t.Helper()
	keys, tags := []string{key}, []fleet.Tag{tag}
	put := fleet.PutSecret{Name: name, Value: fleet.NewSecret(value), Keys: &keys, Tags: &tags}
	if _, _, err := s.PutSecret(s.t.Context(), put); err != nil {
		s.t.Fatal(err)
	}
}

// givenOut are the secrets that templates get, each with its value and lists.
func (s *tampered) givenOut() (all []string) {
	s.t.Helper()
	for _, name := range []string{"backup", "gui", "new"} {
		secret, err := s.Secret(s.t.Context(), name)
		switch code := fleet.CodeOf(err); {
		case err == nil:
			all = append(all, fmt.Sprintf("%s=%s for %v on %v", name, secret.Value.Reveal(), secret.Scope.Keys,
				secret.Scope.Tags))
		case code != fleet.CodeInvalid && code != fleet.CodeNotFound:
			s.t.Errorf("%s: got %v", name, err)
		}
	}
	return all
}

const (
	wholeBackup = "backup=for backups for [gui.apiKey] on [office]"
	wholeGUI    = "gui=for the GUI for [gui.password] on [servers]"
)

// Who wrote to the database gave a secret to devices that it was not for.
func TestASecretWhoseListsWereChangedInTheDatabaseIsNotGivenOut(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := newTampered(t, options)
		s.listed("backup", "of before", "gui.apiKey", "office")
		s.exec(`CREATE TABLE old_secrets AS SELECT * FROM secrets`)
		s.listed("backup", "for backups", "gui.apiKey", "office")
		s.listed("gui", "for the GUI", "gui.password", "servers")
		s.keep("secrets", "proofs")
		for what, test := range map[string]struct {
			change string
			want   []string // is given out still
		}{
			"other tags":      {`UPDATE secrets SET for_tags = '["mine"]' WHERE name = 'backup'`, []string{wholeGUI}},
			"no tags":         {`UPDATE secrets SET for_tags = '[]' WHERE name = 'backup'`, []string{wholeGUI}},
			"other keys":      {`UPDATE secrets SET for_keys = '["gui.password"]' WHERE name = 'backup'`, []string{wholeGUI}},
			"no list":         {`UPDATE secrets SET for_keys = 'x' WHERE name = 'backup'`, []string{wholeGUI}},
			"another name":    {`UPDATE secrets SET name = 'new' WHERE name = 'backup'`, []string{wholeGUI}},
			"no value":        {`UPDATE secrets SET value = '' WHERE name = 'backup'`, []string{wholeGUI}},
			"a removed row":   {`DELETE FROM secrets WHERE name = 'gui'`, []string{wholeBackup}},
			"no roster":       {`DELETE FROM proofs WHERE name = 'secrets'`, nil},
			"another roster":  {`UPDATE proofs SET body = (SELECT body FROM proofs WHERE name = 'users') WHERE name = 'secrets'`, nil},
			"no end of audit": {`DELETE FROM proofs WHERE name = 'audit ends'`, nil},
			"a value of before": {`UPDATE secrets SET value = (SELECT value FROM old_secrets) WHERE name = 'backup'`,
				[]string{wholeGUI}},
			"a row of before": {`UPDATE secrets SET value = (SELECT value FROM old_secrets),
				updated_at = (SELECT updated_at FROM old_secrets) WHERE name = 'backup'`, []string{wholeGUI}},
			"swapped lists": {`UPDATE secrets SET
				for_keys = CASE name WHEN 'gui' THEN '["gui.apiKey"]' ELSE '["gui.password"]' END,
				for_tags = CASE name WHEN 'gui' THEN '["office"]' ELSE '["servers"]' END`, nil},
			"swapped names": {`UPDATE secrets SET name = CASE name WHEN 'gui' THEN 'new' ELSE 'gui' END WHERE name <> 'new'
				AND name = 'gui'`, []string{wholeBackup}},
			"an added row": {`INSERT INTO secrets (name, value, for_keys, for_tags, created_at, updated_at)
				SELECT 'new', value, for_keys, for_tags, created_at, updated_at FROM secrets WHERE name = 'gui'`,
				[]string{wholeBackup, wholeGUI}},
		} {
			s.meddle(func() { s.exec(test.change) }, func() {
				if got := s.givenOut(); !slices.Equal(got, test.want) {
					t.Errorf("%s: given out are %q, want %q", what, got, test.want)
				}
				if r := s.verify(); len(r.Rows)+len(r.Faults) == 0 {
					t.Errorf("%s: nothing is found", what)
				}
			})
		}
		if got := s.givenOut(); !slices.Equal(got, []string{wholeBackup, wholeGUI}) {
			t.Errorf("as they were: given out are %q", got)
		}
	})
}

// A write that names the value only kept the lists that another program had changed.
func TestAWriteMakesNoSecretGoodThatWasChanged(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := newTampered(t, options)
		s.listed("backup", "for backups", "gui.apiKey", "office")
		s.listed("gui", "for the GUI", "gui.password", "servers")
		s.exec(`UPDATE secrets SET for_tags = '["mine"]' WHERE name = 'backup'`)
		s.restart(options)
		if s.Tampering() == nil {
			t.Error("a start does not find it")
		}
		_, err := putSecret(t, s.Store, "backup", "another")
		wantCode(t, err, fleet.CodeConflict)
		must(putSecret(t, s.Store, "gui", "for the GUI"))(t)
		for _, secret := range must(s.Secrets(t.Context()))(t) {
			if secret.Altered != (secret.Name == "backup") {
				t.Errorf("got %+v", secret)
			}
		}
		if got := s.givenOut(); !slices.Equal(got, []string{wholeGUI}) {
			t.Errorf("given out are %q", got)
		}
		if err := s.DeleteSecret(t.Context(), "backup"); err != nil { // the way out
			t.Fatal(err)
		}
		s.listed("backup", "for backups", "gui.apiKey", "office")
		s.restart(options)
		if got := s.givenOut(); !slices.Equal(got, []string{wholeBackup, wholeGUI}) || s.Tampering() != nil {
			t.Errorf("given out are %q, found is %+v", got, s.Tampering())
		}
	})
}

// A secret that was deleted was there again when its row was put back.
func TestADeletedSecretThatIsPutBackIsNotGivenOut(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := newTampered(t, options)
		s.listed("backup", "for backups", "gui.apiKey", "office")
		s.keep("secrets")
		if err := s.DeleteSecret(t.Context(), "backup"); err != nil {
			t.Fatal(err)
		}
		s.exec(`INSERT INTO secrets SELECT * FROM kept_secrets`)
		if got := s.givenOut(); len(got) > 0 {
			t.Errorf("given out are %q", got)
		}
		if r := s.verify(); len(r.Rows) != 1 || !strings.Contains(r.Rows[0], `"backup"`) {
			t.Errorf("found is %q", r.Rows)
		}
	})
}
