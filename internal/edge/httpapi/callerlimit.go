package httpapi

import "sync"

// callerLimit limits how much of something each caller has at the same time.
type callerLimit struct {
	most  int
	mu    sync.Mutex
	taken map[string]int // guarded by mu
}

// enter takes a place for a caller, or returns false when all are taken. The caller must call leave afterwards.
func (p *callerLimit) enter(who string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken[who] >= p.most {
		return false
	}
	if p.taken == nil {
		p.taken = map[string]int{}
	}
	p.taken[who]++
	return true
}

func (p *callerLimit) leave(who string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken[who]--; p.taken[who] == 0 {
		delete(p.taken, who)
	}
}
