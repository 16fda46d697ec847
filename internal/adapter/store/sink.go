package store

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"muster/internal/fleet"
)

// sinkBody is what the column body of the table sinks has, sealed.
type sinkBody struct {
	Kind    fleet.SinkKind     `json:"kind"`
	Address string             `json:"address"`
	Streams []fleet.SinkStream `json:"streams"`
	Index   string             `json:"index,omitempty"`
	Headers map[string]string  `json:"headers,omitempty"`
}

// Sinks returns all sinks, sorted by name, as of the last commit. A sink whose row Muster did not write is left out.
func (s *Store) Sinks() (all []fleet.Sink) {
	s.model.look(func(c *contents) {
		for _, name := range slices.Sorted(maps.Keys(c.sinks)) {
			all = append(all, c.sinks[name])
		}
	})
	return all
}

// PutSink adds or replaces a sink. Headers that are nil stay as they are, unless the sink gets another address or kind:
// a log-in may not go to a server that it is not for. A new sink, or one that gets the audit anew, begins with what is
// recorded from now on.
func (s *Store) PutSink(ctx context.Context, sink fleet.Sink) (saved fleet.Sink, created bool, err error) {
	type result struct {
		sink    fleet.Sink
		created bool
	}
	done, err := write(ctx, s, "put sink", func(t *tx) (result, error) {
		sink, created, err := t.putSink(sink)
		return result{sink, created}, err
	})
	return done.sink, done.created, err
}

func (t *tx) putSink(sink fleet.Sink) (fleet.Sink, bool, error) {
	was, exists := t.sinks()[sink.Name]
	if sink.Headers == nil && exists {
		if len(was.Headers) > 0 && (was.Address != sink.Address || was.Kind != sink.Kind) {
			return sink, false, fleet.Invalidf("headers",
				"the sink gets another address: give its headers again, since those that are stored are for the former one")
		}
		sink.Headers = was.Headers
	}
	if !exists && len(t.sinks()) >= fleet.MaxSinks {
		return sink, false, fleet.Invalidf("name", "there are %d sinks, which is the most", fleet.MaxSinks)
	}
	sink, err := sink.Check()
	if err != nil {
		return sink, false, err
	}
	if exists {
		t.forget() // its headers may be others now
	}
	sink.By, sink.At = t.who, t.now.Truncate(time.Millisecond)
	t.record("sink.put", sink.Name, describeSink(sink))
	t.changeSinks(func(all map[string]fleet.Sink) { all[sink.Name] = sink })
	if err := t.marking(sinkRows, func() error { return t.storeSink(sink) }, sink.Name); err != nil {
		return sink, false, err
	}
	return sink, !exists, t.beginSink(sink)
}

// sinks returns the sinks in memory, with the changes that earlier writes of the batch make.
func (t *tx) sinks() map[string]fleet.Sink {
	var is map[string]fleet.Sink
	t.store.model.look(func(c *contents) { is = c.sinks })
	return changedSinks(is, t.pending.sinks...)
}

type sinkChange func(map[string]fleet.Sink)

func changedSinks(is map[string]fleet.Sink, by ...sinkChange) map[string]fleet.Sink {
	all := map[string]fleet.Sink{}
	maps.Copy(all, is)
	for _, change := range by {
		change(all)
	}
	return all
}

func (t *tx) changeSinks(change sinkChange) {
	t.effects.sinks = append(t.effects.sinks, change)
	t.register(func(c *contents) { c.sinks = changedSinks(c.sinks, change) })
}

func (t *tx) storeSink(sink fleet.Sink) error {
	body := sinkBody{Kind: sink.Kind, Address: sink.Address, Streams: sink.Streams, Index: sink.Index,
		Headers: map[string]string{}}
	for name, value := range sink.Headers {
		body.Headers[name] = value.Reveal()
	}
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return t.exec(`INSERT INTO sinks (name, body, saved_by, saved_at) VALUES ($1, $2, $3, $4)
		ON CONFLICT (name) DO UPDATE SET body = excluded.body, saved_by = excluded.saved_by, saved_at = excluded.saved_at`,
		sink.Name, t.store.seal.Seal("sinks", sink.Name, "body", text), sink.By, millis(sink.At))
}

