package client

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"muster/api"
)

// AuditSearch selects entries of the audit. The zero value selects the newest ones, as many as the server gives at a
// time.
type AuditSearch struct {
	Who     string    // name of a token or person
	What    string    // kind of entry, such as device.delete; with a dot at the end, all that begin so
	Device  string    // device ID
	Subject string    // ID of a template, a tag, the name of a token
	Since   time.Time // zero: from the first
	Until   time.Time // exclusive; zero: to the last
	Oldest  bool      // oldest first
	After   int64     // those that come after the entry with this ID; 0: from the beginning
	Limit   int       // 0: as many as the server gives at a time
}

func (s AuditSearch) query() string {
	values := url.Values{"who": {s.Who}, "what": {s.What}, "device": {s.Device}, "subject": {s.Subject},
		"after": {positive(s.After)}, "limit": {positive(s.Limit)}}
	for name, at := range map[string]time.Time{"since": s.Since, "until": s.Until} {
		if !at.IsZero() {
			values.Set(name, at.UTC().Format(time.RFC3339Nano))
		}
	}
	if s.Oldest {
		values.Set("order", "oldest")
	}
	return query(values)
}

// Audit is one page of who did what.
func (c *Client) Audit(ctx context.Context, search AuditSearch) ([]api.AuditEntry, error) {
	return get[[]api.AuditEntry](ctx, c, path("audit")+search.query())
}

// RecentChanges are the newest changes by people and tokens, equal ones of one moment as one; limit 0: as many as the
// server gives.
func (c *Client) RecentChanges(ctx context.Context, limit int) ([]api.RecentChange, error) {
	return get[[]api.RecentChange](ctx, c, path("audit", "changes")+query(url.Values{"limit": {positive(int64(limit))}}))
}

// EachAudit gives each entry that a search finds, page by page; its limit is the length of a page.
func (c *Client) EachAudit(ctx context.Context, search AuditSearch, each func(api.AuditEntry) error) error {
	for {
		page, err := c.Audit(ctx, search)
		if err != nil || len(page) == 0 {
			return err
		}
		for _, entry := range page {
			if err := each(entry); err != nil {
				return err
			}
		}
		search.After = page[len(page)-1].ID
	}
}

// VerifyAudit checks the entries of the audit, and the rows that give somebody a role, against their proofs and
// against heads that were kept elsewhere.
func (c *Client) VerifyAudit(ctx context.Context, heads []string) (api.AuditReport, error) {
	return send[api.AuditReport](ctx, c, http.MethodPost, path("audit", "verify"), api.VerifyAudit{Heads: heads})
}

// AcceptLoss accepts that entries up to this one are lost, and that rows were removed or put back.
func (c *Client) AcceptLoss(ctx context.Context, loss api.AcceptLoss) (api.AcceptedLoss, error) {
	return send[api.AcceptedLoss](ctx, c, http.MethodPost, path("audit", "accept-loss"), loss)
}

// SignAudit signs the present end of the audit.
func (c *Client) SignAudit(ctx context.Context) (api.AuditHead, error) {
	return send[api.AuditHead](ctx, c, http.MethodPost, path("audit", "head"), nil)
}
