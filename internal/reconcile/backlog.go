package reconcile

// Backlog is how many devices wait to be looked at.
func (e *Engine) Backlog() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.queue)
}
