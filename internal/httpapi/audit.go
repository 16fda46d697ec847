package httpapi

import (
	"context"
	"net/http"
	"reflect"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"muster/api"
	"muster/internal/auth"
	"muster/internal/fleet"
)

// auditPage is how many entries come where no limit is asked for: the audit only grows.
const auditPage = 1000

// Audit keeps who did what.
type Audit interface {
	// Record adds an entry about something that is no write of the store. Who is asked of the context.
	Record(ctx context.Context, what, subject, detail string) error
	// Audit is the newest entries first, at most limit, older than the entry with the ID before; 0: from the newest.
	Audit(ctx context.Context, before int64, limit int) ([]fleet.AuditEntry, error)
}

func (s *server) auditRoutes() []route {
	return []route{
		{method: http.MethodGet, path: Prefix + "/audit", name: "listAudit",
			summary: "Who did what, newest first; 1,000 entries unless a limit says otherwise", permission: auth.ReadAudit,
			query: []*huma.Param{limitParam, afterParam}, reply: reflect.TypeFor[[]api.AuditEntry](), off: s.Audit == nil,
			handle: s.listAudit},
	}
}

func (s *server) listAudit(r *request) (reply, error) {
	q, err := r.listQuery()
	if err != nil {
		return reply{}, err
	}
	var before int64
	if q.after != "" {
		if before, err = strconv.ParseInt(q.after, 10, 64); err != nil || before < 1 {
			return reply{}, fleet.Invalidf("query.after",
				"after is no place in this list: take it from the Link header of the page before")
		}
	}
	if q.limit == 0 {
		q.limit = auditPage
	}
	entries, err := s.Audit.Audit(r.Context(), before, q.limit+1)
	if err != nil {
		return reply{}, err
	}
	return showList(r, listQuery{limit: q.limit}, entries, listing[fleet.AuditEntry, api.AuditEntry]{
		matches: func(fleet.AuditEntry) bool { return true },
		cursor:  func(e fleet.AuditEntry) string { return strconv.FormatInt(e.ID, 10) },
		wire: func(e fleet.AuditEntry) api.AuditEntry {
			return api.AuditEntry{ID: e.ID, At: api.Time{Time: e.At}, Who: e.Who, What: e.What, Subject: e.Subject,
				Detail: e.Detail}
		},
	})
}

// record leaves in the audit what somebody does, where there is one.
func (s *server) record(r *request, what, subject, detail string) error {
	if s.Audit == nil {
		return nil
	}
	return s.Audit.Record(r.Context(), what, subject, detail)
}
