package app

import (
	"bytes"
	"database/sql"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"muster/internal/edge/auth"
	"muster/internal/fleet"
	"muster/test/wait"
)

// watched has a server print to a terminal.
func watched(o *Options) { o.Watched = true }

// linkIn returns the log-in link in the file of a home, which only its owner may read.
func linkIn(t *testing.T, home string) string {
	t.Helper()
	path := filepath.Join(home, fleet.LoginLinkFile)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("%s has the mode %v", path, info.Mode())
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

func wantNoLinkFile(t *testing.T, home, why string) {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(home, fleet.LoginLinkFile+"*"))
	if err != nil || len(left) > 0 {
		t.Errorf("%s, and the home has %v, %v", why, left, err)
	}
}

// become makes an administrator by a log-in link.
func become(t *testing.T, a *App, link, name string) {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	const password = "correct horse battery"
	browser := &browserOfTest{Client: http.Client{Jar: jar}}
	browser.logIn(t, a, url.Values{"code": {strings.TrimPrefix(link, a.URL()+auth.LoginPath)}, "userid": {name},
		"password": {password}, "repeated": {password}})
	browser.wantName(t, a, name)
}

// printedUntil reads lines of a server until one begins with the text.
func printedUntil(lines printed, text string) (all string) {
	for line := range lines {
		all += line
		if strings.HasPrefix(line, text) {
			return all
		}
	}
	return all
}

const otherLink = "Another link is printed by: muster "

// Who could damage the rows of the administrators, or take the database away, and read the journal of the next start,
// found there the link that makes an administrator.
func TestDamagedRowsOfAdministratorsPutALinkIntoTheJournal(t *testing.T) {
	for damage, of := range map[string]string{
		"a password is removed":     `UPDATE users SET password = ''`,
		"a role is lowered":         `UPDATE users SET role = 'viewer'`,
		"the users are deleted":     `DELETE FROM users`,
		"their list is lost":        `DELETE FROM proofs WHERE name = 'users'`,
		"tokens are deleted, too":   `DELETE FROM users; DELETE FROM tokens`,
		"the database is not there": "",
	} {
		t.Run(damage, func(t *testing.T) {
			home := t.TempDir()
			a, lines, stop := running(t, home)
			printedUntil(lines, otherLink)
			become(t, a, linkIn(t, home), "anna")
			stop()
			harm(t, home, of)

			var log bytes.Buffer // A handler of slog writes one line at a time.
			a, lines, stop = running(t, home, watched, func(o *Options) {
				o.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
			})
			out := printedUntil(lines, otherLink)
			link := linkIn(t, home)
			if !strings.Contains(out, "\n"+filepath.Join(home, fleet.LoginLinkFile)+"\n") {
				t.Errorf("the path of the file is not alone on a line:\n%s", out)
			}
			become(t, a, link, "bert")
			wantNoLinkFile(t, home, "the link was used")
			stop()
			_, code, _ := strings.Cut(link, auth.LoginPath)
			if all := out + log.String(); strings.Contains(all, auth.LoginPath) || strings.Contains(all, code) {
				t.Errorf("the link is in the journal:\n%s", all)
			}
		})
	}
}

// harm changes the database of a stopped server; with "" it removes the database.
func harm(t *testing.T, home, of string) {
	t.Helper()
	if of == "" {
		files, err := filepath.Glob(filepath.Join(home, "muster.db*"))
		if err != nil || len(files) == 0 {
			t.Fatalf("the database is %v, %v", files, err)
		}
		for _, file := range files {
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
		}
		return
	}
	db, err := sql.Open("sqlite", "file:"+filepath.Join(home, "muster.db"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), of); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// The link of a first start without a terminal is not printed, and a blank in the name of the home breaks no command.
func TestAFirstStartWithoutATerminalNamesTheFileAndACommandThatWorks(t *testing.T) {
	home := filepath.Join(t.TempDir(), "of anna's")
	_, lines, stop := running(t, home)
	defer stop()
	out := printedUntil(lines, otherLink)
	first := linkIn(t, home)
	if strings.Contains(out, auth.LoginPath) {
		t.Errorf("the link was printed:\n%s", out)
	}
	_, command, _ := strings.Cut(strings.TrimSpace(out), otherLink)
	arguments, quoted, _ := strings.Cut(command, " '")
	args := append(strings.Fields(arguments), strings.ReplaceAll(strings.TrimSuffix(quoted, "'"), `'\''`, "'"))
	var printed bytes.Buffer
	if code := RunCommand(t.Context(), args, &printed); code != 0 || !strings.Contains(printed.String(), auth.LoginPath) {
		t.Errorf("%q: %d, %s", args, code, &printed)
	}
	wantNoLinkFile(t, home, "another link has replaced "+first[:len(first)-len(first)/2])
}

// A second start in a terminal may print to what keeps it. A killed server leaves the file, which the next start
// replaces.
func TestOnlyTheFirstStartPrintsALinkToATerminal(t *testing.T) {
	home := t.TempDir()
	_, lines, stop := running(t, home, watched)
	if out := printedUntil(lines, "http"); !strings.Contains(out, auth.LoginPath) {
		t.Errorf("the first start printed no link:\n%s", out)
	}
	stop()
	wantNoLinkFile(t, home, "the server has ended")
	left := filepath.Join(home, fleet.LoginLinkFile)
	if err := os.WriteFile(left, []byte("of a server that was killed\n"), fs.FileMode(0o600)); err != nil {
		t.Fatal(err)
	}
	_, lines, stop = running(t, home, watched)
	defer stop()
	if out := printedUntil(lines, otherLink); strings.Contains(out, auth.LoginPath) {
		t.Errorf("the second start printed a link:\n%s", out)
	}
	wait.Until(t, func() string {
		if link := linkIn(t, home); !strings.Contains(link, auth.LoginPath) {
			return "the file has " + link
		}
		return ""
	})
}
