package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"muster/internal/fleet"
)

// deliveriesKept is how many entries the log of each channel has.
const deliveriesKept = 100

// toldBody is the part of a group that has no column of its own, as it is stored in JSON.
type toldBody struct {
	ID       string             `json:"id"`
	Since    time.Time          `json:"since"`
	ToldAt   time.Time          `json:"toldAt"`
	Count    int                `json:"count"`
	Problems []fleet.ProblemKey `json:"problems"`
}

// ToldGroups returns the groups of problems that channels were told of and that are not over.
func (s *Store) ToldGroups(ctx context.Context) ([]fleet.ToldGroup, error) {
	groups, err := collect(ctx, pool{s.reads}, func(row scanner) (g fleet.ToldGroup, err error) {
		var text string
		if err := row.Scan(&g.Channel, (*string)(&g.Kind), (*string)(&g.Tag), &text); err != nil {
			return g, err
		}
		var body toldBody
		if err := json.Unmarshal([]byte(text), &body); err != nil {
			return g, fmt.Errorf("read a group of problems: %w", err)
		}
		g.ID, g.Since, g.ToldAt, g.Count, g.Problems = body.ID, body.Since, body.ToldAt, body.Count, body.Problems
		return g, nil
	}, `SELECT channel, kind, tag, body FROM told_groups ORDER BY channel, kind, tag`)
	return groups, failure("read groups of problems", err)
}

func (t *tx) tellGroups(tell []fleet.ToldGroup, forget []fleet.ToldGroupKey) error {
	for _, key := range forget {
		if err := t.exec(`DELETE FROM told_groups WHERE channel = $1 AND kind = $2 AND tag = $3`, key.Channel,
			string(key.Kind), string(key.Tag)); err != nil {
			return err
		}
	}
	for _, g := range tell {
		body, err := json.Marshal(toldBody{g.ID, g.Since, g.ToldAt, g.Count, g.Problems})
		if err != nil {
			return err
		}
		if err := t.exec(`INSERT INTO told_groups (channel, kind, tag, body) VALUES ($1, $2, $3, $4)
			ON CONFLICT (channel, kind, tag) DO UPDATE SET body = excluded.body`, g.Channel, string(g.Kind),
			string(g.Tag), string(body)); err != nil {
			return err
		}
	}
	return nil
}

// LogDelivery adds an entry to the log of a channel, and removes the oldest.
func (s *Store) LogDelivery(ctx context.Context, channel string, d fleet.Delivery) error {
	if !storable(channel, maxReceiverBytes) {
		return fleet.Invalidf("receiver", "the name of a receiver is text of at most %d bytes", maxReceiverBytes)
	}
	_, err := write(ctx, s, "log a delivery", func(t *tx) (none struct{}, err error) {
		if err := t.exec(`INSERT INTO deliveries (channel, sent_at, notice_id, type, summary, accepted, answer)
			VALUES ($1, $2, $3, $4, $5, $6, $7)`, channel, millis(d.At), d.NoticeID, string(d.Type),
			plainText(d.Summary), d.Accepted, plainText(d.Answer)); err != nil {
			return none, err
		}
		return none, t.exec(`DELETE FROM deliveries WHERE channel = $1 AND sequence <= (SELECT sequence FROM deliveries
			WHERE channel = $1 ORDER BY sequence DESC LIMIT 1 OFFSET $2)`, channel, deliveriesKept)
	})
	return err
}

// Deliveries returns the log of a channel, the newest entry first.
func (s *Store) Deliveries(ctx context.Context, channel string) ([]fleet.Delivery, error) {
	all, err := collect(ctx, pool{s.reads}, func(row scanner) (d fleet.Delivery, err error) {
		var at int64
		err = row.Scan(&at, &d.NoticeID, (*string)(&d.Type), &d.Summary, &d.Accepted, &d.Answer)
		d.At = timeOf(at)
		return d, err
	}, `SELECT sent_at, notice_id, type, summary, accepted, answer FROM deliveries WHERE channel = $1
		ORDER BY sequence DESC LIMIT $2`, channel, deliveriesKept)
	return all, failure("read the log of a channel", err)
}
