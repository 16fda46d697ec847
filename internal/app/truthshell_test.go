package app

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
)

// RunCommand runs `muster` with arguments and gives its exit code. commands_test.go sets it.
var RunCommand func(ctx context.Context, args []string, out io.Writer) (code int)

// inMemory has the servers that are reached without sockets, by address: sockets do not work on a simulated clock.
var inMemory struct {
	servers sync.Map // HOST:PORT: *memoryListener
	ports   atomic.Int64
}

// Commands dial as http.DefaultTransport does.
func init() {
	transport := http.DefaultTransport.(*http.Transport)
	dial := transport.DialContext
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		if l, ours := inMemory.servers.Load(address); ours {
			return l.(*memoryListener).dial(ctx)
		}
		return dial(ctx, network, address)
	}
}

// memoryListener is a listener without a socket.
type memoryListener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (l *memoryListener) dial(ctx context.Context) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case l.conns <- server:
		return client, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *memoryListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *memoryListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (*memoryListener) Addr() net.Addr { return &net.UnixAddr{Name: "memory", Net: "unix"} }

// typed is what a command prints about this server, and its exit code.
func (w *watcher) typed(args ...string) (printed string, code int) {
	l := &memoryListener{conns: make(chan net.Conn), closed: make(chan struct{})}
	address := fmt.Sprintf("localhost:%d", inMemory.ports.Add(1))
	inMemory.servers.Store(address, l)
	defer inMemory.servers.Delete(address)
	server := &http.Server{Handler: w.handler} //nolint:gosec // nobody else reaches it
	go func() { _ = server.Serve(l) }()
	defer server.Close()
	var out bytes.Buffer
	code = RunCommand(context.Background(), append(args, "--server", "http://"+address, "--token", "t"), &out)
	return out.String(), code
}
