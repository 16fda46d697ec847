// Package daemon starts real Syncthing daemons for tests. They use loopback and ports of their own, and everything
// that would contact other machines is off.
package daemon

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"muster/internal/fleet"
)

const (
	startLimit = 60 * time.Second // from the start of the process to the first answer, on a busy machine
	stopLimit  = 15 * time.Second // from the request to end until the process is killed
	attempts   = 3                // starts with new ports, when somebody else took one in between
)

// Options say how a daemon starts. The zero value is a plain HTTP daemon that announces itself nowhere.
type Options struct {
	TLS         bool   // gui.useTLS
	Supervised  bool   // syncthing's own supervisor restarts the daemon when the API asks for it
	AnnounceTo  string // URL of a discovery server on loopback; the daemon then listens on localhost by name
	GUIUser     string // with GUIPassword: a GUI user from the start
	GUIPassword string
	Namespace   *Namespace // in which it runs; nil: that of this machine
	HomeBelow   string     // the daemon's home, below that of its user; "": they are the same directory

	Unprivileged bool // it does not run as root, also where the test does
}

// Daemon is one running Syncthing. Its methods fail the test where something goes wrong.
type Daemon struct {
	ID       fleet.DeviceID
	APIKey   string
	Address  string // IP of the API
	Port     int    // of the API
	SyncPort int    // of the sync protocol, on 127.0.0.1
	Home     string // configuration, keys and database
	UserHome string // $HOME of the daemon
	TLS      bool

	t       testing.TB
	options Options
	process *process
}

// Start makes a new daemon and waits until its API answers to its key. The test's end stops it.
func Start(t testing.TB, o Options) *Daemon {
	t.Helper()
	binary(t)
	d := &Daemon{Address: "127.0.0.1", UserHome: t.TempDir(), TLS: o.TLS, t: t, options: o}
	d.Home = filepath.Join(d.UserHome, o.HomeBelow)
	if err := os.MkdirAll(d.Home, 0o700); err != nil {
		t.Fatal(err)
	}
	d.generate()
	t.Cleanup(d.Stop)
	for attempt := 1; ; attempt++ {
		d.Port, d.SyncPort = FreePort(t), FreePort(t)
		d.configure()
		d.Own(d.UserHome)
		err := d.launch()
		if err == nil {
			return d
		}
		d.Stop()
		if attempt == attempts {
			t.Fatalf("start syncthing: %v\n%s", err, d.logTail())
		}
	}
}

// Clone starts another daemon from a copy of this one's home: two daemons have one identity then.
func (d *Daemon) Clone() *Daemon {
	d.t.Helper()
	user := d.t.TempDir()
	c := &Daemon{ID: d.ID, APIKey: d.APIKey, Address: d.Address, Port: FreePort(d.t), SyncPort: FreePort(d.t),
		UserHome: user, Home: filepath.Join(user, "copy"), TLS: d.TLS, t: d.t, options: d.options}
	if err := os.CopyFS(c.Home, os.DirFS(d.Home)); err != nil {
		d.t.Fatal(err)
	}
	c.configure()
	d.t.Cleanup(c.Stop)
	if err := c.launch(); err != nil {
		d.t.Fatalf("start the clone: %v\n%s", err, c.logTail())
	}
	return c
}

// Stop ends the process and waits for it; stopping twice is fine.
func (d *Daemon) Stop() {
	if d.process != nil {
		d.process.stop(stopLimit)
		d.process = nil
	}
}

// Freeze stops the daemon from running without ending it: it keeps its connections and answers nothing. The end of the
// test, or Thaw, has it run on.
func (d *Daemon) Freeze() {
	d.t.Helper()
	d.t.Cleanup(d.Thaw)
	d.process.signal(syscall.SIGSTOP)
}

// Thaw has a frozen daemon run on.
func (d *Daemon) Thaw() {
	if d.process != nil {
		d.process.signal(syscall.SIGCONT)
	}
}

// Restart stops the daemon, if it runs, and starts it again on the same ports.
func (d *Daemon) Restart() {
	d.t.Helper()
	d.Stop()
	if err := d.launch(); err != nil {
		d.t.Fatalf("restart syncthing: %v\n%s", err, d.logTail())
	}
}

