package agent

import (
	"log/slog"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"muster/internal/logkey"
)

// logLimit limits the log lines about one kind of act of the manager, so that the manager cannot fill the log: a burst
// of lines, and then one line per second. It counts the lines that it drops. Writes have a limit of their own, so no
// other kind of request can push them out of the log.
type logLimit struct {
	log   *slog.Logger
	limit *rate.Limiter

	mu      sync.Mutex
	leftOut int // guarded by mu
}

func newLogLimit(log *slog.Logger, burst int) *logLimit {
	return &logLimit{log: log, limit: rate.NewLimiter(rate.Every(time.Second), burst)}
}

// room reports whether a further line may be logged. It counts a line that may not.
func (l *logLimit) room() bool {
	if !l.limit.Allow() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.leftOut++
		return false
	}
	l.tellLeftOut()
	return true
}

// tellLeftOut logs how many lines were dropped since the last call.
func (l *logLimit) tellLeftOut() {
	l.mu.Lock()
	count := l.leftOut
	l.leftOut = 0
	l.mu.Unlock()
	if count > 0 {
		l.log.Warn("the manager did so much that lines of this log were left out", logkey.Count, count)
	}
}

// shortened cuts a text from the manager to a length for logs and errors.
func shortened(text string) string {
	const most = 200
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
