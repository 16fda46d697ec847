// Package audit_test changes rows in the database of a whole server, as an attacker would, and checks that Muster
// detects it.
//
//muster:needs daemons database
package audit_test

import (
	"bytes"
	"database/sql"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"muster/client"
	"muster/internal/edge/cli"
	"muster/internal/fleet"
	"muster/test/server"
	"muster/test/wait"
)

func TestMain(m *testing.M) {
	server.Main()
	m.Run()
}

// muster runs a client command of the administrator.
func muster(t *testing.T, s *server.Server, args ...string) (out string, code int) {
	t.Helper()
	return run(t, append(args, "--server", s.URL, "--muster-home", s.Home)...)
}

func run(t *testing.T, args ...string) (out string, code int) {
	t.Helper()
	var text bytes.Buffer
	code = cli.Run(t.Context(), args, cli.Streams{Out: &text, Err: &text, In: strings.NewReader("")}, "test")
	return text.String(), code
}

// edit changes the database of a server that is stopped.
func edit(t *testing.T, home, text string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(home, "muster.db"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), text); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestATokenEditedInTheDatabaseIsRefused(t *testing.T) {
	s := server.Start(t, server.Options{})
	made, err := s.Client.CreateToken(t.Context(), "eve", "viewer")
	if err != nil {
		t.Fatal(err)
	}
	s.Stop()
	edit(t, s.Home, `UPDATE tokens SET role = 'admin' WHERE name = 'eve'`)
	s = server.Start(t, server.Options{Home: s.Home})
	eve, err := client.New(s.URL, made.Secret)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := eve.Devices(t.Context(), client.List{}); fleet.CodeOf(err) != fleet.CodeUnauthorized {
		t.Errorf("got %v, want that the token is refused", err)
	}
	wait.Until(t, func() string {
		if log := s.Log(); !strings.Contains(log, "was not written by Muster") || !strings.Contains(log, "token=eve") {
			return "the log has " + log
		}
		return ""
	})
	if out, _ := muster(t, s, "audit", "list", "--what", "token."); !strings.Contains(out, "token.refused") {
		t.Errorf("the audit has %s", out)
	}
	if out, code := muster(t, s, "audit", "verify"); code != 3 || !strings.Contains(out, `token "eve" was changed`) {
		t.Errorf("verify ended with %d: %s", code, out)
	}
	if out, _ := muster(t, s, "token", "list"); !strings.Contains(out, "refused: not written by Muster") {
		t.Errorf("the list has %s", out)
	}
	if out, code := muster(t, s, "token", "delete", "eve", "--yes"); code != 0 {
		t.Errorf("delete ended with %d: %s", code, out)
	}
	if out, code := muster(t, s, "audit", "verify"); code != 0 {
		t.Errorf("once it is deleted verify ends with %d: %s", code, out)
	}
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

var headInLog = regexp.MustCompile(`msg="audit head" head=(\S+)`)

func TestTheAuditIsProvenByHeadsAndExports(t *testing.T) {
	s := server.Start(t, server.Options{})
	var head string
	wait.Until(t, func() string {
		found := headInLog.FindStringSubmatch(s.Log())
		if found == nil {
			return "the log has no head"
		}
		head = found[1]
		return ""
	})
	s.Template("set", "options.natEnabled", "false", "all")
	export, code := muster(t, s, "audit", "export")
	if code != 0 || strings.Count(export, "\n") < 4 {
		t.Fatalf("export ended with %d: %s", code, export)
	}
	signed, code := muster(t, s, "audit", "head")
	if code != 0 {
		t.Fatalf("head ended with %d: %s", code, signed)
	}
	key := strings.TrimSuffix(strings.Fields(signed)[4], ":")
	if out, code := muster(t, s, "audit", "verify", "--head", head); code != 0 {
		t.Errorf("verify ended with %d: %s", code, out)
	}
	lines := strings.SplitAfter(export, "\n")
	for name, test := range map[string]struct {
		text string
		code int
	}{
		"as it is":       {export, 0},
		"changed":        {strings.Replace(export, "template.create", "template.delete", 1), 3},
		"without a line": {lines[0] + strings.Join(lines[2:], ""), 3},
		"cut off":        {lines[0], 3},
	} {
		file := filepath.Join(t.TempDir(), "audit.jsonl")
		if err := os.WriteFile(file, []byte(test.text), 0o600); err != nil {
			t.Fatal(err)
		}
		out, code := run(t, "audit", "verify", "--file", file, "--head", strings.TrimSpace(lastLine(signed)), "--key", key)
		if code != test.code {
			t.Errorf("%s: verify ended with %d: %s", name, code, out)
		}
	}
	if out, code := run(t, "audit", "verify", "--file", "x", "--head", head, "--key", strings.Repeat("0", 64)); code != 2 {
		t.Errorf("with another key verify ended with %d: %s", code, out)
	}
	s.Stop()
	edit(t, s.Home, `UPDATE audit SET who = 'another' WHERE what = 'template.create'`)
	s = server.Start(t, server.Options{Home: s.Home})
	if out, code := muster(t, s, "audit", "verify", "--head", head); code != 3 || !strings.Contains(out, "was changed") {
		t.Errorf("verify ended with %d: %s", code, out)
	}
}

func TestALostAdministratorsTokenIsResetOnTheHost(t *testing.T) {
	s := server.Start(t, server.Options{})
	reset := []string{"admin", "reset", "--home", s.Home}
	if out, code := run(t, reset...); code != 3 || !strings.Contains(out, "Stop that server first") {
		t.Errorf("while the server serves reset ended with %d: %s", code, out)
	}
	s.Stop()
	if out, code := run(t, "admin", "reset", "--home", t.TempDir()); code != 3 || !strings.Contains(out, "no database") {
		t.Errorf("in another folder reset ended with %d: %s", code, out)
	}
	out, code := run(t, reset...)
	if code != 0 || !strings.Contains(out, "admin-token") || strings.Contains(out, "muster_") {
		t.Fatalf("reset ended with %d: %s", code, out)
	}
	again := server.Start(t, server.Options{Home: s.Home})
	if again.Token == s.Token {
		t.Error("the token is the same")
	}
	old, err := client.New(again.URL, s.Token)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := old.Devices(t.Context(), client.List{}); fleet.CodeOf(err) != fleet.CodeUnauthorized {
		t.Errorf("the old token: %v", err)
	}
	entries, err := again.Client.Audit(t.Context(), client.AuditSearch{What: "admin.reset"})
	if err != nil || len(entries) != 1 || entries[0].Who != "host" {
		t.Errorf("the audit has %+v, %v", entries, err)
	}
}

// The list of tokens under seal is lost: no token counts, and the way in is the host.
func TestALostRosterIsMendedOnTheHost(t *testing.T) {
	s := server.Start(t, server.Options{})
	s.Stop()
	edit(t, s.Home, `DELETE FROM proofs WHERE name = 'tokens'`)
	s = server.Start(t, server.Options{Home: s.Home})
	if _, err := s.Client.Devices(t.Context(), client.List{}); fleet.CodeOf(err) != fleet.CodeUnauthorized {
		t.Errorf("got %v, want that no token counts", err)
	}
	s.Stop()
	if out, code := run(t, "admin", "reset", "--home", s.Home); code != 0 {
		t.Fatalf("reset ended with %d: %s", code, out)
	}
	s = server.Start(t, server.Options{Home: s.Home})
	if _, err := s.Client.Devices(t.Context(), client.List{}); err != nil {
		t.Error(err)
	}
	if out, code := muster(t, s, "audit", "verify"); code != 3 || !strings.Contains(out, "tampering") {
		t.Errorf("verify ended with %d: %s", code, out)
	}
}
