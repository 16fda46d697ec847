package event

// Cursor is the ID after which the subscription goes on reading: what a reader that comes back asks for, also when no
// event passed its filter for long. It is never beyond an event that Next has not given yet.
func (s *Subscription) Cursor() int64 {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	return s.cursor - 1
}
