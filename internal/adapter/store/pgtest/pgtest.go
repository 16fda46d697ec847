// Package pgtest is a test house: a real PostgreSQL in a temporary directory, reached over a Unix socket only, for the
// tests of one package. It does not keep anything, and does not use the cluster of the distribution.
package pgtest

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
)

// Server is one running PostgreSQL.
type Server struct {
	dir       string
	lock      *os.File         // the lock of dir: see newFolder
	run       func() *exec.Cmd // makes a process of the server
	process   *exec.Cmd        // nil while it does not run
	output    bytes.Buffer     // may be read when ended
	ended     chan struct{}    // closed when the process has ended
	databases atomic.Int64

	// strategy follows CREATE DATABASE. Copying files takes half of the processor time of writing their pages to the log.
	strategy string
}

const addressPrefix = "postgres://muster@/"

const startLimit = 60 * time.Second

// Start makes a cluster and runs it. Call Stop at the end, in TestMain.
func Start() (_ *Server, err error) {
	bin, err := programs()
	if err != nil {
		return nil, err
	}
	dir, lock, err := newFolder(memory())
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir, lock: lock}
	if major(filepath.Join(bin, "initdb")) >= 15 {
		s.strategy = " STRATEGY FILE_COPY"
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Stop())
		}
	}()
	credential, err := unprivileged(dir)
	if err != nil {
		return nil, err
	}
	data := filepath.Join(dir, "data")
	initdb := exec.Command(filepath.Join(bin, "initdb"), "-D", data, "-U", "muster", "-A", "trust", "-E", "UTF8",
		"--locale=C.UTF-8", "--no-sync")
	initdb.Dir, initdb.SysProcAttr = dir, &syscall.SysProcAttr{Credential: credential}
	if output, err := initdb.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w: %s", err, output)
	}
	s.run = func() *exec.Cmd {
		process := exec.Command(filepath.Join(bin, "postgres"), "-D", data, "-k", dir, "-c", "listen_addresses=",
			"-c", "fsync=off", "-c", "full_page_writes=off", "-c", "autovacuum=off", // these tests cut no power, and end soon
			"-c", "wal_level=minimal", "-c", "max_wal_senders=0",
			"-c", "shared_buffers=16MB", "-c", "max_connections=200")
		process.Dir = dir
		process.Stdout, process.Stderr = &s.output, &s.output
		process.SysProcAttr = &syscall.SysProcAttr{Credential: credential, Pdeathsig: syscall.SIGINT, Setpgid: true}
		return process
	}
	return s, s.begin()
}

func (s *Server) begin() error {
	process, ended := s.run(), make(chan struct{})
	if err := process.Start(); err != nil {
		return err
	}
	s.process, s.ended = process, ended
	go func() {
		defer close(ended)
		_ = process.Wait() // how it ended is in its output
	}()
	return s.waitReady()
}

// Halt ends the server, and every connection to it; the cluster stays.
func (s *Server) Halt(tb testing.TB) {
	tb.Helper()
	if err := s.end(); err != nil {
		tb.Fatal(err)
	}
}

// Continue runs the server again after Halt.
func (s *Server) Continue(tb testing.TB) {
	tb.Helper()
	if err := s.begin(); err != nil {
		tb.Fatal(err)
	}
}

// Stop ends the server and removes the cluster.
func (s *Server) Stop() error { return errors.Join(s.end(), os.RemoveAll(s.dir), s.lock.Close()) }

func (s *Server) end() error {
	if s.process == nil {
		return nil
	}
	err := s.process.Process.Signal(syscall.SIGINT) // "fast shutdown"
	select {
	case <-s.ended:
	case <-time.After(startLimit):
		err = errors.Join(err, s.process.Process.Kill())
		<-s.ended
	}
	s.process = nil
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// Database makes an empty database and gives its address. The database ends with the test.
func (s *Server) Database(tb testing.TB) string {
	tb.Helper()
	return s.forTest(tb, "")
}

// NewDatabase is Database for a database that outlives a test.
func (s *Server) NewDatabase(ctx context.Context) (address string, err error) {
	name, err := s.create(ctx, "")
	return s.address(name), err
}

// Copy makes a copy of the database with this address, and gives the copy's address. Connect to neither meanwhile. The
// copy ends with the test.
func (s *Server) Copy(tb testing.TB, address string) string {
	tb.Helper()
	return s.forTest(tb, templateOf(address))
}

// NewCopy is Copy for a copy that outlives a test.
func (s *Server) NewCopy(ctx context.Context, address string) (copied string, err error) {
	name, err := s.create(ctx, templateOf(address))
	return s.address(name), err
}

func templateOf(address string) string {
	of, _, _ := strings.Cut(strings.TrimPrefix(address, addressPrefix), "?")
	return " TEMPLATE " + of
}

// forTest makes a database for one test, and removes it afterwards: a file system in memory has no room for all.
func (s *Server) forTest(tb testing.TB, how string) (address string) {
	tb.Helper()
	name, err := s.create(tb.Context(), how)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if s.process == nil {
			return
		}
		if err := s.exec(context.Background(), "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)"); err != nil {
			tb.Error(err)
		}
	})
	return s.address(name)
}

func (s *Server) create(ctx context.Context, how string) (name string, err error) {
	name = "test" + strconv.FormatInt(s.databases.Add(1), 10)
	return name, s.exec(ctx, "CREATE DATABASE "+name+how+s.strategy)
}

func (s *Server) address(database string) string {
	return addressPrefix + database + "?host=" + url.QueryEscape(s.dir)
}

func (s *Server) exec(ctx context.Context, text string) (err error) {
	db, err := sql.Open("pgx", s.address("postgres"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	_, err = db.ExecContext(ctx, text)
	return err
}

func (s *Server) waitReady() error {
	deadline := time.After(startLimit)
	for {
		err := s.exec(context.Background(), "SELECT 1")
		if err == nil {
			return nil
		}
		var refused *pgconn.PgError
		var connect *pgconn.ConnectError
		if !errors.As(err, &refused) && !errors.As(err, &connect) {
			return err
		}
		select {
		case <-s.ended:
			return fmt.Errorf("postgres ended: %s", s.output.String())
		case <-deadline:
			return fmt.Errorf("postgres did not get ready: %w", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// memory is a folder on a file system in memory, where there is one with room: a database is made there in a tenth of
// the time. Else it is empty, the usual place of temporary files.
func memory() string {
	const folder, room = "/dev/shm", 4 << 30
	var found syscall.Statfs_t
	if err := syscall.Statfs(folder, &found); err != nil || found.Bavail*uint64(found.Bsize) < room {
		return ""
	}
	return folder
}

// programs is the folder of the newest PostgreSQL that is installed.
func programs() (string, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil {
		return "", err
	}
	if len(found) > 0 {
		return filepath.Dir(slices.MaxFunc(found, func(a, b string) int { return major(a) - major(b) })), nil
	}
	initdb, err := exec.LookPath("initdb")
	if err != nil {
		return "", errors.New("no PostgreSQL is installed: apt-get install postgresql")
	}
	return filepath.Dir(initdb), nil
}

func major(initdb string) int {
	n, err := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(initdb))))
	if err != nil {
		return 0
	}
	return n
}

// unprivileged is the user "postgres", who gets the directory: PostgreSQL refuses to run as root. For everybody else
// it is nil, themselves.
func unprivileged(dir string) (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	account, err := user.Lookup("postgres")
	if err != nil {
		return nil, err
	}
	uid, err := strconv.ParseUint(account.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(account.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, os.Chown(dir, int(uid), int(gid))
}
