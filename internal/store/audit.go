package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"muster/internal/fleet"
)

// Record adds an entry about something that is no write of the store: a log-in, a consent. Writes record themselves.
func (s *Store) Record(ctx context.Context, what, subject, detail string) error {
	_, err := write(ctx, s, "write audit", func(t *tx) (none struct{}, err error) {
		t.record(what, subject, detail)
		return none, nil
	})
	return err
}

// Audit is the newest entries first, at most limit, older than the entry with the ID before (0: from the newest).
func (s *Store) Audit(ctx context.Context, before int64, limit int) ([]fleet.AuditEntry, error) {
	entries, err := collect(ctx, pool{s.reads}, func(row scanner) (e fleet.AuditEntry, err error) {
		var at sql.NullInt64
		err = row.Scan(&e.ID, &at, &e.Who, &e.What, &e.Subject, &e.Detail)
		e.At = fromMillis(at)
		return e, err
	}, `SELECT id, at, who, what, subject, detail FROM audit WHERE CAST($1 AS BIGINT) = 0 OR id < CAST($1 AS BIGINT) ORDER BY id DESC LIMIT $2`, before, limit)
	return entries, failure("read audit", err)
}

const auditRows = 50 // in one statement

// insertAudit writes the entries of a batch together: they are as many as its writes.
func (s *session) insertAudit(ctx context.Context, entries []fleet.AuditEntry) error {
	for chunk := range slices.Chunk(entries, auditRows) {
		rows, args := make([]string, 0, len(chunk)), make([]any, 0, 5*len(chunk))
		for i, e := range chunk {
			rows = append(rows, fmt.Sprintf("($%d, $%d, $%d, $%d, $%d)", 5*i+1, 5*i+2, 5*i+3, 5*i+4, 5*i+5))
			args = append(args, millis(e.At), plainText(e.Who), e.What, plainText(e.Subject), plainText(e.Detail))
		}
		text := `INSERT INTO audit (at, who, what, subject, detail) VALUES ` + strings.Join(rows, ", ")
		if err := s.exec(ctx, text, args...); err != nil {
			return err
		}
	}
	return nil
}
