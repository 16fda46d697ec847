package agent

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"muster/internal/adapter/tunnel"
)

const returnEvery = 250 * time.Millisecond

// awaitDaemon handles tunnel.DaemonPath: it answers as soon as the daemon answers.
func (a *Agent) awaitDaemon(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), tunnel.DaemonWait)
	defer cancel()
	ticker := time.NewTicker(returnEvery)
	defer ticker.Stop()
	for !a.daemon.answers(ctx) {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			w.WriteHeader(http.StatusGatewayTimeout)
			return
		}
	}
	w.WriteHeader(http.StatusNoContent)
}

// answers reports whether the daemon's API answers now. Any answer counts.
func (d *daemon) answers(ctx context.Context) bool {
	way, err := d.reach()
	if err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, daemonDial)
	defer cancel()
	ask := &http.Request{
		Method: http.MethodGet,
		URL:    &url.URL{Scheme: "https", Host: "daemon", Path: "/rest/noauth/health"},
		Host:   way.home.hostHeader(),
		Header: http.Header{"User-Agent": {"muster-agent"}},
	}
	answer, err := way.reads.RoundTrip(ask.WithContext(ctx))
	if err != nil {
		return false
	}
	_ = answer.Body.Close()
	return answer.StatusCode < http.StatusInternalServerError
}
