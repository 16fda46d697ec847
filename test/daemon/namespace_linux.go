package daemon

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Namespace is a network namespace of its own: loopback, and one route to this machine.
type Namespace struct {
	Name string
	Host string // IP address of this machine, as seen from inside
	Own  string // IP address inside
}

// NewNamespace makes a namespace until the test ends. It gives the reason where this process may not.
func NewNamespace(t testing.TB) (*Namespace, error) {
	t.Helper()
	pid := os.Getpid()
	n := &Namespace{Name: fmt.Sprintf("muster%d", pid), Host: fmt.Sprintf("10.213.%d.%d", pid>>6&255, pid&63<<2|1),
		Own: fmt.Sprintf("10.213.%d.%d", pid>>6&255, pid&63<<2|2)}
	outside, inside := fmt.Sprintf("mu%da", pid), fmt.Sprintf("mu%db", pid)
	if err := ip("netns", "add", n.Name); err != nil {
		return nil, err
	}
	t.Cleanup(func() { // the link goes with it
		if err := ip("netns", "delete", n.Name); err != nil {
			t.Error(err)
		}
	})
	for _, args := range [][]string{
		{"link", "add", outside, "type", "veth", "peer", "name", inside, "netns", n.Name},
		{"addr", "add", n.Host + "/30", "dev", outside}, {"link", "set", outside, "up"},
		{"-n", n.Name, "addr", "add", n.Own + "/30", "dev", inside}, {"-n", n.Name, "link", "set", inside, "up"},
		{"-n", n.Name, "link", "set", "lo", "up"},
	} {
		if err := ip(args...); err != nil {
			return nil, err
		}
	}
	return n, nil
}

func ip(args ...string) error {
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("ip %v: %w: %s", args, err, out)
	}
	return nil
}

// Command is a command inside; nil is this machine's own namespace.
func (n *Namespace) Command(name string, args ...string) *exec.Cmd {
	if n == nil {
		return exec.Command(name, args...)
	}
	return exec.Command("ip", append([]string{"netns", "exec", n.Name, name}, args...)...)
}

// client talks to daemons inside.
func (n *Namespace) client() *http.Client {
	inside := *client
	inside.Transport = &http.Transport{DisableKeepAlives: true, TLSClientConfig: tlsConfig(), DialContext: n.dial}
	return &inside
}

// dial opens a socket inside. A socket stays in the namespace in which it was made.
func (n *Namespace) dial(ctx context.Context, network, address string) (net.Conn, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	own, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		return nil, err
	}
	defer own.Close()
	other, err := os.Open("/run/netns/" + n.Name)
	if err != nil {
		return nil, err
	}
	defer other.Close()
	if err := unix.Setns(int(other.Fd()), unix.CLONE_NEWNET); err != nil {
		return nil, err
	}
	defer func() {
		if err := unix.Setns(int(own.Fd()), unix.CLONE_NEWNET); err != nil {
			panic(err) // the thread must not go on in the wrong namespace
		}
	}()
	dialer := net.Dialer{Timeout: 10 * time.Second}
	return dialer.DialContext(ctx, network, address)
}
