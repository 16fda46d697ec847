package store

import (
	"context"
	"slices"
	"time"

	"muster/internal/fleet"
)

const (
	figureColumns = `f.began_at, f.devices, f.up_to_date, f.need_bytes, f.global_bytes, f.written`
	// written counts the rows of a folder in the order of writing. The row of the present hour is written again and
	// again, and keeps its number while it is the last row. If the clock was set back, a row of an earlier time is
	// written again, and gets the next number.
	putFigures = `
		INSERT INTO folder_figures (number, step, began_at, devices, up_to_date, need_bytes, global_bytes, written)
		VALUES ($1, $2, $3, $4, $5, $6, $7,
			(SELECT COALESCE(MAX(written), 0) + 1 FROM folder_figures WHERE number = $1 AND step = $2))
		ON CONFLICT (number, step, began_at) DO UPDATE SET devices = excluded.devices,
			up_to_date = excluded.up_to_date, need_bytes = excluded.need_bytes, global_bytes = excluded.global_bytes,
			written = CASE WHEN folder_figures.written = excluded.written - 1 THEN folder_figures.written
				ELSE excluded.written END`
	// written decides which rows are too many, as in the history of the fleet. A clock that was set back therefore does
	// not make new rows look old.
	pruneFigures = `
		DELETE FROM folder_figures WHERE number = $1 AND step = $2 AND written <= (SELECT MAX(written)
			FROM folder_figures WHERE number = $1 AND step = $2) - CAST($3 AS BIGINT)`
	selectFigures = `
		SELECT h.folder, ` + figureColumns + ` FROM folder_figures f JOIN folder_histories h ON h.number = f.number
		WHERE h.folder = $1 AND f.step = $2 AND f.began_at > $3 AND f.began_at <= $4 ORDER BY f.began_at`
	// This selects the last figures at or before the beginning of the queried time. Of the rows up to that time, the one
	// that was written last has them: rows with later times may have been written before it, while the clock ran ahead.
	selectFiguresAt = `
		SELECT h.folder, ` + figureColumns + ` FROM folder_figures f JOIN folder_histories h ON h.number = f.number
		WHERE h.folder = $1 AND f.step = $2 AND f.began_at <= $3 ORDER BY f.written DESC LIMIT 1`
	selectLastFigures = `
		SELECT h.folder, ` + figureColumns + ` FROM folder_histories h JOIN folder_figures f ON f.number = h.number
		AND f.step = $1 AND f.written = (SELECT MAX(written) FROM folder_figures WHERE number = h.number AND step = $1)`
)

// figuresAtOnce is the largest number of points or folders in one transaction. It is bounded because other writes wait
// for the transaction.
const figuresAtOnce = 200

// PutFolderFigures deletes the figures of the folders in edit.Forget, and stores the points in edit.Minutes and
// edit.Hours.
func (s *Store) PutFolderFigures(ctx context.Context, edit fleet.FolderHistoryEdit) error {
	if err := inParts(ctx, s, edit.Forget, (*tx).forgetFigures); err != nil {
		return err
	}
	if err := inParts(ctx, s, edit.Minutes, func(t *tx, points []fleet.FolderPoint) error {
		return t.putAllFigures(time.Minute, points)
	}); err != nil {
		return err
	}
	return inParts(ctx, s, edit.Hours, func(t *tx, points []fleet.FolderPoint) error {
		return t.putAllFigures(time.Hour, points)
	})
}

