package httpapi

import "context"

// Audit keeps who did what.
type Audit interface {
	// Record adds an entry about something that is no write of the store. Who is asked of the context.
	Record(ctx context.Context, what, subject, detail string) error
}

// record leaves in the audit what somebody does, where there is one.
func (s *server) record(r *request, what, subject, detail string) error {
	if s.Audit == nil {
		return nil
	}
	return s.Audit.Record(r.Context(), what, subject, detail)
}
