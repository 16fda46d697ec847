package httpapi

import (
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"muster/api"
	"muster/internal/auth"
	"muster/internal/fleet"
)

// auditPage is how many entries come where no limit is asked for: the audit only grows.
const auditPage = 1000

const maxAuditPage = 10_000 // in memory at a time

// Audit keeps who did what.
type Audit interface {
	// Record adds an entry about something that is no write of the store. Who is asked of the context.
	Record(ctx context.Context, what, subject, detail string) error
	// RecordBounded is Record for what one principal may bring about often: it writes a few entries, and counts the rest.
	RecordBounded(ctx context.Context, what, subject, detail string) error
	Audit(ctx context.Context, q fleet.AuditQuery) ([]fleet.AuditEntry, error)
	// VerifyAudit compares everything with its proofs, and with heads that were kept elsewhere.
	VerifyAudit(ctx context.Context, heads []fleet.AuditHead) (fleet.AuditReport, error)
	// SignHead signs where the audit ends now, HeadKey is the key that does.
	SignHead(ctx context.Context) (head fleet.AuditHead, fresh bool, err error)
	HeadKey(ctx context.Context) (ed25519.PublicKey, error)
}

var (
	whoParam  = queryParam("who", "Only what this token or person did", &huma.Schema{Type: huma.TypeString})
	whatParam = queryParam("what", "Only this; with a dot at the end, all that begins so: device.",
		&huma.Schema{Type: huma.TypeString})
	subjectParam = queryParam("subject", "Only what was done to this", &huma.Schema{Type: huma.TypeString})
	auditDevice  = queryParam("device", "Only what was done to the device with this ID",
		&huma.Schema{Type: huma.TypeString})
	sinceParam = queryParam("since", "Only from this time on, RFC 3339",
		&huma.Schema{Type: huma.TypeString, Format: "date-time"})
	untilParam = queryParam("until", "Only before this time, RFC 3339",
		&huma.Schema{Type: huma.TypeString, Format: "date-time"})
	orderParam = queryParam("order", "newest (first) or oldest", &huma.Schema{Type: huma.TypeString,
		Enum: []any{"newest", "oldest"}})
)

func (s *server) auditRoutes() []route {
	off := s.Audit == nil
	return []route{
		{method: http.MethodGet, path: Prefix + "/audit", name: "listAudit",
			summary: "Who did what, newest first; 1,000 entries unless a limit says otherwise", permission: auth.ReadAudit,
			query: []*huma.Param{whoParam, whatParam, auditDevice, subjectParam, sinceParam, untilParam, orderParam, limitParam,
				afterParam},
			reply: reflect.TypeFor[[]api.AuditEntry](), off: off, handle: s.listAudit},
		{method: http.MethodPost, path: Prefix + "/audit/verify", name: "verifyAudit",
			summary:    "Compare the audit, tokens and everything sealed with their proofs; reads all of it",
			permission: auth.ReadAudit, body: reflect.TypeFor[api.VerifyAudit](), reply: reflect.TypeFor[api.AuditReport](),
			volatile: true, off: off, handle: s.verifyAudit},
		{method: http.MethodPost, path: Prefix + "/audit/head", name: "signAudit",
			summary:    "Sign how the audit ends now: kept elsewhere, the head proves later that nothing before was changed",
			permission: auth.ReadAudit, reply: reflect.TypeFor[api.AuditHead](), volatile: true, off: off, handle: s.signAudit},
	}
}

func (s *server) listAudit(r *request) (reply, error) {
	list, err := r.listQuery()
	if err != nil {
		return reply{}, err
	}
	q, err := auditQuery(r.URL.Query())
	if err != nil {
		return reply{}, err
	}
	if list.after != "" {
		if q.After, err = strconv.ParseInt(list.after, 10, 64); err != nil || q.After < 1 {
			return reply{}, fleet.Invalidf("query.after",
				"after is no place in this list: take it from the Link header of the page before")
		}
	}
	if list.limit == 0 {
		list.limit = auditPage
	}
	list.limit = min(list.limit, maxAuditPage)
	q.Limit = list.limit + 1
	entries, err := s.auditFor(r.Context(), q)
	if err != nil {
		return reply{}, err
	}
	return showList(r, listQuery{limit: list.limit}, entries, listing[fleet.AuditEntry, api.AuditEntry]{
		matches: func(fleet.AuditEntry) bool { return true },
		cursor:  func(e fleet.AuditEntry) string { return strconv.FormatInt(e.ID, 10) },
		wire: func(e fleet.AuditEntry) api.AuditEntry {
			return api.AuditEntry{ID: e.ID, At: api.Time{Time: e.At}, Who: e.Who, What: e.What, Subject: e.Subject,
				Detail: e.Detail, Previous: e.Previous, Hash: e.Hash}
		},
	})
}

