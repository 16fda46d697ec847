package sandbox

import (
	"fmt"
	"time"

	"muster/internal/fleet"
)

const (
	costly      = 200 * time.Millisecond // a failure that took longer counts as a strike
	maxStrikes  = 3
	strikeCount = time.Minute      // how long a strike counts
	strikePause = 30 * time.Second // how long a text that has struck out is not run
	maxStruck   = 1000             // texts remembered
)

// strike counts how often a text has failed at great cost. The results of failures are kept like others. But a
// program that reads its device fails anew for each of a thousand devices, and a program that the clock stops fails
// anew each time.
type strike struct {
	count int
	last  time.Time
	err   *fleet.Error
}

func (p *Pool) strike(d digest, err *fleet.Error) {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.strikes[d]
	if s == nil || now.Sub(s.last) > strikeCount {
		if len(p.strikes) >= maxStruck {
			clear(p.strikes)
		}
		s = &strike{}
		p.strikes[d] = s
	}
	s.count++
	s.last, s.err = now, err
}

// struckOut gives the error for a text that is not run for now, nil for other texts.
func (p *Pool) struckOut(d digest) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.strikes[d]
	if s == nil || s.count < maxStrikes || time.Since(s.last) > strikePause {
		return nil
	}
	struck := *s.err
	struck.Hint = fmt.Sprintf("%s It failed so %d times, and is not run again for %v.", struck.Hint, s.count, strikePause)
	return &struck
}
