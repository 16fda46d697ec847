package httpapi

import "sync"

// places bounds how much of something each caller has at a time.
type places struct {
	most  int
	mu    sync.Mutex
	taken map[string]int // guarded by mu
}

// enter takes a place, if there is one left. The caller gives it back with leave.
func (p *places) enter(who string) bool {
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

func (p *places) leave(who string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken[who]--; p.taken[who] == 0 {
		delete(p.taken, who)
	}
}
