package agent

import (
	"context"
	"net"
	"sync"
)

// runs numbers the runs of the daemon, as far as connections tell. While one connection stays open, the run is the
// same. The manager learns the number with each answer (tunnel.RunHeader), because a poll that goes over a new
// connection may reach a daemon that was started anew, whose events have other numbers.
type runs struct {
	mu     sync.Mutex // guards the fields below
	number int64
	open   int // connections
}

func (r *runs) current() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.number
}

// begin counts a new connection.
func (r *runs) begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open == 0 {
		r.number++
	}
	r.open++
}

// end counts a connection that ended. byDaemon says that the agent did not end it.
func (r *runs) end(byDaemon bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open--
	if byDaemon {
		r.number++
	}
}

// dial opens a connection that is counted.
func (r *runs) dial(connect func(context.Context, string, string) (net.Conn, error),
) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := connect(ctx, network, address)
		if err != nil {
			return nil, err
		}
		r.begin()
		return &countedConn{Conn: conn, runs: r}, nil
	}
}

// countedConn is a connection that tells its runs how it ended.
type countedConn struct {
	net.Conn
	runs *runs
	end  sync.Once
}

func (c *countedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err != nil {
		c.end.Do(func() { c.runs.end(true) })
	}
	return n, err
}

func (c *countedConn) Close() error {
	c.end.Do(func() { c.runs.end(false) })
	return c.Conn.Close()
}
