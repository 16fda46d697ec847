package event

// Cursor is the ID after which the subscription goes on reading: what a reader that comes back asks for, also when no
// event passed its filter for long. It is never beyond an event that Next has not given yet, nor beyond a gap that was
// not told of: then it is 0, which is before all.
func (s *Subscription) Cursor() int64 {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	if s.lost {
		return 0
	}
	return max(s.cursor, s.logged) - 1
}
