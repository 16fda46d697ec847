package mirror

// Backlog is how many observations wait to be kept.
func (m *Mirror) Backlog() int {
	m.outbox.mu.Lock()
	defer m.outbox.mu.Unlock()
	n := 0
	for _, waiting := range m.outbox.waiting {
		n += len(waiting)
	}
	return n
}
