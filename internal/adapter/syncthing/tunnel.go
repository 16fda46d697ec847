package syncthing

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"os"
	"time"

	"muster/internal/fleet"
)

// openTunnel returns the tunnel of the device's agent. The device's own key has proven the agent, so no GUI
// certificate is needed. As with direct connections, the first status shows whether the daemon is the right one.
func (c *Client) openTunnel() (*conn, error) {
	tunnel, err := c.agent(c.target.Device)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return &conn{tunnel: tunnel, identified: c.through == tunnel}, nil
}

// throughTunnel sends a request through the tunnel without the API key, which the agent adds. It reads the whole
// answer within the limits.
func (cn *conn) throughTunnel(ctx context.Context, k *call, l *Limits, big chan struct{}) (reply, error) {
	asking, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	alarm := alarmClock{time.AfterFunc(l.answerTo(k), func() { cancel(os.ErrDeadlineExceeded) })}
	defer alarm.timer.Stop()
	answer, err := cn.send(asking, k, l, patience{alarm, big})
	if errors.Is(err, fleet.ErrReconnected) {
		return reply{}, err
	}
	if err == nil {
		cn.lastUsed = time.Now()
		return answer, nil
	}
	cn.broken = true
	if cause := context.Cause(asking); errors.Is(cause, os.ErrDeadlineExceeded) {
		err = cause
	}
	return reply{}, cn.trouble(ctx, k, err)
}

func (cn *conn) send(ctx context.Context, k *call, l *Limits, p patience) (reply, error) {
	request, err := http.NewRequestWithContext(ctx, k.method, "https://daemon"+k.path, bytes.NewReader(k.body))
	if err != nil {
		return reply{}, err
	}
	request.Header = http.Header{"Accept": {"application/json"}, "Accept-Encoding": {"identity"}, "User-Agent": {"muster"}}
	if k.body == nil {
		request.Body = nil
	} else {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := cn.tunnel.RoundTrip(request)
	if err != nil {
		return reply{}, err
	}
	defer response.Body.Close()
	if err := cn.checkRun(k, response.Header.Get(fleet.DaemonRunHeader)); err != nil {
		return reply{}, err
	}
	return readReply(ctx, response, k, l, p)
}

// checkRun ends a poll that reached a daemon which may have been started anew: the numbers of its events are others.
// The daemon sends the header of its answer at once. An answer of the agent itself has no run, and tells nothing.
func (cn *conn) checkRun(k *call, run string) error {
	if run == "" {
		return nil
	}
	isPoll := k.stripper != nil
	if isPoll && cn.run != "" && run != cn.run {
		return reconnected(k)
	}
	if isPoll || k.path == statusPath {
		cn.run = run
	}
	return nil
}

// alarmClock ends a request at a set time.
type alarmClock struct{ timer *time.Timer }

func (a alarmClock) SetReadDeadline(t time.Time) error {
	a.timer.Reset(time.Until(t))
	return nil
}
