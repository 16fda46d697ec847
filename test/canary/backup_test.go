package canary_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"muster/internal/edge/cli"
	"muster/internal/engine/backup"
	"muster/internal/fleet"
)

// rows looks into every value of a backup.
type rows struct {
	t     *testing.T
	p     *planted
	table string
	count int
}

func (*rows) Schema(int64) error                    { return nil }
func (*rows) Sequence(string, int64) error          { return nil }
func (r *rows) Table(name string, _ []string) error { r.table = name; return nil }

func (r *rows) Row(values []any) error {
	r.count++
	for _, value := range values {
		text, isBytes := value.([]byte)
		if !isBytes {
			text = fmt.Append(nil, value)
		}
		if names := r.p.found(text); len(names) > 0 {
			r.t.Errorf("the table %s of a backup holds %v", r.table, names)
		}
	}
	return nil
}

// wantHiddenInABackup looks into a backup as it lies there, and into what the passphrase opens: who has both has the
// seal key and the administrator's token, and no other secret in clear text.
func (p *planted) wantHiddenInABackup() {
	p.t.Helper()
	dir := p.t.TempDir()
	file, pass := filepath.Join(dir, "a.backup"), filepath.Join(dir, "passphrase")
	if err := os.WriteFile(pass, []byte(inBackup), 0o600); err != nil {
		p.t.Fatal(err)
	}
	var out bytes.Buffer
	if code := cli.Run(p.t.Context(), []string{"backup", file, "--home", p.Home, "--backup-passphrase-file", pass},
		cli.Streams{In: strings.NewReader(""), Out: &out, Err: &out}, "test"); code != 0 {
		p.t.Fatalf("%d %s", code, &out)
	}
	if names := p.found(out.Bytes()); len(names) > 0 {
		p.t.Errorf("muster backup prints %v", names)
	}
	locked, err := os.ReadFile(file)
	if err != nil {
		p.t.Fatal(err)
	}
	if names := p.found(locked); len(names) > 0 {
		p.t.Errorf("a backup holds %v before it is decrypted", names)
	}
	opener, err := backup.NewOpener(fleet.Secret{}, fleet.NewSecret(inBackup))
	if err != nil {
		p.t.Fatal(err)
	}
	found := &rows{t: p.t, p: p}
	content, err := backup.Read(file, opener, func(backup.Content) (backup.Sink, error) { return found, nil })
	if err != nil || found.count < 20 {
		p.t.Fatalf("%d rows, %v", found.count, err)
	}
	for _, one := range content.Files {
		may := ""
		if one.Name == "admin-token" {
			may = p.Token
			if !bytes.Contains(one.Data, []byte(p.Token)) {
				p.t.Error("the administrator's token is not in the backup: this test would find nothing")
			}
		}
		if names := p.found(one.Data, may); len(names) > 0 {
			p.t.Errorf("%s in a backup holds %v", one.Name, names)
		}
	}
}
