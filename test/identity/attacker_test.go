// Package identity_test simulates attackers who want a daemon's API key: they relay the daemon's real sync port and
// answer on the API's port with a certificate of their own.
package identity_test

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/binary"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"muster/test/daemon"
)

// attacker has a host of their own: another loopback address than the daemon's. Their API port shows their certificate
// and hands every request on to the genuine daemon; their sync port is a relay to the genuine one.
type attacker struct {
	Host string
	Port int    // of the API: the daemon's
	Sync string // "tcp://host:port"
	Pin  string // of their certificate

	mu   sync.Mutex // guards keys
	keys []string   // API keys that arrived
}

func attack(t *testing.T, d *daemon.Daemon) *attacker {
	t.Helper()
	a := &attacker{Host: otherHost(), Port: d.Port}
	api := httptest.NewUnstartedServer(a.handler(d))
	_ = api.Listener.Close()
	api.Listener = listen(t, net.JoinHostPort(a.Host, fmt.Sprint(a.Port)))
	api.Config.ErrorLog = log.New(io.Discard, "", 0)
	api.StartTLS()
	t.Cleanup(func() {
		api.CloseClientConnections()
		api.Close()
	})
	a.Pin = fmt.Sprintf("sha256:%x", sha256.Sum256(api.Certificate().Raw))
	relay := listen(t, net.JoinHostPort(a.Host, "22000"))
	a.Sync = "tcp://" + relay.Addr().String()
	forward(t, relay, func() (context.Context, string) { return t.Context(), syncOf(d) })
	return a
}

// handler takes the API key, and lets the genuine daemon answer.
func (a *attacker) handler(d *daemon.Daemon) http.Handler {
	scheme := "http"
	if d.TLS {
		scheme = "https"
	}
	genuine := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: scheme, Host: d.HostPort()})
	genuine.Transport = &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	genuine.ErrorLog = log.New(io.Discard, "", 0)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		for _, values := range r.Header {
			if strings.Contains(strings.Join(values, " "), d.APIKey) {
				a.keys = append(a.keys, r.Method+" "+r.URL.Path)
			}
		}
		a.mu.Unlock()
		genuine.ServeHTTP(w, r)
	})
}

// gotNoKey fails the test when an API key arrived.
func (a *attacker) gotNoKey(t *testing.T) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.keys) > 0 {
		t.Errorf("the attacker got the API key %d times, first with %s", len(a.keys), a.keys[0])
	}
}

// otherHost is a loopback address that nothing else uses.
func otherHost() string {
	return fmt.Sprintf("127.%d.%d.%d", 64+rand.IntN(128), rand.IntN(256), 1+rand.IntN(254))
}

func listen(t *testing.T, address string) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func syncOf(d *daemon.Daemon) string { return fmt.Sprintf("127.0.0.1:%d", d.SyncPort) }

// forward hands every connection on to where target says at that moment, until the context that it gives ends.
func forward(t *testing.T, l net.Listener, target func() (context.Context, string)) {
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				ctx, to := target()
				join(ctx, near, to)
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		serving.Wait()
	})
}

// join copies both ways until one side or ctx ends.
func join(ctx context.Context, near net.Conn, target string) {
	defer near.Close()
	far, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	defer far.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		_ = near.Close()
		_ = far.Close()
	})()
	go func() {
		defer cancel()
		_, _ = io.Copy(far, near)
	}()
	_, _ = io.Copy(near, far)
}

// certificate is one of a daemon's own, from its home.
func certificate(t *testing.T, d *daemon.Daemon, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(d.Home, file))
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(text)
	if block == nil {
		t.Fatalf("%s is not PEM", file)
	}
	return block.Bytes
}

// announce says on the local network, again and again until the test ends, that a device is at an address. Anybody
// can.
func announce(t *testing.T, d *daemon.Daemon, address string) {
	t.Helper()
	to, err := net.Dial("udp4", "127.255.255.255:21027")
	if err != nil {
		t.Fatal(err)
	}
	raw := sha256.Sum256(certificate(t, d, "cert.pem"))
	packet := binary.BigEndian.AppendUint32(nil, 0x2EA7D90B)
	packet = append(append(packet, 0x0a, 32), raw[:]...)
	packet = append(append(packet, 0x12, byte(len(address))), address...)
	ctx, cancel := context.WithCancel(context.Background())
	var sending sync.WaitGroup
	sending.Go(func() {
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			_, _ = to.Write(packet)
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	})
	t.Cleanup(func() {
		cancel()
		sending.Wait()
		_ = to.Close()
	})
}
