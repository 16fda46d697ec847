package sandbox

import (
	"context"
	"fmt"
	"time"

	"muster/internal/fleet"
)

// flight is an evaluation under way that others wait for.
type flight struct {
	done    chan struct{}
	outcome outcome
	err     error
}

// once answers from the cache, waits for the same evaluation of another caller, or does it. Who waits for one that was
// given up tries again.
func (p *Pool) once(ctx context.Context, key digest, evaluate func() (outcome, error)) (outcome, error) {
	for {
		if o, ok := p.results.get(key); ok {
			return o, nil
		}
		p.mu.Lock()
		f := p.flights[key]
		if f == nil {
			f = &flight{done: make(chan struct{})}
			p.flights[key] = f
			p.mu.Unlock()
			p.fly(key, f, evaluate)
			return f.outcome, f.err
		}
		p.mu.Unlock()
		select {
		case <-f.done:
			if f.err == nil {
				return f.outcome, nil
			}
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			return outcome{}, ctx.Err()
		}
		if fleet.CodeOf(f.err) == fleet.CodeUnavailable {
			return outcome{}, f.err
		}
	}
}

func (p *Pool) fly(key digest, f *flight, evaluate func() (outcome, error)) {
	defer func() {
		p.mu.Lock()
		delete(p.flights, key)
		p.mu.Unlock()
		close(f.done)
	}()
	f.outcome, f.err = evaluate()
}

const (
	costly      = 200 * time.Millisecond // a failure that took longer counts as a strike
	maxStrikes  = 3
	strikeCount = time.Minute      // how long a strike counts
	strikePause = 30 * time.Second // how long a text that has struck out is not run
	maxStruck   = 1000             // texts remembered
)

// strike is how often a text has failed at great cost. The results of failures are kept like others, but a program
// that looks at its device fails anew for each of a thousand devices, and one that is stopped by the clock each time.
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

// struckOut is the error of a text that is not run for now.
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
