package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"muster/internal/fleet"
)

// Record adds an entry to the audit about an act that does not write to the store, such as a failed log-in. Acts that
// write to the store add their entries themselves.
func (s *Store) Record(ctx context.Context, what, subject, detail string) error {
	_, err := write(ctx, s, "write audit", func(t *tx) (none struct{}, err error) {
		t.record(what, subject, detail)
		return none, nil
	})
	return err
}

// RecordRestore records that the database was filled from a backup. It also empties the rosters of sessions and log-in
// links, because Load deleted the rows: none that was valid when the backup was made counts when it is put back.
func (s *Store) RecordRestore(ctx context.Context, detail string) error {
	_, err := write(ctx, s, "record the restore", func(t *tx) (none struct{}, err error) {
		t.record("restore", "", detail)
		return none, errors.Join(t.changeRoster(sessionRows, emptied), t.changeRoster(linkRows, emptied))
	})
	return err
}

func emptied(r roster) { clear(r) }

const selectAudit = `SELECT id, at, who, what, subject, detail, previous, hash FROM audit`

func scanAudit(row scanner) (e fleet.AuditEntry, err error) {
	var at sql.NullInt64
	err = row.Scan(&e.ID, &at, &e.Who, &e.What, &e.Subject, &e.Detail, &e.Previous, &e.Hash)
	e.At = fromMillis(at)
	return e, err
}

// Audit returns the entries of the audit that q selects, the newest first unless q.Oldest is set.
func (s *Store) Audit(ctx context.Context, q fleet.AuditQuery) ([]fleet.AuditEntry, error) {
	text, args := auditText(q)
	entries, err := collect(ctx, unprepared{s.reads}, scanAudit, text, args...)
	return entries, failure("read audit", err)
}

// unprepared runs queries without keeping prepared statements: searches have so many different SQL texts that the
// kept statements would pile up.
type unprepared struct{ *reads }

func (u unprepared) query(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	return u.DB.QueryContext(ctx, text, args...)
}

// auditText returns the SQL text for q and its arguments. The text has a condition only for each field of q that is
// set, so that the database can use the index of that column.
func auditText(q fleet.AuditQuery) (text string, args []any) {
	var where []string
	asks := func(condition string, value any) {
		args = append(args, value)
		where = append(where, fmt.Sprintf(condition, len(args)))
	}
	if q.Who != "" {
		asks(`who = $%d`, plainText(q.Who))
	}
	if q.ByPeople {
		asks(`who <> $%d`, fleet.ActorMuster)
	}
	if strings.HasSuffix(q.What, ".") {
		asks(`substr(what, 1, length(CAST($%[1]d AS TEXT))) = CAST($%[1]d AS TEXT)`, plainText(q.What))
	} else if q.What != "" {
		asks(`what = $%d`, plainText(q.What))
	}
	if q.Subject != "" {
		asks(`subject = $%d`, plainText(q.Subject))
	}
	if !q.Scope.Whole() {
		tags := q.Scope.Tags()
		for _, tag := range tags {
			args = append(args, string(tag))
		}
		inside := make([]string, len(tags))
		for i := range inside {
			inside[i] = fmt.Sprintf("CAST($%d AS TEXT)", len(args)-len(tags)+i+1)
		}
		where = append(where, `subject IN (SELECT device_id FROM device_tags WHERE tag IN (`+
			cmp.Or(strings.Join(inside, ", "), "NULL")+`))`)
	}
	if !q.Since.IsZero() {
		asks(`at >= $%d`, q.Since.UnixMilli())
	}
	if !q.Until.IsZero() {
		asks(`at < $%d`, q.Until.UnixMilli())
	}
	order, beyond := ` DESC`, `id < $%d`
	if q.Oldest {
		order, beyond = ``, `id > $%d`
	}
	if q.After > 0 {
		asks(beyond, q.After)
	}
	text = selectAudit
	if len(where) > 0 {
		text += ` WHERE ` + strings.Join(where, ` AND `)
	}
	text += ` ORDER BY id` + order
	if q.Limit > 0 {
		args = append(args, q.Limit)
		text += fmt.Sprintf(` LIMIT $%d`, len(args))
	}
	return text, args
}

// appendAudit adds the audit entries of a transaction to the audit's chain, and stores new ends: with the new last
// entry, and with the marks and tallies that the transaction changed. batch are the effects of all writes in the
// transaction. appendAudit reads the present ends in the same transaction, so that processes that write one after the
// other make one chain.
func (t *tx) appendAudit(batch effects) error {
	entries, changed := batch.audit, batch.marks
	if len(entries)+len(changed)+len(batch.tallies) == 0 {
		return nil
	}
	ends, ok, err := t.auditEnds()
	if err != nil {
		return err
	}
	if !ok {
		entries = slices.Insert(entries, 0, t.lostEnds(ends))
	}
	for i := range entries {
		e := &entries[i]
		e.Who, e.Subject, e.Detail = plainText(e.Who), plainText(e.Subject), plainText(e.Detail)
		e.ID, e.Previous = ends.LastID+1, ends.LastHash
		e.Hash = e.Sum()
		ends.LastID, ends.LastHash = e.ID, e.Hash
	}
	if err := t.insertAudit(entries); err != nil {
		return err
	}
	if len(changed) > 0 {
		rosters := map[string]string{}
		maps.Copy(rosters, ends.Rosters)
		for table, change := range changed {
			rosters[table] = marksIn(ends, table).with(change).String()
		}
		ends.Rosters = rosters
	}
	batch.tallies.into(&ends)
	ends.Writes++
	t.committed(func() {
		t.store.known.know(ends)
		t.store.end.keep(t.store, ends)
		for _, e := range entries {
			if e.What == fleet.AuditTampered {
				t.store.tampering.add(e.Detail)
			}
		}
	})
	return t.putProof(auditEnds, ends)
}

// titleEntries adds to the audit entries of one write what the person wrote about the act. An edit of the fleet has an
// entry of its own for that.
func titleEntries(entries []fleet.AuditEntry, title string) {
	if title == "" || slices.ContainsFunc(entries, func(e fleet.AuditEntry) bool { return e.What == fleet.ChangeTitle }) {
		return
	}
	for i := range entries {
		detail := "title: " + strconv.Quote(title)
		if entries[i].Detail != "" {
			detail = entries[i].Detail + "; " + detail
		}
		entries[i].Detail = detail
	}
}

const auditRows = 50 // rows in one statement

func (t *tx) insertAudit(entries []fleet.AuditEntry) error {
	const columns = 8
	for chunk := range slices.Chunk(entries, auditRows) {
		rows, args := make([]string, 0, len(chunk)), make([]any, 0, columns*len(chunk))
		for i, e := range chunk {
			rows = append(rows, placeholders(columns*i+1, columns))
			args = append(args, e.ID, millis(e.At), e.Who, e.What, e.Subject, e.Detail, e.Previous, e.Hash)
		}
		text := `INSERT INTO audit (id, at, who, what, subject, detail, previous, hash) ` + t.store.dialect.givenID() +
			` VALUES ` + strings.Join(rows, ", ")
		if err := t.exec(text, args...); err != nil {
			return err
		}
	}
	return nil
}

// placeholders returns the parameters of one row as SQL, like ($3, $4). first is the number of the first parameter,
// many is how many there are.
func placeholders(first, many int) string {
	numbers := make([]string, many)
	for i := range numbers {
		numbers[i] = fmt.Sprint("$", first+i)
	}
	return "(" + strings.Join(numbers, ", ") + ")"
}
