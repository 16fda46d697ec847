package syncthing

import (
	"context"
	"net/http"
	"strings"

	"muster/internal/fleet"
)

// exchange sends one call over a connection that may be given the key, and judges the answer. While the daemon behind
// the connection is not identified, it first reads the status, so that nothing else is read or written before the
// device ID is right.
func (c *Client) exchange(ctx context.Context, cn *conn, k *call) ([]byte, error) {
	if !validPath(k.path) {
		return nil, &fleet.Error{Code: fleet.CodeInternal, During: k.during, Message: "the path of a request is not escaped"}
	}
	if !cn.identified {
		defer func() {
			if !cn.identified {
				c.release(cn)
			}
		}()
	}
	if !cn.identified && k.path != statusPath {
		if err := c.askWhoAnswers(ctx, cn); err != nil {
			return nil, err
		}
	}
	answer, err := cn.roundTrip(ctx, k, c.target.APIKey, c.limits, c.big)
	if err != nil {
		return nil, err
	}
	if err := c.checkHeader(answer); err != nil {
		cn.broken = true
		return nil, err
	}
	if err := c.judge(k, answer); err != nil {
		return nil, err
	}
	if k.path == statusPath {
		if err := c.identify(cn, answer.body); err != nil {
			cn.broken = true
			return nil, err
		}
	}
	return answer.body, nil
}

// askWhoAnswers reads the status, which identifies the daemon behind a connection.
func (c *Client) askWhoAnswers(ctx context.Context, cn *conn) error {
	status := &call{method: http.MethodGet, path: statusPath, during: "ask who answers", maxBytes: c.limits.SmallBytes}
	if _, err := c.exchange(ctx, cn, status); err != nil {
		return err
	}
	if cn.broken {
		return unbelievable("it closes the connection after every answer")
	}
	return nil
}

// identify compares the ID in a status with the device's. If it is right, the certificate belongs to the device, and
// on first use it becomes the pin. An existing pin is never replaced.
func (c *Client) identify(cn *conn, status []byte) error {
	s, err := parseStatus(status, c.limits)
	if err != nil {
		return err
	}
	if s.MyID != c.target.Device {
		c.answeredBy(s.MyID)
		return wrongDevice(c.target.Device, s.MyID)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if cn.tunnel != nil {
		c.through = cn.tunnel
	}
	if found := cn.shown.Fingerprint; found != "" {
		if c.pin != "" && c.pin != found {
			return wrongPin(c.target, c.pin, cn.shown)
		}
		c.pin, c.verified = found, found
	}
	cn.identified = true
	return nil
}

// validPath refuses characters that would end the request line.
func validPath(path string) bool {
	return path == metricsPath || strings.HasPrefix(path, "/rest/") && !strings.ContainsFunc(path,
		func(r rune) bool { return r <= ' ' || r > '~' })
}