// HostPort is the address of the API.
func (d *Daemon) HostPort() string { return net.JoinHostPort(d.Address, fmt.Sprint(d.Port)) }

// SyncAddress is the address of the sync protocol, as a daemon announces it.
func (d *Daemon) SyncAddress() string { return fmt.Sprintf("tcp://127.0.0.1:%d", d.SyncPort) }

// GUICertificate is the certificate that the API shows.
func (d *Daemon) GUICertificate() *x509.Certificate {
	d.t.Helper()
	return d.certificate("https-cert.pem")
}

// Pin is the GUI certificate's SHA-256 as Muster writes it.
func (d *Daemon) Pin() string {
	d.t.Helper()
	return fmt.Sprintf("sha256:%x", sha256.Sum256(d.GUICertificate().Raw))
}

func (d *Daemon) certificate(file string) *x509.Certificate {
	d.t.Helper()
	text, err := os.ReadFile(filepath.Join(d.Home, file))
	if err != nil {
		d.t.Fatal(err)
	}
	block, _ := pem.Decode(text)
	if block == nil {
		d.t.Fatalf("%s is not PEM", file)
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		d.t.Fatal(err)
	}
	return certificate
}

// launch starts the process and waits until the daemon's own key is answered with the daemon's own ID.
func (d *Daemon) launch() error {
	args := []string{"serve", "--home", d.Home, "--no-browser"}
	if !d.options.Supervised {
		args = append(args, "--no-restart")
	}
	var err error
	cmd := d.command(args...)
	if d.isNobody() {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	if d.process, err = startProcess(cmd); err != nil {
		return err
	}
	deadline := time.NewTimer(startLimit)
	defer deadline.Stop()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-d.process.done:
			if d.process.err == nil {
				return errors.New("the process ended")
			}
			return fmt.Errorf("the process ended: %w", d.process.err)
		case <-deadline.C:
			return fmt.Errorf("no answer within %s", startLimit)
		case <-tick.C:
		}
		status, body, err := d.request("GET", "/rest/system/status", nil)
		if err != nil || status != 200 {
			continue
		}
		var answer struct{ MyID string }
		if err := json.Unmarshal(body, &answer); err == nil && answer.MyID == string(d.ID) {
			return nil
		}
	}
}

const nobody = 65534 // the user of a daemon that does not run as root

// isNobody tells whether the daemon runs as another user than the test.
func (d *Daemon) isNobody() bool { return d.options.Unprivileged && os.Getuid() == 0 }

// Own gives a path, and all below it, to the user of the daemon.
func (d *Daemon) Own(path string) {
	d.t.Helper()
	if !d.isNobody() {
		return
	}
	if err := os.Chmod(filepath.Dir(d.UserHome), 0o711); err != nil { //nolint:gosec // the way into the daemon's home
		d.t.Fatal(err)
	}
	if err := filepath.WalkDir(path, func(at string, _ os.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(at, nobody, nobody))
	}); err != nil {
		d.t.Fatal(err)
	}
}

func (d *Daemon) command(args ...string) *exec.Cmd {
	cmd := d.options.Namespace.Command("syncthing", args...)
	// No proxy settings, no other home: a folder without a path would share the whole home directory.
	cmd.Env = []string{"HOME=" + d.UserHome, "PATH=" + os.Getenv("PATH"), "STNOUPGRADE=1", "STNODEFAULTFOLDER=1",
		"TZ=UTC"}
	log, err := os.OpenFile(d.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		d.t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = log, log
	return cmd
}

func (d *Daemon) logFile() string { return filepath.Join(d.Home, "daemon.log") }

// Log is what the daemon printed so far.
func (d *Daemon) Log() string {
	text, _ := os.ReadFile(d.logFile())
	return string(text)
}

func (d *Daemon) logTail() string {
	lines := strings.Split(strings.TrimSpace(d.Log()), "\n")
	return strings.Join(lines[max(0, len(lines)-15):], "\n")
}

func binary(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("syncthing"); err != nil {
		t.Fatal("this test needs a real Syncthing: apt-get install syncthing")
	}
}

// tlsConfig takes any certificate: the test started the daemon itself.
func tlsConfig() *tls.Config { return &tls.Config{InsecureSkipVerify: true} }
