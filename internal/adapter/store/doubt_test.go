package store

import (
	"context"
	"maps"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strings"
	"testing"

	"muster/internal/fleet"
)

// load is loadBy with all marked tables compared.
func (s *Store) load(ctx context.Context, q querier) (contents, error) {
	return s.loadBy(ctx, q, markedTables)
}

// A start had every member of every rollout in memory at once. The test does not run beside others: it measures memory.
func TestComparingATableKeepsItsRowsOutOfMemory(t *testing.T) {
	const rows, most = 100_000, 8 << 20
	s := open(t, Options{Home: preparedHome(t), Seal: key(t, 1)})
	db := openWrites(t, s)
	db.SetMaxOpenConns(1)
	for _, text := range []string{`PRAGMA foreign_keys = 0`, `
		INSERT INTO rollout_members (rollout_id, device_id, position, wave, was, errors, held, from_generation, waived,
			superseded, mark)
		WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 99999)
		SELECT i / 2000, 'device ' || (i % 2000), i % 2000, 1, 'in sync', '[]', '[]', 7, FALSE, FALSE, CAST('x' AS BLOB)
		FROM n`} {
		must(db.ExecContext(t.Context(), text))(t)
	}
	defer debug.SetGCPercent(debug.SetGCPercent(10)) // the last collection is then near the most that was in memory
	runtime.GC()
	before := liveBytes()
	doubts := must(s.doubtsIn(t.Context(), pool{s.reads}, []*markedTable{memberRows}, nil))(t)
	kept := liveBytes() - before
	t.Logf("%d bytes were kept", kept)
	if kept > most {
		t.Errorf("comparing %d rows kept %d bytes, want at most %d", rows, kept, most)
	}
	if len(doubts) != 1 || len(doubts[0].rows)+doubts[0].more != rows || len(doubts[0].tells()) != maxDoubtRows+2 {
		t.Fatalf("got %d doubts, and %d and %d rows", len(doubts), len(doubts[0].rows), doubts[0].more)
	}
}

// liveBytes returns how much memory the last garbage collection found in use.
func liveBytes() int64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64()) //nolint:gosec // far from 63 bits
}

// statements returns the statements that the writer has run on its connection.
func (m *meddled) statements() (statements []string) {
	m.t.Helper()
	must(write(m.t.Context(), m.Store, "name the statements", func(t *tx) (none struct{}, err error) {
		t.committed(func() { statements = slices.Collect(maps.Keys(m.writer.session.stmts)) })
		return none, nil
	}))(m.t)
	return statements
}

// connectAnew has the writer make a new connection, and returns the statements that it has run on it since.
func (m *meddled) connectAnew() (statements []string) {
	m.t.Helper()
	must(write(m.t.Context(), m.Store, "connect anew", func(t *tx) (none struct{}, err error) {
		t.committed(func() {
			if m.writer.startOver(); m.writer.session != nil {
				statements = slices.Collect(maps.Keys(m.writer.session.stmts))
			}
		})
		return none, nil
	}))(m.t)
	return statements
}

// Each new connection compared all rows that changes and rollouts ever left. Where that took longer than
// reconnectLimit, no connection was made any more.
func TestANewConnectionComparesNoTableThatGrows(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		m := newMeddled(t, options)
		statements := m.connectAnew()
		for _, table := range markedTables {
			compared := slices.Contains(statements, `SELECT `+table.columns("")+` FROM `+table.name+table.where(""))
			if want := !slices.Contains(growingTables, table); compared != want {
				t.Errorf("%s compared: %v, want %v", table.name, compared, want)
			}
		}
	})
}

// What the start found in such a table counts after a new connection too.
func TestANewConnectionKeepsTheDoubtsAboutTablesThatGrow(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		m := newMeddled(t, options)
		m.keep("consents")
		if err := m.CloseConsents(t.Context(), []int64{must(m.OpenConsents(t.Context()))(t)[0].ID}, 8); err != nil {
			t.Fatal(err)
		}
		m.meddle(func() {}, func() {}) // puts the earlier rows back
		m.exec(`DELETE FROM rollout_members`)
		m.restart(options)
		m.connectAnew()
		m.wantMode("after a new connection", fleet.ModeObserve)
		if open := must(m.OpenConsents(t.Context()))(t); len(open) > 0 {
			t.Errorf("consents count: %+v", open)
		}
		accepted := must(m.AcceptLoss(t.Context(), 1, m.accept.now()))(t)
		if text := strings.Join(accepted, "; "); !strings.Contains(text, "rollout_members") {
			t.Errorf("accepted is %s", text)
		}
		m.connectAnew()
		m.wantResumed("once it is accepted")
	})
}