// auditQuery reads what entries are asked for.
func auditQuery(values url.Values) (q fleet.AuditQuery, err error) {
	q = fleet.AuditQuery{Who: values.Get("who"), What: values.Get("what"), Subject: values.Get("subject")}
	if values.Has("device") {
		id, err := fleet.ParseDeviceID(values.Get("device"))
		if err != nil {
			return q, at("query.device", err)
		}
		q.Subject = string(id)
	}
	switch order := values.Get("order"); order {
	case "", "newest":
	case "oldest":
		q.Oldest = true
	default:
		return q, fleet.Invalidf("query.order", "order is newest or oldest")
	}
	for name, into := range map[string]*time.Time{"since": &q.Since, "until": &q.Until} {
		if !values.Has(name) {
			continue
		}
		if *into, err = time.Parse(time.RFC3339, values.Get(name)); err != nil {
			return q, fleet.Invalidf("query."+name, "%s is a time such as 2026-01-31T08:00:00Z", name)
		}
	}
	return q, nil
}

func (s *server) verifyAudit(r *request) (reply, error) {
	body, err := decode[api.VerifyAudit](r)
	if err != nil {
		return reply{}, err
	}
	var heads []fleet.AuditHead
	for _, text := range body.Heads {
		head, err := fleet.ParseAuditHead(text)
		if err != nil {
			return reply{}, at("heads", err)
		}
		heads = append(heads, head)
	}
	select {
	case s.verifications <- struct{}{}:
		defer func() { <-s.verifications }()
	default:
		return reply{}, &fleet.Error{Code: fleet.CodeTooMany, Message: "the audit is being verified already",
			Hint: "Wait for that to end, then try again."}
	}
	found, err := s.Audit.VerifyAudit(r.Context(), heads)
	if err != nil {
		return reply{}, err
	}
	out := api.AuditReport{Entries: found.Entries, FirstID: found.FirstID, LastID: found.LastID, LastHash: found.LastHash,
		Faults: []api.AuditFault{}, Rows: append([]string{}, found.Rows...)}
	for _, fault := range found.Faults {
		out.Faults = append(out.Faults, api.AuditFault{ID: fault.ID, Detail: fault.Detail})
	}
	return show(out)
}

func (s *server) signAudit(r *request) (reply, error) {
	head, _, err := s.Audit.SignHead(r.Context())
	if err != nil {
		return reply{}, err
	}
	if head.ID == 0 {
		return reply{}, &fleet.Error{Code: fleet.CodeConflict, Message: "the audit does not end as Muster wrote it",
			Hint: "Look at what `muster audit verify` finds."}
	}
	key, err := s.Audit.HeadKey(r.Context())
	if err != nil {
		return reply{}, err
	}
	return show(api.AuditHead{Head: head.String(), Key: hex.EncodeToString(key)})
}

// auditFor are the entries that a query picks and that the caller may read: with a scope, those about devices inside.
func (s *server) auditFor(ctx context.Context, q fleet.AuditQuery) ([]fleet.AuditEntry, error) {
	q.Scope = fleet.ScopeIn(ctx)
	entries, err := s.Audit.Audit(ctx, q)
	if !q.Scope.Whole() {
		for i := range entries {
			entries[i].Previous, entries[i].Hash = "", "" // of entries that the caller may not read, too
		}
	}
	return entries, err
}

// record leaves in the audit what a user does, where there is one.
func (s *server) record(r *request, what, subject, detail string) error {
	if s.Audit == nil {
		return nil
	}
	return s.Audit.Record(r.Context(), what, subject, detail)
}
