package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"muster/api"
)

// AuditSearch picks entries of the audit. The zero value is the newest ones, as many as the server gives at a time.
type AuditSearch struct {
	Who     string    // only what this token or person did
	What    string    // only this; with a dot at the end, all that begins so
	Device  string    // only what was done to the device with this ID
	Subject string    // only what was done to this
	Since   time.Time // zero: from the first
	Until   time.Time // exclusive; zero: to the last
	Oldest  bool      // oldest first
	After   int64     // those that come after the entry with this ID; 0: from the beginning
	Limit   int       // 0: as many as the server gives at a time
}

func (s AuditSearch) query() string {
	values := url.Values{}
	for name, value := range map[string]string{"who": s.Who, "what": s.What, "device": s.Device, "subject": s.Subject} {
		if value != "" {
			values.Set(name, value)
		}
	}
	for name, at := range map[string]time.Time{"since": s.Since, "until": s.Until} {
		if !at.IsZero() {
			values.Set(name, at.UTC().Format(time.RFC3339Nano))
		}
	}
	if s.Oldest {
		values.Set("order", "oldest")
	}
	if s.After > 0 {
		values.Set("after", strconv.FormatInt(s.After, 10))
	}
	if s.Limit > 0 {
		values.Set("limit", strconv.Itoa(s.Limit))
	}
	return "?" + values.Encode()
}

// Audit is one page of who did what.
func (c *Client) Audit(ctx context.Context, search AuditSearch) ([]api.AuditEntry, error) {
	var entries []api.AuditEntry
	_, err := c.call(ctx, http.MethodGet, path("audit")+search.query(), nil, &entries)
	return entries, err
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

// VerifyAudit compares the audit, and what gives a role, with their proofs and with heads that were kept elsewhere.
func (c *Client) VerifyAudit(ctx context.Context, heads []string) (api.AuditReport, error) {
	var report api.AuditReport
	_, err := c.call(ctx, http.MethodPost, path("audit", "verify"), api.VerifyAudit{Heads: heads}, &report)
	return report, err
}

// SignAudit signs how the audit ends now.
func (c *Client) SignAudit(ctx context.Context) (api.AuditHead, error) {
	var head api.AuditHead
	_, err := c.call(ctx, http.MethodPost, path("audit", "head"), nil, &head)
	return head, err
}