// inParts calls do with the elements of a list, at most figuresAtOnce at a time, each time in a transaction of its
// own. many is the list.
func inParts[T any](ctx context.Context, s *Store, many []T, do func(*tx, []T) error) error {
	for some := range slices.Chunk(many, figuresAtOnce) {
		if _, err := write(ctx, s, "keep figures of folders", func(t *tx) (none struct{}, err error) {
			return none, do(t, some)
		}); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) forgetFigures(folders []string) error {
	for _, folder := range folders {
		if err := t.exec(`DELETE FROM folder_histories WHERE folder = $1`, folder); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) putAllFigures(step time.Duration, points []fleet.FolderPoint) error {
	numbers, err := t.folderHistories()
	for _, p := range points {
		if err == nil {
			err = t.putFigures(numbers, step, p)
		}
	}
	return err
}

// folderHistories returns the number of each folder that has figures, by the folder's ID. The rows of the figures
// contain the number instead of the ID.
func (t *tx) folderHistories() (map[string]int64, error) {
	type numbered struct {
		folder string
		number int64
	}
	all, err := collect(t.ctx, t.session, func(row scanner) (n numbered, err error) {
		return n, row.Scan(&n.folder, &n.number)
	}, `SELECT folder, number FROM folder_histories`)
	numbers := make(map[string]int64, len(all))
	for _, one := range all {
		numbers[one.folder] = one.number
	}
	return numbers, err
}

// putFigures stores a point and deletes points that are too many. numbers are those that folderHistories returned. A
// folder without points gets the lowest free number, and putFigures adds it to numbers.
func (t *tx) putFigures(numbers map[string]int64, step time.Duration, p fleet.FolderPoint) error {
	number, known := numbers[p.Folder]
	if !known {
		if number = freeNumber(numbers); number == 0 {
			return fleet.Invalidf("folder", "figures of %d folders are kept already", len(numbers))
		}
		numbers[p.Folder] = number
		if err := t.exec(`INSERT INTO folder_histories (number, folder) VALUES ($1, $2)`, number, p.Folder); err != nil {
			return err
		}
	}
	if err := t.exec(putFigures, number, seconds(step), p.At.UnixMilli(), p.Devices, p.UpToDate, p.NeedBytes,
		p.GlobalBytes); err != nil {
		return err
	}
	return t.exec(pruneFigures, number, seconds(step), historySteps[step])
}

// freeNumber returns the lowest number that no folder has, or 0 if all are used.
func freeNumber(numbers map[string]int64) int64 {
	used := [fleet.MaxFolderHistories + 1]bool{}
	for _, number := range numbers {
		if number > 0 && number < int64(len(used)) {
			used[number] = true
		}
	}
	for number := 1; number < len(used); number++ {
		if !used[number] {
			return int64(number)
		}
	}
	return 0
}

// FolderHistory returns the points of a folder, oldest first. step is a minute, for the last day, or an hour, for the
// last month. The first point has the figures that were valid when that day or month began. Points from the time when
// the clock ran ahead are left out once the clock is right again.
func (s *Store) FolderHistory(ctx context.Context, folder string, step time.Duration) ([]fleet.FolderPoint, error) {
	many, known := historySteps[step]
	if !known {
		return nil, fleet.Invalidf("step", "the history has steps of a minute and of an hour")
	}
	now := s.clock().UTC()
	from := now.Add(-step * time.Duration(many)).Truncate(step)
	points, err := collect(ctx, pool{s.reads}, scanFigures, selectFiguresAt, folder, seconds(step), from.UnixMilli())
	if len(points) > 0 {
		points[0].At = from
	}
	if err == nil {
		var more []writtenPoint
		more, err = collect(ctx, pool{s.reads}, scanFigures, selectFigures, folder, seconds(step), from.UnixMilli(),
			now.UnixMilli())
		points = append(points, more...)
	}
	return thatHeld(points), failure("read the history of a folder", err)
}

// writtenPoint is a point with its place in the order of writing.
type writtenPoint struct {
	fleet.FolderPoint
	written int64
}

// thatHeld returns the points that were valid at their time. points are sorted by time. A point that was written
// before a point of an earlier time was not: the clock ran ahead when it was written.
func thatHeld(points []writtenPoint) (held []fleet.FolderPoint) {
	last := int64(0)
	for _, p := range points {
		if p.written > last {
			last, held = p.written, append(held, p.FolderPoint)
		}
	}
	return held
}

// FolderHistoryEnds returns, for each folder with points, its last point by minutes and its last point by hours.
func (s *Store) FolderHistoryEnds(ctx context.Context) ([]fleet.FolderHistoryEnd, error) {
	minutes, err := collect(ctx, pool{s.reads}, scanFigures, selectLastFigures, seconds(time.Minute))
	if err != nil {
		return nil, failure("read the history of folders", err)
	}
	hours, err := collect(ctx, pool{s.reads}, scanFigures, selectLastFigures, seconds(time.Hour))
	byFolder := make(map[string]fleet.FolderPoint, len(hours))
	for _, hour := range hours {
		byFolder[hour.Folder] = hour.FolderPoint
	}
	ends := make([]fleet.FolderHistoryEnd, len(minutes))
	for i, minute := range minutes {
		ends[i] = fleet.FolderHistoryEnd{Folder: minute.Folder, Minute: minute.FolderPoint, Hour: byFolder[minute.Folder]}
	}
	return ends, failure("read the history of folders", err)
}

func scanFigures(row scanner) (p writtenPoint, err error) {
	var began int64
	err = row.Scan(&p.Folder, &began, &p.Devices, &p.UpToDate, &p.NeedBytes, &p.GlobalBytes, &p.written)
	p.At = time.UnixMilli(began).UTC()
	return p, err
}
