package syncthing

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
)

// A resumed session is as strong as the handshake that began it: the secret of that one goes into its keys. So a
// connection that resumes a session does without the post-quantum part of the key exchange, which takes a quarter of
// the time of a handshake, and a connection that does not resume one never does without. Of the classic exchanges P-256
// takes three quarters of the time of X25519.

// errNotResumed says that the daemon did not go on with the session: it was started anew since, or wants another key
// exchange. The next handshake begins a session.
var errNotResumed = errors.New("the TLS session was not resumed")

// resume makes the handshake, of a session that goes on where there is one.
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