// beginSink makes the cursor of a new sink, or fits the cursor to the streams that the sink gets now.
func (t *tx) beginSink(sink fleet.Sink) error {
	kinds := kindsText(sink.Kinds())
	newest := `-1`
	if sink.HasAudit() {
		newest = `(SELECT COALESCE(MAX(id), 0) FROM audit)`
	}
	return t.exec(`INSERT INTO sink_cursors (name, kinds, audit, number, sent, lost, gaps, dead)
		VALUES ($1, $2, `+newest+`, (SELECT COALESCE(MAX(number), 0) FROM event_log), 0, 0, 0, 0)
		ON CONFLICT (name) DO UPDATE SET kinds = excluded.kinds, audit = CASE
			WHEN excluded.audit < 0 OR sink_cursors.audit < 0 THEN excluded.audit ELSE sink_cursors.audit END`,
		sink.Name, kinds)
}

func kindsText(kinds []fleet.LogKind) string {
	text := ","
	for _, kind := range kinds {
		text += string(kind) + ","
	}
	return text
}

// describeSink is what the audit has of a sink. The path of its address is left out, since it may hold a secret.
func describeSink(sink fleet.Sink) string {
	streams := make([]string, len(sink.Streams))
	for i, stream := range sink.Streams {
		streams[i] = string(stream)
	}
	return fmt.Sprintf("%s %s, streams %s", sink.Kind, cmp.Or(sink.Host(), "in the server's home"),
		strings.Join(streams, ", "))
}

// DeleteSink removes a sink, its cursor and its dead letters.
func (s *Store) DeleteSink(ctx context.Context, name string) error {
	_, err := write(ctx, s, "delete sink", func(t *tx) (none struct{}, err error) {
		if _, exists := t.sinks()[name]; !exists {
			return none, noSink(name)
		}
		t.forget()
		t.record("sink.delete", name, "")
		t.changeSinks(func(all map[string]fleet.Sink) { delete(all, name) })
		return none, t.marking(sinkRows, func() error { return t.exec(`DELETE FROM sinks WHERE name = $1`, name) }, name)
	})
	return err
}

func noSink(name string) error {
	return &fleet.Error{Code: fleet.CodeNotFound, Message: fmt.Sprintf("there is no sink %q", name)}
}

// SinkCursors returns the cursor of each sink by its name.
func (s *Store) SinkCursors(ctx context.Context) (map[string]fleet.SinkCursor, error) {
	all := map[string]fleet.SinkCursor{}
	err := eachRow(ctx, pool{s.reads}, func(row scanner) error {
		var name string
		var c fleet.SinkCursor
		if err := row.Scan(&name, &c.Log, &c.Audit, &c.Sent, &c.Lost, &c.Gaps, &c.Dead); err != nil {
			return err
		}
		all[name] = c
		return nil
	}, `SELECT name, number, audit, sent, lost, gaps, dead FROM sink_cursors`)
	return all, failure("read how far sinks are", err)
}

// SinkWaits returns how many entries each sink has not got yet, by its name. Of each stream it counts at most limit.
func (s *Store) SinkWaits(ctx context.Context, limit int) (map[string]int64, error) {
	all := map[string]int64{}
	err := eachRow(ctx, pool{s.reads}, func(row scanner) error {
		var name string
		var lost, logged, audited int64
		if err := row.Scan(&name, &lost, &logged, &audited); err != nil {
			return err
		}
		all[name] = lost + logged + audited
		return nil
	}, `SELECT c.name, c.lost,
		(SELECT COUNT(*) FROM (SELECT 1 FROM event_log e WHERE e.number > c.number
			AND c.kinds LIKE '%,' || e.kind || ',%' LIMIT CAST($1 AS BIGINT)) AS logged),
		(SELECT COUNT(*) FROM (SELECT 1 FROM audit a WHERE c.audit >= 0 AND a.id > c.audit
			LIMIT CAST($1 AS BIGINT)) AS audited)
		FROM sink_cursors c`, limit)
	return all, failure("count what waits for sinks", err)
}

// AdvanceSink records what a sink took, after its answer. It changes nothing if the sink is gone, or somebody moved its
// cursor since it was read as from.
func (s *Store) AdvanceSink(ctx context.Context, name string, from fleet.SinkCursor, by fleet.SinkProgress) error {
	_, err := write(ctx, s, "record what a sink took", func(t *tx) (none struct{}, err error) {
		moved, err := t.affect(`UPDATE sink_cursors SET number = $4, audit = $5, sent = sent + $6, lost = lost - $7,
			gaps = gaps + $7, dead = dead + $8 WHERE name = $1 AND number = $2 AND audit = $3
			AND lost >= $7`,
			name, from.Log, from.Audit, by.Log, by.Audit, by.Sent, by.Reported, len(by.Refused))
		if err != nil || moved == 0 {
			return none, err
		}
		for _, one := range by.Refused {
			if err := t.exec(`INSERT INTO sink_refusals (name, stream, number, at, reason) VALUES ($1, $2, $3, $4, $5)
				ON CONFLICT (name, stream, number) DO UPDATE SET at = excluded.at, reason = excluded.reason`,
				name, string(one.Stream), one.Number, millis(one.At), plainText(cut(one.Reason, maxLogReason))); err != nil {
				return none, err
			}
		}
		if len(by.Refused) == 0 {
			return none, nil
		}
		return none, t.exec(`DELETE FROM sink_refusals WHERE name = $1 AND at < (SELECT MIN(at) FROM (
			SELECT at FROM sink_refusals WHERE name = $1 ORDER BY at DESC LIMIT `+fmt.Sprint(keptRefusals)+`) AS newest)`, name)
	})
	return err
}

