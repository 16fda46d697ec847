package agent

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

const (
	daemonDial     = 5 * time.Second
	daemonIdle     = 10 * time.Second // a daemon itself closes an idle connection after 15 s
	daemonHeader   = 60 * time.Second // limit from the request to the header of the answer
	daemonConns    = 8                // connections for reading that are open at the same time
	maxHeaderBytes = 64 << 10
)

// daemon is the Syncthing daemon of this machine. The files in its home directory say where its API is.
type daemon struct {
	dir string
	log *slog.Logger

	mu    sync.Mutex // guards the fields below
	files [3]fs.FileInfo
	way   *way

	runs runs
}

// way is how the agent reaches the daemon. It is valid until the daemon's files change.
type way struct {
	home          *Home
	reads, writes *http.Transport
}

func newDaemon(dir string, log *slog.Logger) (*daemon, error) {
	d := &daemon{dir: dir, log: log}
	_, err := d.reach()
	return d, err
}

// reach returns the current way to the daemon. It reads the files of the home directory again when one of them was
// replaced, so a new API key or address is used from the next request on. When the files cannot be read, reach returns
// the last way.
func (d *daemon) reach() (*way, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	files := d.stat()
	if d.way != nil && sameFiles(files, d.files) {
		return d.way, nil
	}
	home, err := ReadHome(d.dir)
	if err != nil {
		if d.way == nil {
			return nil, err
		}
		d.log.Warn("the daemon's files cannot be read: they count as before", logkey.Err(err))
		d.files = files
		return d.way, nil
	}
	if before := d.way; before != nil {
		before.reads.CloseIdleConnections()
		if home.address() != before.home.address() {
			d.log.Info("the daemon's API moved", logkey.Address, home.address())
		}
	}
	d.files, d.way = files, newWay(home, &d.runs)
	return d.way, nil
}

func (d *daemon) stat() (files [3]fs.FileInfo) {
	for i, name := range []string{configFile, apiCertFile, certFile} {
		files[i], _ = os.Stat(filepath.Join(d.dir, name)) // nil when the file is missing
	}
	return files
}

func sameFiles(a, b [3]fs.FileInfo) bool {
	for i := range a {
		if (a[i] == nil) != (b[i] == nil) {
			return false
		}
		if a[i] != nil && (!os.SameFile(a[i], b[i]) || !a[i].ModTime().Equal(b[i].ModTime()) || a[i].Size() != b[i].Size()) {
			return false
		}
	}
	return true
}

// address returns the address to dial: a loopback address when the API listens on all addresses.
func (h *Home) address() string {
	if h.Socket != "" {
		return h.Socket
	}
	host := h.Host
	switch ip, err := netip.ParseAddr(host); {
	case host == "" || err == nil && ip == netip.IPv4Unspecified():
		host = "127.0.0.1"
	case err == nil && ip.IsUnspecified():
		host = "::1"
	}
	return net.JoinHostPort(host, strconv.Itoa(h.Port))
}

// hostHeader returns a Host header that the daemon accepts. On loopback it checks the header.
func (h *Home) hostHeader() string {
	if h.Socket != "" {
		return "localhost"
	}
	return h.address()
}

// newWay makes the HTTP clients for a daemon. Reads share a few connections. Each write uses a new connection: Go
// repeats a request when the server closed an idle connection, and a write must never be sent twice.
func newWay(home *Home, counted *runs) *way {
	w := &way{home: home}
	w.reads = &http.Transport{
		DialTLSContext: w.connect, DisableCompression: true, MaxConnsPerHost: daemonConns, MaxIdleConnsPerHost: 2,
		IdleConnTimeout: daemonIdle, MaxResponseHeaderBytes: maxHeaderBytes,
	}
	w.writes = w.reads.Clone()
	w.writes.DisableKeepAlives = true
	w.reads.DialTLSContext = counted.dial(w.connect)
	return w
}

// connect dials the daemon, whatever host a request names. The daemon's API accepts TLS with any settings. connect
// compares the certificate with the one in the home directory, so no other program on this machine gets the API key.
// It tries TLS twice, because a daemon (1.19.2) that reads nothing for a second treats the connection as plain HTTP.
func (w *way) connect(ctx context.Context, _, _ string) (net.Conn, error) {
	if w.home.Pin == "" {
		return nil, errNotStarted
	}
	conn, err := w.connectOnce(ctx)
	if err != nil && !errors.Is(err, errOtherDaemon) && !errors.Is(err, errNotHere) && ctx.Err() == nil {
		conn, err = w.connectOnce(ctx)
	}
	return conn, err
}

var (
	errNotStarted  = errors.New("the daemon has no https-cert.pem yet: start it once")
	errOtherDaemon = errors.New("what answers at the daemon's address does not have the certificate of its home")
	errNotHere     = errors.New("the address in config.xml is not one of this machine")
)

func (w *way) connectOnce(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, daemonDial)
	defer cancel()
	dialer, network := net.Dialer{Control: onlyThisMachine}, "tcp"
	if w.home.Socket != "" {
		network = "unix"
	}
	plain, err := dialer.DialContext(ctx, network, w.home.address())
	if err != nil {
		return nil, err
	}
	secured := tls.Client(plain, &tls.Config{
		// The certificate is self-signed; VerifyConnection compares it with the one in the home directory.
		InsecureSkipVerify: true,
		VerifyConnection: func(state tls.ConnectionState) error {
			if fleet.CertificateOf(state.PeerCertificates[0]).Fingerprint != w.home.Pin {
				return errOtherDaemon
			}
			return nil
		},
		MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
	})
	if err := secured.HandshakeContext(ctx); err != nil {
		_ = plain.Close()
		return nil, err
	}
	return secured, nil
}

// onlyThisMachine refuses addresses of other machines, because the manager can write any address into the daemon's
// configuration.
func onlyThisMachine(network, address string, _ syscall.RawConn) error {
	if network == "unix" {
		return nil
	}
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	ip := at.Addr().Unmap().WithZone("")
	if ip.IsLoopback() {
		return nil
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		return fmt.Errorf("list the addresses of this machine: %w", err)
	}
	for _, one := range own {
		if prefix, err := netip.ParsePrefix(one.String()); err == nil && prefix.Addr().Unmap().WithZone("") == ip {
			return nil
		}
	}
	return errNotHere
}

// certificate returns the device certificate from the daemon's files. It proves the device to the manager.
func (d *daemon) certificate() (*tls.Certificate, error) {
	pair, err := tls.LoadX509KeyPair(filepath.Join(d.dir, certFile), filepath.Join(d.dir, keyFile))
	if err != nil {
		return nil, notAHome(d.dir, err)
	}
	if pair.Leaf == nil {
		pair.Leaf, err = x509.ParseCertificate(pair.Certificate[0])
	}
	return &pair, err
}
