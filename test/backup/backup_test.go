// Package backup_test makes backups of whole servers while they run, and restores each into an empty home directory
// and into a database of the other kind (SQLite, PostgreSQL).
//
// Tests of refused restores, and of a server that is killed at each step, run without the race detector.
//
//muster:needs daemons database
//muster:test -skip=KilledLeave|Refused|Beside
//muster:test -race=false -run=KilledLeave|Refused|Beside
//muster:soak
package backup_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"filippo.io/age"

	"muster/api"
	"muster/internal/adapter/store"
	"muster/internal/adapter/store/pgtest"
	"muster/internal/edge/cli"
	"muster/internal/engine/backup"
	"muster/internal/fleet"
	"muster/test/server"
	"muster/test/wait"
)

func TestMain(m *testing.M) {
	if args := os.Getenv(commandOfTest); args != "" {
		streams := cli.Streams{In: strings.NewReader(""), Out: os.Stdout, Err: os.Stderr}
		os.Exit(cli.Run(context.Background(), strings.Split(args, "\x1f"), streams, "test"))
	}
	server.Main()
	os.Exit(run(m))
}

var database = sync.OnceValues(pgtest.Start)

func run(m *testing.M) int {
	code := m.Run()
	if started, err := database(); err == nil {
		if err := started.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return code
}

// place is a home, and a database where it is not in the home.
type place struct{ home, dsn string }

// command is one that works on the place.
func (p place) command(args ...string) []string {
	args = append(args, "--home", p.home)
	if p.dsn != "" {
		args = append(args, "--database", p.dsn)
	}
	return args
}

func (p place) store() store.Options { return store.Options{Home: p.home, DSN: p.dsn} }

func newPlace(t *testing.T, onPostgres bool) place {
	t.Helper()
	p := place{home: t.TempDir()}
	if onPostgres {
		started, err := database()
		if err != nil {
			t.Fatal(err)
		}
		p.dsn = started.Database(t)
	}
	return p
}

// muster is what a shell sees of a command. It is a process of its own, as one of another test that is being started
// would hold the locks of this one for a moment.
func muster(t *testing.T, args ...string) (code int, output string) {
	t.Helper()
	child := asCommand(args)
	text, err := child.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return child.ProcessState.ExitCode(), string(text)
}

// asCommand is this test binary as a command of muster; see TestMain.
func asCommand(args []string) *exec.Cmd {
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), commandOfTest+"="+strings.Join(args, "\x1f"))
	return child
}

func mustMuster(t *testing.T, args ...string) string {
	t.Helper()
	code, output := muster(t, args...)
	if code != 0 {
		t.Fatalf("muster %s: %d, %s", strings.Join(args, " "), code, output)
	}
	return output
}

const phrase = "correct horse battery staple"

func passphraseFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "passphrase")
	if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// padlock is what a test encrypts its backups to, and what opens them: a key, as a passphrase takes a fifth of a second
// on purpose, and ten times that with the race detector.
type padlock struct {
	recipient string
	identity  string // the file with the key
	opener    backup.Opener
}

