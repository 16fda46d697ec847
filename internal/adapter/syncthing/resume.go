package syncthing

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
)

// A resumed TLS session is as secure as the handshake that started it, because its keys derive from that handshake's
// secret. So a connection that resumes a session omits the post-quantum part of the key exchange, which takes a
// quarter of a handshake's time. A connection that does not resume a session never omits it. Of the classic key
// exchanges, P-256 takes three quarters of the time of X25519.

// errNotResumed says that the daemon did not resume the session: it has restarted, or requires another key exchange.
// The next handshake starts a new session.
var errNotResumed = errors.New("the TLS session was not resumed")

// resume makes the TLS handshake, and resumes a session when there is one.
func (c *Client) resume(ctx context.Context, tcp net.Conn, config *tls.Config) (*tls.Conn, error) {
	if _, kept := c.sessions.Get(config.ServerName); !kept || c.alwaysFull.Load() {
		return c.handshake(ctx, tcp, config)
	}
	config.CurvePreferences = []tls.CurveID{tls.CurveP256}
	stream, err := c.handshake(ctx, tcp, config)
	var refused *net.OpError
	switch {
	case errors.As(err, &refused) && refused.Op == "remote error":
		c.alwaysFull.Store(true)
	case err != nil || stream.ConnectionState().DidResume:
		return stream, err
	}
	c.sessions.Put(config.ServerName, nil)
	return nil, errors.Join(errNotResumed, err)
}
