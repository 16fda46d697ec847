package store

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

// Record adds an entry about something that is no write of the store: a log-in, a consent. Writes record themselves.
func (s *Store) Record(ctx context.Context, what, subject, detail string) error {
	_, err := write(ctx, s, "write audit", func(t *tx) (none struct{}, err error) {
		t.record(what, subject, detail)
		return none, nil
	})
	return err
}

const selectAudit = `SELECT id, at, who, what, subject, detail, previous, hash FROM audit`

func scanAudit(row scanner) (e fleet.AuditEntry, err error) {
	var at sql.NullInt64
	err = row.Scan(&e.ID, &at, &e.Who, &e.What, &e.Subject, &e.Detail, &e.Previous, &e.Hash)
	e.At = fromMillis(at)
	return e, err
}

// Audit are the entries that a query picks.
func (s *Store) Audit(ctx context.Context, q fleet.AuditQuery) ([]fleet.AuditEntry, error) {
	text, args := auditText(q)
	entries, err := collect(ctx, unprepared{s.reads}, scanAudit, text, args...)
	return entries, failure("read audit", err)
}

// unprepared keeps no statement: the texts of a search are many.
type unprepared struct{ *reads }

func (u unprepared) query(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	return u.DB.QueryContext(ctx, text, args...)
}

// auditText holds only the conditions that are asked for: each can use its index then.
func auditText(q fleet.AuditQuery) (text string, args []any) {
	var where []string
	asks := func(condition string, value any) {
		args = append(args, value)
		where = append(where, fmt.Sprintf(condition, len(args)))
	}
	if q.Who != "" {
		asks(`who = $%d`, plainText(q.Who))
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

// appendAudit writes the entries of a batch at the end of the chain, together: they are as many as its writes. Where
// that end is the transaction reads itself, so that processes that write one after the other make one chain. The marks
// are those of the proofs of rows that came or went.
func (t *tx) appendAudit(entries []fleet.AuditEntry, changed marks) error {
	if len(entries) == 0 {
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
	t.committed(func() {
		t.store.known.know(ends)
		for _, e := range entries {
			if e.What == fleet.AuditTampered {
				t.store.tampering.add(e.Detail)
			}
		}
	})
	return t.putProof(auditEnds, ends)
}

// lostEnds is the entry that records that the ends were not as Muster wrote them.
func (t *tx) lostEnds(ends fleet.AuditEnds) fleet.AuditEntry {
	t.store.log.Error("the audit does not end as Muster wrote it: type `muster audit verify`", "entry", ends.LastID)
	return fleet.AuditEntry{At: t.now, Who: "muster", What: fleet.AuditTampered, Subject: "audit",
		Detail: fmt.Sprintf("the audit did not end as Muster wrote it; nothing before is proven, %d was the last entry",
			ends.LastID)}
}

// auditEnds keeps the ends for this transaction. It is not ok where they are not as Muster wrote them: then they are
// what the table has, so that what is done next can be recorded all the same.
func (t *tx) auditEnds() (ends fleet.AuditEnds, ok bool, err error) {
	if ok, err = t.proof(auditEnds, &ends); err != nil {
		return ends, false, err
	}
	last, err := scanAudit(t.row(selectAudit + ` ORDER BY id DESC LIMIT 1`))
	if err != nil && !absent(err) {
		return ends, false, err
	}
	if known := t.store.known.now(); known.LastID > 0 && (!ok || putBack(known, ends)) {
		known.LastID = max(known.LastID, last.ID)
		return known, false, nil // the next entry shows what is missing
	}
	if ok && last.ID > ends.LastID { // entries that Muster did not write: the next one comes after them
		ends.LastID = last.ID
		return ends, false, nil
	}
	if ok {
		t.store.known.know(ends)
		return ends, true, nil
	}
	first, err := scanAudit(t.row(selectAudit + ` ORDER BY id LIMIT 1`))
	if err != nil && !absent(err) {
		return ends, false, err
	}
	ends = fleet.AuditEnds{FirstID: max(first.ID, 1), Before: first.Previous, LastID: last.ID, LastHash: last.Hash}
	return ends, false, nil
}

const auditRows = 50 // in one statement

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

// placeholders are the parameters of one row, like ($3, $4).
func placeholders(first, many int) string {
	numbers := make([]string, many)
	for i := range numbers {
		numbers[i] = fmt.Sprint("$", first+i)
	}
	return "(" + strings.Join(numbers, ", ") + ")"
}

// chainOldEntries chains the entries of a database in which they were not chained yet, as they are, and gives their
// ends.
func (t *tx) chainOldEntries() (fleet.AuditEnds, error) {
	ends := fleet.AuditEnds{FirstID: 1}
	for {
		entries, err := collect(t.ctx, t.session, scanAudit, selectAudit+` WHERE id > $1 ORDER BY id LIMIT $2`, ends.LastID,
			chainLength)
		if err != nil {
			return ends, err
		}
		if len(entries) == 0 {
			break
		}
		if ends.LastID == 0 {
			ends.FirstID = entries[0].ID
		}
		for i := range entries {
			e := &entries[i]
			e.Previous = ends.LastHash
			e.Hash = e.Sum()
			ends.LastID, ends.LastHash = e.ID, e.Hash
		}
		for chunk := range slices.Chunk(entries, auditRows) {
			if err := t.putHashes(chunk); err != nil {
				return ends, err
			}
		}
	}
	ends.GapsUntil = ends.LastID
	if ends.LastID > 0 {
		t.store.log.Warn("the audit is chained from here on: what was there before is believed as it is", logkey.Count,
			ends.LastID)
		t.record("audit.chain", "", fmt.Sprintf("entries up to %d were there before and are believed", ends.LastID))
	}
	return ends, nil
}

const chainLength = 1000 // entries in memory

func (t *tx) putHashes(entries []fleet.AuditEntry) error {
	rows, args := make([]string, 0, len(entries)), make([]any, 0, 3*len(entries))
	for i, e := range entries {
		rows = append(rows, fmt.Sprintf("(CAST($%d AS BIGINT), CAST($%d AS TEXT), CAST($%d AS TEXT))", 3*i+1, 3*i+2, 3*i+3))
		args = append(args, e.ID, e.Previous, e.Hash)
	}
	return t.exec(`WITH given (id, previous, hash) AS (VALUES `+strings.Join(rows, ", ")+`)
		UPDATE audit SET previous = given.previous, hash = given.hash FROM given WHERE audit.id = given.id`, args...)
}
