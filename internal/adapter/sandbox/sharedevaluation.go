package sandbox

import (
	"context"

	"muster/internal/fleet"
)

// flight is an evaluation under way, for which other callers may wait.
type flight struct {
	done    chan struct{}
	outcome outcome
	err     error
}

// once returns a result from the cache, waits for the same evaluation of another caller, or does the evaluation. When
// the other caller gave up, it tries again.
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
