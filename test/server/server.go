// Package server starts Muster as a separate process for tests, so that it can be killed at any moment. The process is
// the test binary itself. It is for tests only.
package server

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"muster/client"
	"muster/internal/adapter/sandbox"
	"muster/internal/app"
	"muster/internal/engine/backup"
	"muster/internal/engine/notify"
	"muster/internal/fleet"
	"muster/test/wait"
)

const (
	roleVariable    = "MUSTER_TEST_PROCESS" // "server" or "worker": what the test binary is this time
	optionsVariable = "MUSTER_TEST_OPTIONS" // of a server, as JSON
	readyPrefix     = "Muster is ready: "
	startLimit      = 60 * time.Second
	answerLimit     = 2 * time.Minute
	heldPause       = 50 * time.Millisecond
	manyCallers     = 256 // at a time keep their connections
)

// Main is called first in TestMain: where this process is a server or worker that Start started, it never returns.
func Main() {
	if len(os.Args) > 1 && os.Args[1] == "worker" {
		exit(sandbox.Serve(os.Stdin, os.Stdout))
	}
	if os.Getenv(roleVariable) == "server" {
		exit(serve())
	}
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func serve() error {
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer cancel()
	var o Options
	if err := json.Unmarshal([]byte(os.Getenv(optionsVariable)), &o); err != nil {
		return err
	}
	if len(o.DiscoveryServers) == 0 {
		o.DiscoveryServers = []string{"none"}
	}
	lock, err := backup.NewLock(nil, fleet.NewSecret(o.BackupPassphrase))
	if err != nil {
		return err
	}
	server, err := app.New(ctx, app.Options{
		BackupLock:          lock,
		BackupRoots:         o.BackupRoots,
		Home:                o.Home,
		Listen:              "127.0.0.1:0",
		AgentListen:         o.AgentListen,
		Database:            o.Database,
		Configurator:        o.Mode,
		Demo:                o.Demo,
		Settings:            o.settings(),
		DiscoveryServers:    o.DiscoveryServers,
		DiscoveryAllowLocal: o.DiscoveryAllowLocal,
		Notify: notify.Settings{
			URLs:   o.NotifyURLs,
			Secret: fleet.NewSecret(o.NotifySecret),
		},
		NotifyAllowLocal: o.NotifyAllowLocal,
		RetryPause:       o.RetryPause, IgnoresEvery: o.IgnoresEvery,
		TLSCert:    o.TLSCert,
		TLSKey:     o.TLSKey,
		AllowHosts: o.AllowHosts,
		Worker: []string{
			os.Args[0],
			"worker",
		},
		Build: fleet.Build{Version: fleet.MusterVersion, Commit: "test"},
		Step:  stopAt(o),
		Log:   slog.New(o.logHandler()),
		Out:   os.Stdout,
	})
	if err != nil {
		return err
	}
	go reportMemory(ctx, o.Home)
	return server.Run(ctx)
}

// settings are the options that flags of a server would give.
func (o Options) settings() map[fleet.SettingName]string {
	given := map[fleet.SettingName]string{fleet.SettingApproval: o.ApprovalThreshold, fleet.SettingWavePlan: o.Waves}
	for name, d := range map[fleet.SettingName]time.Duration{
		fleet.SettingSoak: o.Soak, fleet.SettingProgressDeadline: o.Patience, fleet.SettingTroubleAfter: o.TroubleAfter,
		fleet.SettingStalledAfter: o.StalledAfter, fleet.SettingDisagreeAfter: o.DisagreeAfter,
		fleet.SettingBackupEvery: o.BackupEvery, fleet.SettingNotifyAfter: o.NotifyAfter,
	} {
		if d > 0 {
			given[name] = d.String()
		}
	}
	if given[fleet.SettingBackupTo] = o.BackupTo; o.BackupTo != "" {
		given[fleet.SettingBackupKeep] = "2"
	}
	if o.FourEyes {
		given[fleet.SettingFourEyes] = "true"
	}
	var off []string
	for _, cause := range o.TroubleOff {
		off = append(off, string(cause))
	}
	given[fleet.SettingTroubleOff] = strings.Join(off, ",")
	return given
}

// logHandler writes to standard error, or all levels into a file.
func (o Options) logHandler() slog.Handler {
	if o.LogFile == "" {
		return slog.NewTextHandler(os.Stderr, nil)
	}
	file, err := os.OpenFile(o.LogFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		exit(err)
	}
	return slog.NewTextHandler(file, &slog.HandlerOptions{Level: slog.LevelDebug})
}

// stopAt kills the process at one step, and holds it up at another.
func stopAt(o Options) func(string) {
	return func(step string) {
		switch step {
		case o.KillAt:
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		case o.HoldAt:
			held := filepath.Join(o.Home, heldFile)
			_ = os.WriteFile(held, nil, 0o600)
			for again := time.NewTicker(heldPause); exists(held); <-again.C {
			}
		}
	}
}

const heldFile = "held" // in the home: there while a server waits at the step HoldAt

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// WaitHeld waits until the server has come to the step HoldAt, and gives what lets it go on.
func (s *Server) WaitHeld() (release func()) {
	s.t.Helper()
	held := filepath.Join(s.Home, heldFile)
	wait.Until(s.t, func() string {
		if exists(held) {
			return ""
		}
		return "the server has not come to the step"
	})
	return func() {
		if err := os.Remove(held); err != nil {
			s.t.Fatal(err)
		}
	}
}

// Options say how a server starts.
type Options struct {
	Home     string // "": a new one; an old one continues where another server ended
	Database string // "postgres://..."; "" is SQLite in Home
	Mode     fleet.Mode

	AgentListen string // HOST:PORT of agents; "": none can connect

	KillAt  string // name of a step of an apply or a rollout; see reconcile.Options and rollout.Options
	HoldAt  string // likewise; see WaitHeld
	Demo    int
	LogFile string // of the whole log, at the level debug; "": the end of it is kept for Log

	OpenFiles int // the limit of open files; 0: as this process has it

	ApprovalThreshold string
	FourEyes          bool
	Waves             string
	Soak              time.Duration // of rollouts; 0: as for real daemons
	Patience          time.Duration // likewise

	RetryPause   time.Duration // see mirror.Options
	IgnoresEvery time.Duration // see reconcile.Options

	DiscoveryServers    []string // none: discovery is off
	DiscoveryAllowLocal bool
	NotifyAllowLocal    bool // sinks may be on this machine

	BackupEvery      time.Duration // 0: never
	BackupTo         string
	BackupRoots      []string
	BackupPassphrase string

	NotifyURLs   []string
	NotifySecret string
	NotifyAfter  time.Duration

	// Windows of the states of folders; 0 is as usual.
	TroubleAfter, StalledAfter, DisagreeAfter time.Duration
	TroubleOff                                []fleet.WaitCause

	TLSCert, TLSKey string   // "": plain HTTP; with them Client of the server trusts the certificate
	AllowHosts      []string // further names of the server
}

// Server is a running Muster.
type Server struct {
	URL    string
	Home   string
	Token  string // the administrator's
	Client *client.Client

	t           testing.TB
	certificate string // "": it speaks plain HTTP
	process     *exec.Cmd
	ended       chan struct{}
	log         *tail
}

// Start starts a server and waits until it is ready. The test's end stops it.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	s := &Server{Home: o.Home, t: t, certificate: o.TLSCert, ended: make(chan struct{}), log: &tail{}}
	switch {
	case s.Home != "":
	case o.Database == "":
		s.Home = PreparedHome(t)
	default:
		s.Home = t.TempDir()
	}
	if o.Mode == "" {
		o.Mode = fleet.ModeOn
	}
	s.process = exec.Command(os.Args[0])
	if o.OpenFiles > 0 {
		s.process = exec.Command("/bin/sh", "-c", `ulimit -n "$1" && exec "$0"`, os.Args[0], strconv.Itoa(o.OpenFiles))
	}
	o.Home = s.Home
	options, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	s.process.Env = append(os.Environ(), roleVariable+"=server", optionsVariable+"="+string(options))
	s.process.Stderr = s.log
	out, err := s.process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Kill)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the server's log ends with:\n%s", s.log)
		}
	})
	s.waitReady(out)
	return s
}

