package store

import (
	"math"
	"sync/atomic"
	"testing"
	"time"

	"muster/internal/fleet"
)

// historian is a store with a clock that a test sets.
type historian struct {
	*Store
	t   *testing.T
	now atomic.Int64 // Unix seconds
}

func newHistorian(t *testing.T, options Options) *historian {
	h := &historian{t: t}
	options.Now = func() time.Time { return time.Unix(h.now.Load(), 0) }
	h.set(time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC))
	h.Store = open(t, options)
	return h
}

func (h *historian) set(at time.Time) { h.now.Store(at.Unix()) }

// keep puts a point of the present and has a minute pass.
func (h *historian) keep(p fleet.HistoryPoint) {
	h.t.Helper()
	p.At = time.Unix(h.now.Load(), 0)
	if err := h.PutHistoryPoint(h.t.Context(), p); err != nil {
		h.t.Fatal(err)
	}
	h.now.Add(60)
}

func (h *historian) points(step time.Duration) []fleet.HistoryPoint {
	h.t.Helper()
	return must(h.History(h.t.Context(), step))(h.t)
}

func TestHistoryKeepsMinutesAndTheHourOfThem(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		h := newHistorian(t, options)
		h.keep(fleet.HistoryPoint{Devices: 10, Online: 4, InSync: 2, NeedBytes: 100, Waiting: 1, Folders: 4, UpToDate: 2,
			Troubled: 5})
		h.keep(fleet.HistoryPoint{Devices: 10, Online: 7, InSync: 3, NeedBytes: 300, Problems: 2, Folders: 4, UpToDate: 4,
			Troubled: 1})
		at := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
		minutes, hours := h.points(time.Minute), h.points(time.Hour)
		if len(minutes) != 2 || !minutes[0].At.Equal(at) || !minutes[1].At.Equal(at.Add(time.Minute)) ||
			minutes[0].Online != 4 ||
			minutes[0].Waiting != 1 ||
			minutes[1].Problems != 2 {
			t.Errorf("got the minutes %+v", minutes)
		}
		want := fleet.HistoryPoint{At: at, Devices: 10, Online: 6, InSync: 3, NeedBytes: 200, Waiting: 1, Problems: 2,
			Folders: 4, UpToDate: 3, Troubled: 5}
		if len(hours) != 1 || hours[0] != want {
			t.Errorf("got the hours %+v, want %+v", hours, want)
		}
		if _, err := h.History(t.Context(), time.Second); fleet.CodeOf(err) != fleet.CodeInvalid {
			t.Errorf("steps of a second: %v", err)
		}
	})
}

func TestHistoryIsKeptOverARestartWithItsGap(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		h := newHistorian(t, options)
		h.keep(fleet.HistoryPoint{Online: 1})
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
		h.now.Add(3600)
		options.Now = func() time.Time { return time.Unix(h.now.Load(), 0) }
		h.Store = open(t, options)
		h.keep(fleet.HistoryPoint{Online: 2})
		got := h.points(time.Minute)
		if len(got) != 2 || got[1].At.Sub(got[0].At) != 61*time.Minute || got[0].Online != 1 {
			t.Errorf("got %+v", got)
		}
	})
}

func TestHistoryIsPrunedToADayAndAMonth(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		h := newHistorian(t, options)
		for range 3 {
			h.keep(fleet.HistoryPoint{Online: 1})
		}
		h.fill(60, 24*60)
		h.fill(3600, 31*24)
		h.keep(fleet.HistoryPoint{Online: 5})
		for step, most := range map[int64]int64{60: 24 * 60, 3600: 31 * 24} {
			var kept int64
			if err := h.reads.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM history WHERE step = $1`, step).
				Scan(&kept); err != nil || kept > most || kept < most-1 {
				t.Errorf("%d rows of %d seconds are kept, %v; want %d", kept, step, err, most)
			}
		}
	})
}

// fill writes so many rows of a step into the past.
func (h *historian) fill(step, many int64) {
	h.t.Helper()
	_, err := write(h.t.Context(), h.Store, "fill", func(t *tx) (none struct{}, err error) {
		for i := range many {
			if err = t.putHistory(time.Duration(step)*time.Second,
				fleet.HistoryPoint{At: time.Unix(h.now.Load()-i*step-7200, 0)}); err != nil {
				return none, err
			}
		}
		return none, nil
	})
	if err != nil {
		h.t.Fatal(err)
	}
}

func TestAClockThatWasSetWrongForgetsNoHistory(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		h := newHistorian(t, options)
		right := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
		h.keep(fleet.HistoryPoint{Online: 1})
		for _, wrong := range []time.Time{right.AddDate(10, 0, 0), right.AddDate(-30, 0, 0)} {
			h.set(wrong)
			h.keep(fleet.HistoryPoint{Online: 99})
			if got := h.points(time.Minute); len(got) != 1 || got[0].Online != 99 {
				t.Errorf("in %d: got %+v", wrong.Year(), got)
			}
		}
		h.set(right.Add(time.Minute))
		h.keep(fleet.HistoryPoint{Online: 2})
		if got := h.points(time.Minute); len(got) != 2 || got[0].Online != 1 || got[1].Online != 2 {
			t.Errorf("got %+v", got)
		}
		h.set(right) // back by two minutes: the minute is there already
		h.keep(fleet.HistoryPoint{Online: 3})
		if got := h.points(time.Minute); len(got) != 2 || got[0].Online != 3 || got[1].Online != 2 {
			t.Errorf("after the clock was set back: got %+v", got)
		}
	})
}

func TestBytesOfALyingDaemonOverflowedTheHistory(t *testing.T) {
	const most = math.MaxInt64
	for _, c := range []struct{ sum, more, want int64 }{{1, 2, 3}, {5, -7, 5}, {most, 1, most}, {most - 1, most, most}} {
		if got := fleet.AddBytes(c.sum, c.more); got != c.want {
			t.Errorf("%d and %d: got %d", c.sum, c.more, got)
		}
	}
	onBoth(t, func(t *testing.T, options Options) {
		h := newHistorian(t, options)
		for range 3 {
			h.keep(fleet.HistoryPoint{NeedBytes: most})
		}
		if got := h.points(time.Hour); len(got) != 1 || got[0].NeedBytes <= 0 {
			t.Errorf("got %+v", got)
		}
	})
}
