package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"muster/internal/fleet"
)

// maxReceiverBytes bounds the name of a receiver, which is a host or a mail address.
const maxReceiverBytes = 1 << 10

// problemBody is the part of a problem that has no column of its own, as it is stored in JSON.
type problemBody struct {
	Label  string      `json:"label"`
	Reason string      `json:"reason"`
	Next   string      `json:"next"`
	Since  time.Time   `json:"since"`
	Tags   []fleet.Tag `json:"tags,omitempty"`
	Routed bool        `json:"routed,omitempty"`
}

// The column folder of a problem that is of no device has its subject.
func folderColumn(key fleet.ProblemKey) string {
	if key.Device == "" {
		return key.Subject
	}
	return key.Folder
}

// Problems returns the problems that were announced to people and still exist.
func (s *Store) Problems(ctx context.Context) ([]fleet.Problem, error) {
	problems, err := collect(ctx, pool{s.reads}, func(row scanner) (p fleet.Problem, err error) {
		var text string
		var announced sql.NullInt64
		if err := row.Scan((*string)(&p.Device), &p.Folder, (*string)(&p.Kind), &p.ID, &text, &announced); err != nil {
			return p, err
		}
		var body problemBody
		if err := json.Unmarshal([]byte(text), &body); err != nil {
			return p, fmt.Errorf("read a problem: %w", err)
		}
		p.Label, p.Reason, p.Next, p.Since, p.Tags = body.Label, body.Reason, body.Next, body.Since, body.Tags
		p.Routed = body.Routed
		if p.Device == "" {
			p.Subject, p.Folder = p.Folder, ""
		}
		p.AnnouncedAt = fromMillis(announced)
		return p, nil
	}, `SELECT device_id, folder, kind, notice_id, body, announced_at FROM problems
		ORDER BY announced_at, device_id, folder, kind`)
	return problems, failure("read problems", err)
}

// Announce stores an announcement in one transaction: it deletes the problems in Close, stores those in Open, does the
// same with groups, and puts the notices into the outboxes of the receivers.
func (s *Store) Announce(ctx context.Context, a fleet.Announcement) error {
	_, err := write(ctx, s, "announce problems", func(t *tx) (none struct{}, err error) {
		for _, key := range a.Close {
			err := t.exec(`DELETE FROM problems WHERE device_id = $1 AND folder = $2 AND kind = $3`, string(key.Device),
				folderColumn(key), string(key.Kind))
			if err != nil {
				return none, err
			}
		}
		for _, p := range a.Open {
			if err := t.openProblem(p); err != nil {
				return none, err
			}
		}
		if err := t.tellGroups(a.Tell, a.Forget); err != nil {
			return none, err
		}
		for _, post := range a.Posts {
			if err := t.post([]fleet.Notice{post.Notice}, post.Receivers); err != nil {
				return none, err
			}
		}
		return none, t.post(a.Notices, a.Receivers)
	})
	return err
}

func (t *tx) openProblem(p fleet.Problem) error {
	if !storable(folderColumn(p.ProblemKey), maxFolderBytes) {
		return fleet.Invalidf("folder", "a folder's ID is text of at most %d bytes without NUL characters", maxFolderBytes)
	}
	body, err := json.Marshal(problemBody{Label: p.Label, Reason: p.Reason, Next: p.Next, Since: p.Since, Tags: p.Tags,
		Routed: p.Routed})
	if err != nil {
		return err
	}
	return t.exec(`
		INSERT INTO problems (device_id, folder, kind, notice_id, body, announced_at) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (device_id, folder, kind) DO UPDATE
		SET notice_id = excluded.notice_id, body = excluded.body, announced_at = excluded.announced_at`,
		string(p.Device), folderColumn(p.ProblemKey), string(p.Kind), p.ID, string(body), millis(p.AnnouncedAt))
}

// post puts notices into the outbox of every receiver. Notices that are committed later have larger sequence numbers,
// because there is only one writer.
func (t *tx) post(notices []fleet.Notice, receivers []string) error {
	for _, receiver := range receivers {
		if !storable(receiver, maxReceiverBytes) {
			return fleet.Invalidf("receiver", "the name of a receiver is text of at most %d bytes", maxReceiverBytes)
		}
	}
	for _, n := range notices {
		body, err := json.Marshal(n)
		if err != nil {
			return err
		}
		for _, receiver := range receivers {
			if err := t.exec(`INSERT INTO outbox (receiver, body) VALUES ($1, $2)`, receiver, string(body)); err != nil {
				return err
			}
		}
	}
	return nil
}

// Outbox returns the notices that wait for a receiver and have sequence numbers from after+1 on, in the order of these
// numbers. limit is how many it returns at most.
func (s *Store) Outbox(ctx context.Context, receiver string, after int64, limit int) ([]fleet.Waiting, error) {
	waiting, err := collect(ctx, pool{s.reads}, func(row scanner) (w fleet.Waiting, err error) {
		var text string
		if err := row.Scan(&w.Sequence, &text); err != nil {
			return w, err
		}
		if err := json.Unmarshal([]byte(text), &w.Notice); err != nil {
			return w, fmt.Errorf("read notice %d: %w", w.Sequence, err)
		}
		return w, nil
	}, `SELECT sequence, body FROM outbox WHERE receiver = $1 AND sequence > $2 ORDER BY sequence LIMIT $3`, receiver,
		after, limit)
	return waiting, failure("read outbox", err)
}

// Delivered removes a notice from a receiver's outbox. A notice that was removed before is no error.
func (s *Store) Delivered(ctx context.Context, receiver string, sequence int64) error {
	_, err := write(ctx, s, "take a notice out of the outbox", func(t *tx) (none struct{}, err error) {
		return none, t.exec(`DELETE FROM outbox WHERE sequence = $1 AND receiver = $2`, sequence, receiver)
	})
	return err
}

// Waiting returns how many notices wait for each receiver.
func (s *Store) Waiting(ctx context.Context) (map[string]int, error) {
	type count struct {
		receiver string
		waiting  int
	}
	counts, err := collect(ctx, pool{s.reads}, func(row scanner) (c count, err error) {
		return c, row.Scan(&c.receiver, &c.waiting)
	}, `SELECT receiver, COUNT(*) FROM outbox GROUP BY receiver`)
	if err != nil {
		return nil, failure("count the outbox", err)
	}
	waiting := make(map[string]int, len(counts))
	for _, c := range counts {
		waiting[c.receiver] = c.waiting
	}
	return waiting, nil
}

// Discard empties a receiver's outbox.
func (s *Store) Discard(ctx context.Context, receiver string) error {
	_, err := write(ctx, s, "empty an outbox", func(t *tx) (none struct{}, err error) {
		return none, t.exec(`DELETE FROM outbox WHERE receiver = $1`, receiver)
	})
	return err
}