func newPadlock(t *testing.T) padlock {
	t.Helper()
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	l := padlock{recipient: key.Recipient().String(), identity: filepath.Join(t.TempDir(), "key")}
	if err := os.WriteFile(l.identity, []byte(key.String()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if l.opener, err = backup.NewOpener(fleet.NewSecret(key.String()), fleet.Secret{}); err != nil {
		t.Fatal(err)
	}
	return l
}

// backup is the command that makes a backup of a place.
func (l padlock) backup(from place, file string) []string {
	return from.command("backup", file, "--backup-recipient", l.recipient)
}

// restore is the command that restores a backup onto a place.
func (l padlock) restore(to place, file string) []string {
	return to.command("restore", file, "--identity", l.identity)
}

// byPassphrase opens the backups of the tests that have one.
func byPassphrase(t *testing.T) backup.Opener {
	t.Helper()
	opener, err := backup.NewOpener(fleet.Secret{}, fleet.NewSecret(phrase))
	if err != nil {
		t.Fatal(err)
	}
	return opener
}

// content are all rows of a database, as text by table, with the columns in one order.
type content struct {
	columns []string
	table   string
	rows    map[string][]string
}

func (c *content) Schema(int64) error { c.rows = map[string][]string{}; return nil }

func (c *content) Table(name string, columns []string) error {
	c.table, c.columns = name, slices.Clone(columns)
	return nil
}

func (c *content) Row(values []any) error {
	var cells []string
	for i, column := range c.columns {
		cells = append(cells, fmt.Sprintf("%s=%T(%v)", column, values[i], values[i]))
	}
	sort.Strings(cells)
	c.rows[c.table] = append(c.rows[c.table], strings.Join(cells, " "))
	return nil
}

func (*content) Sequence(string, int64) error { return nil }

// wantSame compares a backup with the database that it was restored onto, row by row.
func wantSame(t *testing.T, file string, opener backup.Opener, restored place) {
	t.Helper()
	var was, is content
	if _, err := backup.Read(file, opener, func(backup.Content) (backup.Sink, error) { return &was, nil }); err != nil {
		t.Fatal(err)
	}
	if err := store.Dump(t.Context(), restored.store(), &is); err != nil {
		t.Fatal(err)
	}
	for table, rows := range was.rows {
		// The mode, what was restored, with the proof of how the audit ends; no session goes on.
		if slices.Contains([]string{"meta", "audit", "audit_heads", "proofs", "sessions", "login_links"}, table) {
			continue
		}
		sort.Strings(rows)
		sort.Strings(is.rows[table])
		if !slices.Equal(rows, is.rows[table]) {
			t.Errorf("%s has other rows after the restore: %d, and had %d", table, len(is.rows[table]), len(rows))
		}
	}
	if got, want := len(is.rows["audit"]), len(was.rows["audit"])+1; got != want {
		t.Errorf("the audit has %d rows, want %d", got, want)
	}
}

// load changes devices and templates and reads until it is stopped, and counts what was acknowledged.
type load struct {
	devices, templates atomic.Int64
	mu                 sync.Mutex // guards what follows
	writes, reads      []time.Duration
}

func (l *load) run(ctx context.Context, t *testing.T, s *server.Server) {
	op, key := "set", "options.natEnabled"
	for n := int64(1); ctx.Err() == nil; n++ {
		began := time.Now()
		id, label := fleet.DeviceIDOf([32]byte{byte(n), byte(n >> 8)}), fmt.Sprint(n)
		apiKey, address, port := "key "+label, "127.0.0.1", int64(1)
		_, _, err := s.Client.PutDevice(ctx, string(id),
			api.PutDevice{APIKey: &apiKey, APIAddress: &address, APIPort: &port, Label: &label})
		if err == nil {
			l.note(&l.writes, began)
			l.devices.Store(n)
			text := "# " + strings.Repeat(label, 200) + "\ntrue"
			began = time.Now()
			if _, err = s.Client.CreateTemplate(ctx, api.PutTemplate{Label: &label, Op: &op, Key: &key,
				Template: &text}); err == nil {
				l.note(&l.writes, began)
				l.templates.Store(n)
			}
		}
		if err == nil {
			began = time.Now()
			if _, err = s.Client.Overview(ctx); err == nil {
				l.note(&l.reads, began)
			}
		}
		if err != nil && ctx.Err() == nil {
			t.Error(err)
			return
		}
	}
}

func (l *load) note(into *[]time.Duration, began time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	*into = append(*into, time.Since(began))
}

// figures are the 99th percentiles since the last call, as text.
func (l *load) figures() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := fmt.Sprintf("p99 of %d writes %v, of %d reads %v", len(l.writes), p99(l.writes), len(l.reads), p99(l.reads))
	l.writes, l.reads = nil, nil
	return text
}

func p99(took []time.Duration) time.Duration {
	if len(took) == 0 {
		return 0
	}
	slices.Sort(took)
	return took[len(took)*99/100].Round(time.Millisecond / 10)
}

func soaking() bool { return os.Getenv("MUSTER_SOAK") != "" }

// A backup that is taken at any moment of a busy server is of one moment, and has all that was acknowledged before.
func TestBackupsUnderLoadRestoreOntoTheOtherKindOfDatabase(t *testing.T) {
	t.Parallel()
	backups, pause := 3, 100*time.Millisecond
	if soaking() {
		backups, pause = 60, time.Second
	}
	for name, onPostgres := range map[string]bool{"sqlite": false, "postgres": true} {
		t.Run("from "+name, func(t *testing.T) {
			if !soaking() { // which measures
				t.Parallel()
			}
			from, lock := newPlace(t, onPostgres), newPadlock(t)
			s := server.Start(t, server.Options{Home: from.home, Database: from.dsn, Mode: fleet.ModeObserve})
			ctx, stop := context.WithCancel(t.Context())
			var l load
			var working sync.WaitGroup
			working.Go(func() { l.run(ctx, t, s) })
			alone := time.Now().Add(time.Duration(backups) * pause)
			wait.Until(t, func() string {
				if l.templates.Load() >= 20 && (time.Now().After(alone) || !soaking()) {
					return ""
				}
				return "the load has not begun"
			})
			t.Logf("without backups: %s", l.figures())
			began := time.Now()
			type taken struct {
				file               string
				devices, templates int64 // acknowledged before
			}
			var all []taken
			for n := range backups {
				one := taken{filepath.Join(t.TempDir(), fmt.Sprint(n)), l.devices.Load(), l.templates.Load()}
				next := time.After(pause)
				mustMuster(t, lock.backup(from, one.file)...)
				all = append(all, one)
				<-next
			}
			t.Logf("beside %d backups in %v: %s", backups, time.Since(began).Round(time.Second), l.figures())
			stop()
			working.Wait()
			s.Kill()
			for n, one := range all {
				to := newPlace(t, !onPostgres)
				mustMuster(t, lock.restore(to, one.file)...)
				wantSame(t, one.file, lock.opener, to)
				if n > 0 && n < len(all)-1 {
					continue // starting a server on each takes long
				}
				restored := server.Start(t, server.Options{Home: to.home, Database: to.dsn})
				overview, err := restored.Client.Overview(t.Context())
				if err != nil || int64(overview.Devices) < one.devices || int64(overview.Templates) < one.templates ||
					overview.Generation != int64(overview.Templates) || overview.Restored == nil {
					t.Errorf("%+v, %v; acknowledged before the backup: %+v", overview, err, one)
				}
				device, err := restored.Client.Device(t.Context(), string(fleet.DeviceIDOf([32]byte{1})))
				if err != nil || device.APIKey != "key 1" {
					t.Errorf("%+v, %v", device, err)
				}
				restored.Kill()
			}
		})
	}
}

// wantEmpty checks that a restore left nothing behind.
func wantEmpty(t *testing.T, p place) {
	t.Helper()
	entries, err := os.ReadDir(p.home)
	if err != nil && !errors.Is(err, fs.ErrNotExist) || len(entries) > 0 {
		t.Errorf("the home has %v, %v", entries, err)
	}
}

func TestARestoreThatIsRefusedLeavesNothing(t *testing.T) {
	t.Parallel()
	from, pass := newPlace(t, false), passphraseFile(t, phrase)
	s := server.Start(t, server.Options{Home: from.home, Mode: fleet.ModeObserve})
	s.Template("set", "options.natEnabled", "true", "all")
	s.Stop()
	file := filepath.Join(t.TempDir(), "a.backup")
	mustMuster(t, from.command("backup", file, "--backup-passphrase-file", pass)...)
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name string, text []byte) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	changed := bytes.Clone(whole)
	changed[len(changed)/2] ^= 1
	wrong := passphraseFile(t, "wrong")
	for _, onPostgres := range []bool{false, true} {
		to := newPlace(t, onPostgres)
		for name, test := range map[string]struct{ file, pass, want string }{
			"cut short":        {write("cut", whole[:len(whole)-100]), pass, "is cut short or was changed"},
			"changed":          {write("changed", changed), pass, "is cut short or was changed"},
			"wrong passphrase": {file, wrong, "not its key or passphrase"},
			"no backup":        {write("notes", []byte("notes")), pass, "is cut short or was changed"},
			"absent":           {filepath.Join(t.TempDir(), "absent"), pass, "cannot be read"},
		} {
			code, output := muster(t, to.command("restore", test.file, "--passphrase-file", test.pass)...)
			if code != 2 || !strings.Contains(output, test.want) {
				t.Errorf("%s: got %d, %q", name, code, output)
			}
			wantEmpty(t, to)
		}
		mustMuster(t, to.command("restore", file, "--passphrase-file", pass)...) // as nothing is in the way
		code, output := muster(t, to.command("restore", file, "--passphrase-file", pass)...)
		if code != 3 || !strings.Contains(output, "is not empty") {
			t.Errorf("onto what was restored: got %d, %q", code, output)
		}
		other := place{home: t.TempDir(), dsn: to.dsn}
		if onPostgres {
			code, output := muster(t, other.command("restore", file, "--passphrase-file", pass)...)
			if code != 3 || !strings.Contains(output, "the database is not empty") {
				t.Errorf("onto a database with something in it: got %d, %q", code, output)
			}
			wantEmpty(t, other)
		}
	}
}

// A restore that was killed half way must not look like a home.
func TestAServerDoesNotStartBesideAnUnfinishedRestore(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	if err := os.Mkdir(filepath.Join(home, "restore.unfinished"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"serve", "--listen", "127.0.0.1:0", "--discovery-server", "none"},
		{"restore", filepath.Join(home, "x"), "--passphrase-file", passphraseFile(t, phrase)},
	} {
		if args[0] == "restore" {
			s := server.Start(t, server.Options{Mode: fleet.ModeObserve})
			mustMuster(t, "backup", args[1], "--home", s.Home, "--backup-passphrase-file", args[3])
		}
		code, output := muster(t, append(args, "--home", home)...)
		if code != 3 || !strings.Contains(output, "cut short") || !strings.Contains(output, "rm -r '"+home) {
			t.Errorf("%s: got %d, %q", args[0], code, output)
		}
	}
}
