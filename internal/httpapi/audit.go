package httpapi

import "context"

// Audit keeps who did what.
type Audit interface {
	// Record adds an entry about something that is no write of the store. Who is asked of the context.
	Record(ctx context.Context, what, subject, detail string) error
}
