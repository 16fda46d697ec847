package httpapi

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"muster/api"
	"muster/internal/edge/auth"
	"muster/internal/fleet"
)

// auditPage is the default number of entries in one answer. A default is needed because the audit only grows.
const auditPage = 1000

const maxAuditPage = 10_000 // in memory at a time

// Recorder stores who did what.
type Recorder interface {
	// Record adds an entry about an act that is not a write of the store. The context says who acted.
	Record(ctx context.Context, what, subject, detail string) error
	// RecordBounded is Record for acts that one caller may repeat often: it writes a few entries and counts the rest.
	RecordBounded(ctx context.Context, what, subject, detail string) error
}

// AuditLog reads and verifies what a Recorder stored.
type AuditLog interface {
	Audit(ctx context.Context, q fleet.AuditQuery) ([]fleet.AuditEntry, error)
	// RecentChanges are the newest changes of people, as many as most; equal ones of one moment are one.
	RecentChanges(ctx context.Context, scope fleet.Scope, most int) ([]fleet.RecentChange, error)
	// VerifyAudit verifies the audit and all other proven rows, also with heads that were stored elsewhere.
	VerifyAudit(ctx context.Context, heads []fleet.AuditHead) (fleet.AuditReport, error)
	// SignHead signs the current end of the audit. HeadKey returns the key that signs.
	SignHead(ctx context.Context) (head fleet.AuditHead, fresh bool, err error)
	HeadKey(ctx context.Context) (ed25519.PublicKey, error)
	// AcceptLoss accepts that entries up to this one are lost, and that rows were removed or put back. code is from the
	// server's home.
	AcceptLoss(ctx context.Context, entry int64, code string) (accepted []string, err error)
}

var (
	whoParam     = textParam("who", "Only what this token or person did")
	whatParam    = textParam("what", "Only this; with a dot at the end, all that begins so: device.")
	subjectParam = textParam("subject", "Only what was done to this")
	auditDevice  = deviceParam("Only what was done to the device with this ID")
	sinceParam   = timeParam("since", "Only from this time on, RFC 3339")
	untilParam   = timeParam("until", "Only before this time, RFC 3339")
	orderParam   = choiceParam("order", "newest (first) or oldest", "newest", "oldest")
)

// AuditHandlers read, verify and sign the audit.
type AuditHandlers struct {
	*base
	Audit         AuditLog
	Rollouts      Rollouts      // may be nil: no change has a rollout then
	verifications chan struct{} // holds a token while one is under way
}

func (s AuditHandlers) routes(b *base) []route {
	s.base = b
	s.verifications = make(chan struct{}, 1)
	off := s.Audit == nil
	return []route{
		{method: http.MethodGet, path: Prefix + "/audit", name: "listAudit",
			summary: "Who did what, newest first; 1,000 entries unless a limit says otherwise", permission: auth.ReadAudit,
			query: []parameter{whoParam, whatParam, auditDevice, subjectParam, sinceParam, untilParam, orderParam, limitParam,
				afterParam},
			reply: reflect.TypeFor[[]api.AuditEntry](), off: off, handle: s.listAudit},
		{method: http.MethodGet, path: Prefix + "/audit/changes", name: "listRecentChanges",
			summary: "The newest changes by people and tokens; equal ones of one moment are one. 20 unless a limit says " +
				"otherwise, at most 100",
			permission: auth.ReadAudit, query: []parameter{limitParam}, reply: reflect.TypeFor[[]api.RecentChange](), off: off,
			handle: s.listRecentChanges},
		{method: http.MethodPost, path: Prefix + "/audit/verify", name: "verifyAudit",
			summary:    "Compare the audit, tokens and everything sealed with their proofs; reads all of it",
			permission: auth.ReadAudit, body: reflect.TypeFor[api.VerifyAudit](), reply: reflect.TypeFor[api.AuditReport](),
			volatile: true, off: off, handle: s.verifyAudit},
		{method: http.MethodPost, path: Prefix + "/audit/head", name: "signAudit",
			summary:    "Sign how the audit ends now: kept elsewhere, the head proves later that nothing before was changed",
			permission: auth.ReadAudit, reply: reflect.TypeFor[api.AuditHead](), volatile: true, off: off, handle: s.signAudit},
		{method: http.MethodPost, path: Prefix + "/audit/accept-loss", name: "acceptLoss",
			summary:    "Accept that entries of the audit are lost, or rows removed or put back: Muster writes to daemons again",
			permission: auth.WriteSettings, body: reflect.TypeFor[api.AcceptLoss](),
			reply: reflect.TypeFor[api.AcceptedLoss](), off: off, handle: s.acceptLoss},
	}
}

func (s AuditHandlers) listAudit(r *request) (reply, error) {
	list, err := r.listQuery()
	if err != nil {
		return reply{}, err
	}
	q, err := r.auditQuery()
	if err != nil {
		return reply{}, err
	}
	if list.after != "" {
		if q.After, err = strconv.ParseInt(list.after, 10, 64); err != nil || q.After < 1 {
			return reply{}, noSuchPlace()
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
		cursor: func(e fleet.AuditEntry) string { return strconv.FormatInt(e.ID, 10) },
		wire: func(e fleet.AuditEntry) api.AuditEntry {
			return api.AuditEntry{ID: e.ID, At: api.Time{Time: e.At}, Who: e.Who, What: e.What, Subject: e.Subject,
				Detail: e.Detail, Previous: e.Previous, Hash: e.Hash}
		},
	})
}

// auditQuery reads from the request which entries are selected.
func (r *request) auditQuery() (q fleet.AuditQuery, err error) {
	var device fleet.DeviceID
	var order string
	err = cmp.Or(whoParam.read(r, &q.Who), whatParam.read(r, &q.What), subjectParam.read(r, &q.Subject),
		auditDevice.read(r, &device), orderParam.read(r, &order), sinceParam.read(r, &q.Since),
		untilParam.read(r, &q.Until))
	q.Subject, q.Oldest = cmp.Or(string(device), q.Subject), order == "oldest"
	return q, err
}

func (s AuditHandlers) verifyAudit(r *request) (reply, error) {
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

func (s AuditHandlers) acceptLoss(r *request) (reply, error) {
	body, err := decode[api.AcceptLoss](r)
	if err != nil {
		return reply{}, err
	}
	accepted, err := s.Audit.AcceptLoss(r.Context(), body.Entry, strings.TrimSpace(body.Code))
	if err != nil {
		return reply{}, err
	}
	return show(api.AcceptedLoss{Accepted: accepted})
}

func (s AuditHandlers) signAudit(r *request) (reply, error) {
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

// auditFor returns the selected entries that the caller may read. A caller with a scope may read those about devices
// in it.
func (s AuditHandlers) auditFor(ctx context.Context, q fleet.AuditQuery) ([]fleet.AuditEntry, error) {
	q.Scope = fleet.ScopeIn(ctx)
	entries, err := s.Audit.Audit(ctx, q)
	if !q.Scope.Whole() {
		for i := range entries {
			// The hashes also cover entries that the caller may not read.
			entries[i].Previous, entries[i].Hash = "", ""
		}
	}
	return entries, err
}

// record writes an act of a user into the audit, if the server has one.
func (s *base) record(r *request, what, subject, detail string) error {
	if s.Records == nil {
		return nil
	}
	return s.Records.Record(r.Context(), what, subject, detail)
}
