package reconcile

// Backlog is how many devices wait in the queue.
func (e *Engine) Backlog() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.queue)
}
