package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"muster/internal/fleet"
)

// manyRevisions gives a device so many that alternate between two configurations, after one of its own.
func manyRevisions(t *testing.T, s *Store, id fleet.DeviceID, count int) {
	t.Helper()
	see := func(digest string) fleet.Observation {
		return fleet.Observation{Device: id, Config: &fleet.ObservedConfig{JSON: []byte(digest), Digest: digest,
			SeenAt: seenAt}}
	}
	all := []fleet.Observation{see("first")}
	for n := 1; n < count; n++ {
		all = append(all, see(fmt.Sprintf("digest %d", n%2)))
	}
	observe(t, s, all...)
}

func TestOthersWriteWhileOldRevisionsAreForgotten(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		d, full, small := put(t, s, deviceN(1)), put(t, s, deviceN(2)), put(t, s, deviceN(3))
		const each, kept = 2*pruneLength + 10, 10
		manyRevisions(t, s, d.ID, each)
		manyRevisions(t, s, full.ID, each)
		manyRevisions(t, s, small.ID, kept)

		release := hold(t, s)
		type result struct {
			forgotten int64
			err       error
		}
		pruned, seen := make(chan result, 1), make(chan result, 1)
		go func() {
			n, err := s.PruneRevisions(t.Context(), Retention{Revisions: kept})
			pruned <- result{n, err}
		}()
		waitQueued(t, s, 1)
		go func() { // in the same batch as the first round
			n, err := write(t.Context(), s, "count", func(t *tx) (n int64, err error) {
				err = t.row(`SELECT COUNT(*) FROM revisions`).Scan(&n)
				return n, err
			})
			seen <- result{n, err}
		}()
		waitQueued(t, s, 2)
		release()

		if got, want := <-seen, (result{2*each + kept - pruneLength, nil}); got != want {
			t.Errorf("after the first round: got %+v, want %+v", got, want)
		}
		if got, want := <-pruned, (result{2 * (each - kept), nil}); got != want {
			t.Errorf("forgotten: got %+v, want %+v", got, want)
		}
		for _, id := range []fleet.DeviceID{d.ID, full.ID, small.ID} {
			revisions := must(s.Revisions(t.Context(), id))(t)
			if len(revisions) != kept {
				t.Errorf("%d are left, want %d", len(revisions), kept)
			}
			for _, r := range revisions { // the forgotten ones had the same documents
				if got := must(s.Revision(t.Context(), id, r.Number))(t); string(got.JSON) != r.Digest {
					t.Errorf("revision %d: got %q, want %q", r.Number, got.JSON, r.Digest)
				}
			}
		}
		// Two each, and the first of the device that keeps everything.
		if bodies := rowsOf(t, s, "revision_bodies"); len(bodies) != 7 {
			t.Errorf("got %d documents", len(bodies))
		}
	})
}

func TestForgettingEndsWithItsContext(t *testing.T) {
	t.Parallel()
	s := open(t, Options{Home: preparedHome(t), Seal: key(t, 1)})
	d := put(t, s, deviceN(1))
	manyRevisions(t, s, d.ID, 3*pruneLength)
	release := hold(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := s.PruneRevisions(ctx, Retention{Revisions: 1})
		done <- err
	}()
	waitQueued(t, s, 1)
	cancel()
	wantCode(t, <-done, fleet.CodeUnavailable)
	release()
	if got := len(must(s.Revisions(t.Context(), d.ID))(t)); got != 3*pruneLength {
		t.Errorf("%d are left", got)
	}
}

func TestOldRevisionsAreFoundByIndex(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		s := open(t, options)
		explain, pass := "EXPLAIN QUERY PLAN ", "SCAN"
		if options.DSN != "" {
			explain, pass = "EXPLAIN ", "Seq Scan"
		}
		id := deviceN(1).ID
		r := Retention{Revisions: 1, Age: time.Hour}
		for _, c := range []struct {
			text string
			args []any
		}{
			{countOld, r.old(id, seenAt)}, {deleteOld, r.old(id, seenAt, pruneLength)},
			{deleteUnusedBody, []any{string(id), "digest"}},
		} {
			plan := must(write(t.Context(), s, "explain", func(t *tx) ([]string, error) {
				if options.DSN != "" { // small tables are read as a whole where that is allowed
					if err := t.exec(`SET LOCAL enable_seqscan = off`); err != nil {
						return nil, err
					}
				}
				return collect(t.ctx, t.session, func(row scanner) (line string, err error) {
					if options.DSN != "" {
						return line, row.Scan(&line)
					}
					var ignored int
					err = row.Scan(&ignored, &ignored, &ignored, &line)
					return line, err
				}, explain+c.text, c.args...)
			}))(t)
			passes := slices.ContainsFunc(plan, func(line string) bool { return strings.Contains(line, pass) })
			if indexed := strings.Contains(strings.Join(plan, "\n"), "device_id"); passes || !indexed {
				t.Errorf("%s\n%s", c.text, strings.Join(plan, "\n"))
			}
		}
	})
}

// With --keep-revisions 100 a device had 491 until the next hour.
func TestRevisionsBeyondTheirNumberAreForgottenAtOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		const kept = 5
		s := open(t, options)
		s.SetRetention(Retention{Revisions: kept})
		d := put(t, s, deviceN(1))
		manyRevisions(t, s, d.ID, 30)
		revisions := must(s.Revisions(t.Context(), d.ID))(t)
		if len(revisions) != kept {
			t.Errorf("%d are left", len(revisions))
		}
		for _, r := range revisions {
			if got := must(s.Revision(t.Context(), d.ID, r.Number))(t); string(got.JSON) != r.Digest {
				t.Errorf("revision %d has another document", r.Number)
			}
		}
	})
}

// A stolen token of an administrator set a small number, made changes, and what was configured before was gone.
func TestRevisionsOfTheLastTimeStayBeyondTheirNumber(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		clock := &stoppedClock{at: seenAt}
		options.Now = clock.now
		s := open(t, options)
		s.SetRetention(Retention{Revisions: 2, Recent: 168 * time.Hour})
		d := put(t, s, deviceN(1))
		const hours = 24
		for n := range 12 { // one each day
			digest := fmt.Sprint("config ", n)
			observe(t, s, fleet.Observation{Device: d.ID, Config: &fleet.ObservedConfig{JSON: []byte(digest), Digest: digest,
				SeenAt: clock.now()}})
			clock.move(hours * time.Hour)
		}
		must(s.PruneRevisions(t.Context(), s.kept()))(t)
		// The last revision came a day ago. The seven that were replaced within a week stay besides it.
		revisions := must(s.Revisions(t.Context(), d.ID))(t)
		if len(revisions) != 8 || revisions[7].Number != 5 {
			t.Errorf("got %d, the oldest is %d", len(revisions), revisions[len(revisions)-1].Number)
		}
		if n := must(s.PruneRevisions(t.Context(), Retention{Revisions: 2}))(t); n != 6 {
			t.Errorf("the number alone forgets %d", n)
		}
	})
}

// A daemon that shows another configuration each time must not fill the disk.
func TestNoMoreThanAThousandRevisionsOfTheLastTimeStay(t *testing.T) {
	t.Parallel()
	s := open(t, Options{Home: preparedHome(t), Seal: key(t, 1)})
	d := put(t, s, deviceN(1))
	manyRevisions(t, s, d.ID, maxRecent+20)
	if n := must(s.PruneRevisions(t.Context(), Retention{Revisions: 10, Recent: 1 << 62}))(t); n != 20 {
		t.Errorf("forgot %d", n)
	}
}
