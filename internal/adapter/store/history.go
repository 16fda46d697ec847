package store

import (
	"context"
	"time"

	"muster/internal/fleet"
)

// historySteps maps each step of the history to the number of points that are kept. Points of a minute are kept for a
// day, points of an hour for a month.
var historySteps = map[time.Duration]int64{time.Minute: 24 * 60, time.Hour: 31 * 24}

const (
	historyColumns = `began_at, devices, online, in_sync, waiting, need_bytes, problems,
		folders, up_to_date, troubled`
	// written counts the rows in the order of writing. A row keeps its number when it is written again, for example after
	// the clock was set back.
	putHistory = `
		INSERT INTO history (step, ` + historyColumns + `, written)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11,
			(SELECT COALESCE(MAX(written), 0) + 1 FROM history WHERE step = $1))
		ON CONFLICT (step, began_at) DO UPDATE SET devices = excluded.devices, online = excluded.online,
			in_sync = excluded.in_sync, waiting = excluded.waiting, need_bytes = excluded.need_bytes,
			problems = excluded.problems, folders = excluded.folders, up_to_date = excluded.up_to_date,
			troubled = excluded.troubled`
	// This deletes the rows that were written first, whatever their times are: a clock that was wrong for a while must
	// not delete everything.
	pruneHistory = `
		DELETE FROM history WHERE step = $1
			AND written <= (SELECT MAX(written) FROM history WHERE step = $1) - CAST($2 AS BIGINT)`
	selectHistory = `
		SELECT ` + historyColumns + ` FROM history WHERE step = $1 AND began_at > $2 AND began_at <= $3 ORDER BY began_at`
)

// PutHistoryPoint stores the fleet's numbers of one minute, and computes the numbers of that hour again from its
// minutes.
func (s *Store) PutHistoryPoint(ctx context.Context, p fleet.HistoryPoint) error {
	_, err := write(ctx, s, "keep the history", func(t *tx) (none struct{}, err error) {
		p.At = p.At.UTC().Truncate(time.Minute)
		if err := t.putHistory(time.Minute, p); err != nil {
			return none, err
		}
		hour := p.At.Truncate(time.Hour)
		minutes, err := collect(t.ctx, t.session, scanHistory, selectHistory, seconds(time.Minute), hour.UnixMilli()-1,
			hour.Add(time.Hour).UnixMilli()-1)
		if err != nil {
			return none, err
		}
		return none, t.putHistory(time.Hour, summedUp(hour, minutes))
	})
	return err
}

func (t *tx) putHistory(step time.Duration, p fleet.HistoryPoint) error {
	if err := t.exec(putHistory, seconds(step), p.At.UnixMilli(), p.Devices, p.Online, p.InSync, p.Waiting, p.NeedBytes,
		p.Problems, p.Folders, p.UpToDate, p.Troubled); err != nil {
		return err
	}
	return t.exec(pruneHistory, seconds(step), historySteps[step])
}

// summedUp returns the point of an hour from the points of its minutes. Waiting, Problems and Troubled are the maximum
// of the minutes; all other numbers are the mean.
func summedUp(hour time.Time, minutes []fleet.HistoryPoint) fleet.HistoryPoint {
	out := fleet.HistoryPoint{At: hour}
	mean := func(of func(fleet.HistoryPoint) int64) int64 {
		sum := 0.0 // a float, because 60 numbers of bytes may be more than an int64 holds
		for _, p := range minutes {
			sum += float64(of(p))
		}
		return int64(min(sum/float64(len(minutes))+0.5, 1<<62))
	}
	out.Devices = mean(func(p fleet.HistoryPoint) int64 { return p.Devices })
	out.Online = mean(func(p fleet.HistoryPoint) int64 { return p.Online })
	out.InSync = mean(func(p fleet.HistoryPoint) int64 { return p.InSync })
	out.NeedBytes = mean(func(p fleet.HistoryPoint) int64 { return p.NeedBytes })
	out.Folders = mean(func(p fleet.HistoryPoint) int64 { return p.Folders })
	out.UpToDate = mean(func(p fleet.HistoryPoint) int64 { return p.UpToDate })
	for _, p := range minutes {
		out.Waiting, out.Problems = max(out.Waiting, p.Waiting), max(out.Problems, p.Problems)
		out.Troubled = max(out.Troubled, p.Troubled)
	}
	return out
}

// History returns points, oldest first. step is a minute, for the last day, or an hour, for the last month. It leaves
// out points in the future, which were written before the clock was set back.
func (s *Store) History(ctx context.Context, step time.Duration) ([]fleet.HistoryPoint, error) {
	many, known := historySteps[step]
	if !known {
		return nil, fleet.Invalidf("step", "the history has steps of a minute and of an hour")
	}
	now := s.clock()
	points, err := collect(ctx, pool{s.reads}, scanHistory, selectHistory, seconds(step),
		now.Add(-step*time.Duration(many)).UnixMilli(), now.UnixMilli())
	return points, failure("read the history", err)
}

func seconds(step time.Duration) int64 { return int64(step / time.Second) }

func scanHistory(row scanner) (p fleet.HistoryPoint, err error) {
	var began int64
	err = row.Scan(&began, &p.Devices, &p.Online, &p.InSync, &p.Waiting, &p.NeedBytes, &p.Problems,
		&p.Folders, &p.UpToDate, &p.Troubled)
	p.At = time.UnixMilli(began).UTC()
	return p, err
}