func (s *Server) waitReady(out io.Reader) {
	s.t.Helper()
	ready := make(chan string, 1)
	go func() {
		defer close(s.ended)
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if url, ok := strings.CutPrefix(lines.Text(), readyPrefix); ok {
				ready <- strings.Fields(url)[0]
			}
		}
		_ = s.process.Wait()
	}()
	select {
	case s.URL = <-ready:
	case <-s.ended:
		s.t.Fatalf("the server ended before it was ready:\n%s", s.log)
	case <-time.After(startLimit):
		s.t.Fatalf("the server is not ready after %v:\n%s", startLimit, s.log)
	}
	token, err := os.ReadFile(filepath.Join(s.Home, "admin-token"))
	if err != nil {
		s.t.Fatal(err)
	}
	s.Token = strings.TrimSpace(string(token))
	s.Client = s.As(s.Token)
}

// As calls the server with another token than the administrator's.
func (s *Server) As(token string) *client.Client {
	s.t.Helper()
	as, err := client.NewWith(s.URL, token, s.http())
	if err != nil {
		s.t.Fatal(err)
	}
	return as
}

// http trusts the certificate that the server was given.
func (s *Server) http() *http.Client {
	if s.certificate == "" {
		return &http.Client{Timeout: answerLimit, Transport: &http.Transport{MaxIdleConnsPerHost: manyCallers}}
	}
	text, err := os.ReadFile(s.certificate)
	if err != nil {
		s.t.Fatal(err)
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(text)
	return &http.Client{Timeout: answerLimit, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted}}}
}

// Kill ends the process with SIGKILL and waits for its end; killing twice is fine.
func (s *Server) Kill() { s.signal(syscall.SIGKILL) }

// Stop ends the process as Ctrl-C does and fails the test when that takes longer than it may.
func (s *Server) Stop() {
	s.t.Helper()
	s.signal(syscall.SIGTERM)
	if code := s.process.ProcessState.ExitCode(); code != 0 {
		s.t.Errorf("the server ended with %d:\n%s", code, s.log)
	}
}

func (s *Server) signal(sig syscall.Signal) {
	_ = s.process.Process.Signal(sig)
	<-s.ended
}

// WaitEnd waits until the process ended by itself, as one with KillAt does.
func (s *Server) WaitEnd() {
	s.t.Helper()
	select {
	case <-s.ended:
	case <-time.After(startLimit):
		s.t.Fatalf("the server is still alive:\n%s", s.log)
	}
}

// Log is the end of what the server logged.
func (s *Server) Log() string { return s.log.String() }

// ExitCode is that of a process that has ended.
func (s *Server) ExitCode() int { return s.process.ProcessState.ExitCode() }

// PID is the process's number.
func (s *Server) PID() int { return s.process.Process.Pid }

// tail keeps the end of a log.
type tail struct {
	mu   sync.Mutex
	text []byte
}

func (l *tail) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	const most = 64 << 10
	l.text = append(l.text, p...)
	if len(l.text) > 2*most {
		l.text = append(l.text[:0], l.text[len(l.text)-most:]...)
	}
	return len(p), nil
}

func (l *tail) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.text)
}
