package tunnel

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

const (
	// minimum time between two notices that a daemon answers again, so that a faulty agent cannot flood the manager
	returnsEvery  = 20 * time.Second
	returnsAtOnce = 3
)

// daemonReturn asks an agent to report when its daemon answers again. It sends nothing while the daemon answers.
type daemonReturn struct {
	away    chan struct{} // holds a token after the agent has answered that its daemon does not answer
	limit   *rate.Limiter
	awaited atomic.Bool // a request to DaemonPath is under way
}

func newDaemonReturn() daemonReturn {
	return daemonReturn{away: make(chan struct{}, 1), limit: rate.NewLimiter(rate.Every(returnsEvery), returnsAtOnce)}
}

// note receives the error code of an agent's own answer.
func (r *daemonReturn) note(code string) {
	if code != ErrorUnreachable || r.awaited.Load() {
		return
	}
	select {
	case r.away <- struct{}{}:
	default:
	}
}

// awaitReturn waits in the background until the daemon behind a tunnel answers again, and then calls Options.Changed.
func (h *Hub) awaitReturn(ctx context.Context, t *Tunnel, waiting *sync.WaitGroup) {
	r := &t.daemonReturn
	if t.hello.List < 2 || r.awaited.Load() || !r.limit.Allow() {
		return
	}
	r.awaited.Store(true)
	waiting.Go(func() {
		_, err := t.exchange(ctx, http.MethodGet, DaemonPath, nil, limits{MaxMessageBytes, DaemonWait + tellTimeout})
		r.awaited.Store(false)
		if err == nil {
			h.reporter.changed(t.device)
		}
	})
}
