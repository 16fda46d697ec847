package store

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"muster/internal/fleet"
)

// logRows lists how many entries of the event log one statement writes, largest first. Each number needs a prepared
// statement of its own, so the list is short.
var logRows = []int{64, 8, 1}

const (
	logColumns = `number, at, device_id, label, folder, kind, state, earlier, reason, cause, revision`
	// The cause of a revision may be known later than the revision itself.
	selectLog = `
		SELECT e.number, e.at, e.device_id, e.label, e.folder, e.kind, e.state, e.earlier, e.reason,
			CASE WHEN e.revision = 0 THEN e.cause ELSE COALESCE(r.cause, e.cause) END, e.revision
		FROM event_log e LEFT JOIN revisions r ON r.device_id = e.device_id AND r.number = e.revision`
	maxLogReason = 1 << 10 // bytes
)

// PutLogEntries stores entries of the event log in one transaction. The caller has given each a number that no stored
// entry has.
func (s *Store) PutLogEntries(ctx context.Context, entries []fleet.LogEntry) error {
	_, err := write(ctx, s, "keep events", func(t *tx) (none struct{}, err error) {
		for _, rows := range logRows {
			for len(entries) >= rows {
				if err := t.putLogEntries(entries[:rows]); err != nil {
					return none, err
				}
				entries = entries[rows:]
			}
		}
		return none, nil
	})
	return err
}

func (t *tx) putLogEntries(entries []fleet.LogEntry) error {
	var args []any
	for _, e := range entries {
		args = append(args, e.Number, e.At.UnixMilli(), string(e.Device), plainText(e.Label), plainText(e.Folder),
			string(e.Kind), e.State, e.Before, plainText(cut(e.Reason, maxLogReason)), plainText(e.Cause), e.Revision)
	}
	return t.exec(`INSERT INTO event_log (`+logColumns+`) VALUES `+places(len(entries), len(args)/len(entries)), args...)
}

// places returns the parameters of rows as SQL: "($1, $2), ($3, $4)" for two rows of two columns.
func places(rows, columns int) string {
	var text strings.Builder
	for i := range rows * columns {
		switch {
		case i == 0:
			text.WriteString("(")
		case i%columns == 0:
			text.WriteString("), (")
		default:
			text.WriteString(", ")
		}
		fmt.Fprintf(&text, "$%d", i+1)
	}
	return text.String() + ")"
}

// cut shortens a text to its first limit bytes, leaves out a character that is cut in two, and adds "…". A text of at
// most limit bytes stays as it is.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}

// LogEntries returns the entries of the event log that q selects, the newest first unless q.Oldest is set.
func (s *Store) LogEntries(ctx context.Context, q fleet.LogQuery) ([]fleet.LogEntry, error) {
	text, args := logText(q)
	entries, err := collect(ctx, unprepared{s.reads}, scanLogEntry, text, args...)
	return entries, failure("read the event log", err)
}

// logText returns the SQL text for q and its arguments. The text has a condition only for each field of q that is set,
// so that the database can use the index of that column.
func logText(q fleet.LogQuery) (text string, args []any) {
	var where []string
	asks := func(condition string, values ...any) {
		numbers := make([]any, len(values))
		for i, value := range values {
			args = append(args, value)
			numbers[i] = fmt.Sprintf("$%d", len(args))
		}
		where = append(where, fmt.Sprintf(condition, numbers...))
	}
	if len(q.Devices) > 0 {
		asks(`e.device_id IN `+holes(len(q.Devices)), anyOf(q.Devices)...)
	}
	const tagged = `e.device_id IN (SELECT device_id FROM device_tags WHERE tag IN `
	if len(q.Tags) > 0 {
		asks(tagged+holes(len(q.Tags))+`)`, anyOf(q.Tags)...)
	}
	if tags := q.Scope.Tags(); !q.Scope.Whole() {
		asks(tagged+holes(len(tags))+`)`, anyOf(tags)...)
	}
	if q.Folder != "" {
		asks(`e.folder = %s`, plainText(q.Folder))
	}
	if len(q.Kinds) > 0 {
		asks(`e.kind IN `+holes(len(q.Kinds)), anyOf(q.Kinds)...)
	}
	if !q.Since.IsZero() {
		asks(`e.at >= %s`, q.Since.UnixMilli())
	}
	if !q.Until.IsZero() {
		asks(`e.at < %s`, q.Until.UnixMilli())
	}
	order, beyond := ` DESC`, `e.number < %s`
	if q.Oldest {
		order, beyond = ``, `e.number > %s`
	}
	if q.After > 0 {
		asks(beyond, q.After)
	}
	if q.Before > 0 {
		asks(`e.number < %s`, q.Before)
	}
	text = selectLog
	if len(where) > 0 {
		text += ` WHERE ` + strings.Join(where, ` AND `)
	}
	text += ` ORDER BY e.number` + order
	if q.Limit > 0 {
		args = append(args, q.Limit)
		text += fmt.Sprintf(` LIMIT $%d`, len(args))
	}
	return text, args
}

