package agent

import (
	"log/slog"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"muster/internal/logkey"
)

// lines is the log of one kind of what the manager does, which it cannot fill: burst lines at once, and one more each
// second. What is left out is counted. Writes have lines of their own, so that nothing else keeps them out of the log.
type lines struct {
	log   *slog.Logger
	limit *rate.Limiter

	mu      sync.Mutex
	leftOut int // guarded by mu
}

func newLines(log *slog.Logger, burst int) *lines {
	return &lines{log: log, limit: rate.NewLimiter(rate.Every(time.Second), burst)}
}

// room tells whether another line may be logged; one that may not is counted.
func (l *lines) room() bool {
	if !l.limit.Allow() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.leftOut++
		return false
	}
	l.tellLeftOut()
	return true
}

// tellLeftOut logs how many lines were left out since the last time.
func (l *lines) tellLeftOut() {
	l.mu.Lock()
	count := l.leftOut
	l.leftOut = 0
	l.mu.Unlock()
	if count > 0 {
		l.log.Warn("the manager did so much that lines of this log were left out", logkey.Count, count)
	}
}
