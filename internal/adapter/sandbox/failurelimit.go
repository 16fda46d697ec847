package sandbox

import (
	"fmt"
	"strings"
	"time"

	"muster/internal/fleet"
)

const (
	costly        = 200 * time.Millisecond // a failure that took longer is counted
	maxFailures   = 3
	failureWindow = time.Minute      // how long a failure counts
	failurePause  = 30 * time.Second // how long a text with too many failures is not run
	maxFailing    = 1000             // texts remembered
)

// costlyFailures counts how often a text has failed at great cost. The results of failures are kept like others. But a
// program that reads its device fails anew for each of a thousand devices, and a program that the clock stops fails
// anew each time.
type costlyFailures struct {
	count int
	last  time.Time
	err   *fleet.Error
}

func (p *Pool) countFailure(d digest, err *fleet.Error) {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.failures[d]
	if s == nil || now.Sub(s.last) > failureWindow {
		if len(p.failures) >= maxFailing {
			clear(p.failures)
		}
		s = &costlyFailures{}
		p.failures[d] = s
	}
	s.count++
	s.last, s.err = now, err
}

// blockedFor returns the error for a text that is not run for now, nil for other texts.
func (p *Pool) blockedFor(d digest) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.failures[d]
	if s == nil || s.count < maxFailures || time.Since(s.last) > failurePause {
		return nil
	}
	blocked := *s.err
	blocked.Hint = strings.TrimSpace(fmt.Sprintf("%s It failed so %d times, and is not run again for %v.", blocked.Hint,
		s.count, failurePause))
	return &blocked
}