// holes returns a SQL list with one %s per value. The caller fills each %s with the parameter of the value, such as
// $3. For 0 values it returns (NULL), which no row matches.
func holes(values int) string {
	return `(` + cmp.Or(strings.Join(slices.Repeat([]string{`CAST(%s AS TEXT)`}, values), `, `), `NULL`) + `)`
}

func anyOf[K ~string](all []K) []any {
	values := make([]any, len(all))
	for i, one := range all {
		values[i] = string(one)
	}
	return values
}

func scanLogEntry(row scanner) (e fleet.LogEntry, err error) {
	var at sql.NullInt64
	err = row.Scan(&e.Number, &at, (*string)(&e.Device), &e.Label, &e.Folder, (*string)(&e.Kind), &e.State, &e.Before,
		&e.Reason, &e.Cause, &e.Revision)
	e.At = fromMillis(at)
	return e, err
}

// LogBounds returns the first and the last number in the event log, or 0 and 0 if it is empty.
func (s *Store) LogBounds(ctx context.Context) (first, last int64, err error) {
	// SQLite looks one end up in the index, and reads the whole index for both in one SELECT.
	err = s.reads.QueryRowContext(ctx, `SELECT COALESCE((SELECT MIN(number) FROM event_log), 0),
		COALESCE((SELECT MAX(number) FROM event_log), 0)`).Scan(&first, &last)
	return first, last, failure("read the event log", err)
}

// LogCounts returns how many entries of the event log are about each device.
func (s *Store) LogCounts(ctx context.Context) (map[fleet.DeviceID]int, error) {
	type count struct {
		device fleet.DeviceID
		many   int
	}
	all, err := collect(ctx, pool{s.reads}, func(row scanner) (c count, err error) {
		return c, row.Scan((*string)(&c.device), &c.many)
	}, `SELECT device_id, COUNT(*) FROM event_log GROUP BY device_id`)
	counts := make(map[fleet.DeviceID]int, len(all))
	for _, one := range all {
		counts[one.device] = one.many
	}
	return counts, failure("read the event log", err)
}

// LastLogged returns the last entry of each device, folder and kind. It covers only the kinds of entries that record a
// state.
func (s *Store) LastLogged(ctx context.Context) ([]fleet.LogEntry, error) {
	entries, err := collect(ctx, pool{s.reads}, scanLogEntry, selectLog+` WHERE e.number IN (
		SELECT MAX(number) FROM event_log WHERE kind IN ('connection', 'configuration', 'folder', 'peers', 'conflict')
		GROUP BY device_id, folder, kind)`)
	return entries, failure("read the event log", err)
}

// ForgetLogEntries deletes the oldest entries of a device, and returns how many it deleted. many is how many it
// deletes at most.
func (s *Store) ForgetLogEntries(ctx context.Context, device fleet.DeviceID, many int) (int64, error) {
	return write(ctx, s, "forget old events", func(t *tx) (int64, error) {
		const oldest = `number IN (SELECT number FROM event_log WHERE device_id = $1 ORDER BY number LIMIT CAST($2 AS BIGINT))`
		if err := t.countLost(`e.`+oldest, string(device), many); err != nil {
			return 0, err
		}
		return t.affect(`DELETE FROM event_log WHERE `+oldest, string(device), many)
	})
}

// ForgetOldLogEntries deletes entries that were made before cutoff, the oldest first, and returns the device of each.
// many is how many it deletes at most.
func (s *Store) ForgetOldLogEntries(ctx context.Context, cutoff time.Time, many int) ([]fleet.DeviceID, error) {
	return write(ctx, s, "forget old events", func(t *tx) ([]fleet.DeviceID, error) {
		const old = `number IN (SELECT number FROM event_log WHERE at < $1 ORDER BY at, number LIMIT CAST($2 AS BIGINT))`
		if err := t.countLost(`e.`+old, cutoff.UnixMilli(), many); err != nil {
			return nil, err
		}
		return collect(t.ctx, t.session, func(row scanner) (id fleet.DeviceID, err error) {
			return id, row.Scan((*string)(&id))
		}, `DELETE FROM event_log WHERE `+old+` RETURNING device_id`, cutoff.UnixMilli(), many)
	})
}