const keptRefusals = 200 // dead letters of each sink

// RewindSink has a sink get again what was recorded since a time, as far as it is still kept.
func (s *Store) RewindSink(ctx context.Context, name string, since time.Time) error {
	_, err := write(ctx, s, "replay to a sink", func(t *tx) (none struct{}, err error) {
		if _, exists := t.sinks()[name]; !exists {
			return none, noSink(name)
		}
		t.record("sink.replay", name, "since "+since.UTC().Format(time.RFC3339))
		// A cursor never moves forward here: what the sink did not get yet stays to be sent.
		return none, t.exec(`UPDATE sink_cursors SET
			number = COALESCE((SELECT MIN(number) - 1 FROM event_log WHERE at >= $2 AND number <= sink_cursors.number),
				number),
			audit = CASE WHEN audit < 0 THEN audit
				ELSE COALESCE((SELECT MIN(id) - 1 FROM audit WHERE at >= $2 AND id <= sink_cursors.audit), audit) END
			WHERE name = $1`, name, since.UnixMilli())
	})
	return err
}

// SinkRefusals returns what a sink refused, the newest first. Only the newest are kept.
func (s *Store) SinkRefusals(ctx context.Context, name string) ([]fleet.SinkRefusal, error) {
	all, err := collect(ctx, pool{s.reads}, func(row scanner) (one fleet.SinkRefusal, err error) {
		var at int64
		err = row.Scan((*string)(&one.Stream), &one.Number, &at, &one.Reason)
		one.At = timeOf(at)
		return one, err
	}, `SELECT stream, number, at, reason FROM sink_refusals WHERE name = $1 ORDER BY at DESC, number DESC`, name)
	return all, failure("read what a sink refused", err)
}

// countLost counts, for each sink, the entries of the event log that are about to be deleted and that the sink did not
// get. doomed is an SQL condition that selects those entries, with args from $1 on.
func (t *tx) countLost(doomed string, args ...any) error {
	return t.exec(`UPDATE sink_cursors SET lost = lost + (SELECT COUNT(*) FROM event_log e
		WHERE e.number > sink_cursors.number AND sink_cursors.kinds LIKE '%,' || e.kind || ',%' AND `+doomed+`)`, args...)
}

// loadSinks reads all sinks. One that does not open, or cannot be read, is left out.
func (s *Store) loadSinks(ctx context.Context, q querier, c *contents) error {
	c.sinks = map[string]fleet.Sink{}
	return eachRow(ctx, q, func(row scanner) error {
		var sink fleet.Sink
		var sealed []byte
		var at int64
		if err := row.Scan(&sink.Name, &sealed, &sink.By, &at); err != nil {
			return err
		}
		sink.At = timeOf(at)
		text, err := s.seal.Open("sinks", sink.Name, "body", sealed)
		if err != nil {
			return nil //nolint:nilerr // `muster audit verify` names the cell
		}
		var body sinkBody
		if err := json.Unmarshal(text, &body); err != nil {
			return nil //nolint:nilerr // a later version may have written it in another way
		}
		sink.Kind, sink.Address, sink.Streams, sink.Index = body.Kind, body.Address, body.Streams, body.Index
		for name, value := range body.Headers {
			if sink.Headers == nil {
				sink.Headers = map[string]fleet.Secret{}
			}
			sink.Headers[name] = fleet.NewSecret(value)
		}
		c.sinks[sink.Name] = sink
		return nil
	}, `SELECT name, body, saved_by, saved_at FROM sinks`)
}

// doubtSink takes away a sink that Muster did not write: it would send the audit to a stranger.
func doubtSink(c *contents, key []string) {
	c.sinks = changedSinks(c.sinks, func(all map[string]fleet.Sink) {
		if key == nil {
			clear(all)
			return
		}
		delete(all, key[0])
	})
}
