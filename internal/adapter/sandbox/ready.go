package sandbox

import "context"

// Ready reports whether templates can be evaluated: a worker is idle or busy, or else one starts now.
func (p *Pool) Ready(ctx context.Context) error {
	p.mu.Lock()
	alive := false
	for w := range p.all {
		alive = alive || !w.isGone()
	}
	p.mu.Unlock()
	if alive {
		return nil
	}
	w, err := p.newWorker(ctx)
	if err != nil {
		return err
	}
	p.keep(w)
	return nil
}
