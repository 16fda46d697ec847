package health

import (
	"cmp"
	"context"
	"slices"
	"time"

	"muster/internal/fleet"
)

// FolderHistorian stores the figures of folders over time. It adds a point when figures change. It covers the folders
// that changed last, fleet.MaxFolderHistories at most. Only one goroutine may use it.
type FolderHistorian struct {
	Figures func(context.Context) (map[string]fleet.FolderFigures, error) // returns the present figures, by folder ID
	Ends    func(context.Context) ([]fleet.FolderHistoryEnd, error)
	Put     func(context.Context, fleet.FolderHistoryEdit) error

	before map[string]fleet.FolderFigures // figures of the last minute; nil: unknown
	kept   map[string]*keptFolder         // nil: to be read
	minute int64                          // the number of the minute since the start
}

// keptFolder is what is kept of a folder with points.
type keptFolder struct {
	changed int64 // the number of the minute of its last change; negative: before the start
	last    fleet.FolderFigures
	hour    time.Time
	worst   fleet.FolderFigures // worst figures of the present hour
	stored  fleet.FolderFigures // the last point of an hour
}

// Record adds the figures at the time now. After an error it reads the stored points again, and the minute has no
// point.
func (h *FolderHistorian) Record(ctx context.Context, now time.Time) error {
	if h.kept == nil {
		if err := h.read(ctx); err != nil {
			return err
		}
	}
	figures, err := h.Figures(ctx)
	if err != nil {
		return err
	}
	h.minute++
	edit := h.edit(figures, now.UTC().Truncate(historyStep))
	if !edit.IsEmpty() {
		if err := h.Put(ctx, edit); err != nil {
			h.kept = nil
			return err // A folder that began to change in this minute begins in the next one.
		}
	}
	h.before = figures
	return nil
}

// read loads the newest stored point of each folder.
func (h *FolderHistorian) read(ctx context.Context) error {
	ends, err := h.Ends(ctx)
	if err != nil {
		return err
	}
	slices.SortStableFunc(ends, func(a, b fleet.FolderHistoryEnd) int { return a.Minute.At.Compare(b.Minute.At) })
	h.kept = make(map[string]*keptFolder, len(ends))
	for i, end := range ends {
		h.kept[end.Folder] = &keptFolder{changed: int64(i - len(ends)), last: end.Minute.FolderFigures, hour: end.Hour.At,
			worst: end.Hour.FolderFigures, stored: end.Hour.FolderFigures}
	}
	return nil
}

// edit returns the changes to the stored points that a minute makes.
func (h *FolderHistorian) edit(figures map[string]fleet.FolderFigures, at time.Time) (edit fleet.FolderHistoryEdit) {
	for folder, kept := range h.kept {
		h.add(&edit, folder, kept, figures[folder], at)
	}
	var fresh []string
	for folder, is := range figures {
		if before, known := h.before[folder]; known && hasMoved(before, is) && h.kept[folder] == nil {
			fresh = append(fresh, folder)
		}
	}
	slices.Sort(fresh)
	for _, folder := range fresh {
		if len(h.kept) >= fleet.MaxFolderHistories && !h.forgetOldest(&edit) {
			break
		}
		h.begin(&edit, folder, h.before[folder], at)
		h.add(&edit, folder, h.kept[folder], figures[folder], at)
	}
	return edit
}

// hasMoved reports whether figures differ in more than the number of devices that are up to date. That number also
// changes when devices are contacted, after a restart of Muster those of all folders at once.
func hasMoved(before, is fleet.FolderFigures) bool {
	before.UpToDate, is.UpToDate = 0, 0
	return before != is
}

// begin adds a folder whose figures have changed since the last minute.
func (h *FolderHistorian) begin(
	edit *fleet.FolderHistoryEdit,
	folder string,
	before fleet.FolderFigures,
	at time.Time,
) {
	hour := at.Truncate(time.Hour)
	h.kept[folder] = &keptFolder{last: before, stored: before}
	edit.Minutes = append(edit.Minutes, fleet.FolderPoint{Folder: folder, At: at.Add(-historyStep), FolderFigures: before})
	edit.Hours = append(edit.Hours, fleet.FolderPoint{Folder: folder, At: hour.Add(-time.Hour), FolderFigures: before})
}

// add adds the figures of a minute. The point of an hour has the worst figures of the hour.
func (h *FolderHistorian) add(edit *fleet.FolderHistoryEdit, folder string, kept *keptFolder, is fleet.FolderFigures,
	at time.Time) {
	if hasMoved(kept.last, is) {
		kept.changed = h.minute
	}
	if is != kept.last {
		edit.Minutes = append(edit.Minutes, fleet.FolderPoint{Folder: folder, At: at, FolderFigures: is})
	}
	hour := at.Truncate(time.Hour)
	if !kept.hour.Equal(hour) {
		kept.hour, kept.worst = hour, kept.last
	}
	kept.worst, kept.last = kept.worst.Worst(is), is
	if kept.worst != kept.stored {
		kept.stored = kept.worst
		edit.Hours = append(edit.Hours, fleet.FolderPoint{Folder: folder, At: hour, FolderFigures: kept.worst})
	}
}

// forgetOldest forgets the folder that did not change for the longest time, with its points of this minute: the store
// would give it a number again that another folder needs. It reports false when all changed in this minute.
func (h *FolderHistorian) forgetOldest(edit *fleet.FolderHistoryEdit) bool {
	oldest, changed := "", h.minute
	for folder, kept := range h.kept {
		if cmp.Or(cmp.Compare(kept.changed, changed), cmp.Compare(folder, oldest)) < 0 && kept.changed < h.minute {
			oldest, changed = folder, kept.changed
		}
	}
	kept := h.kept[oldest]
	if kept == nil || kept.changed == h.minute {
		return false
	}
	delete(h.kept, oldest)
	edit.Forget = append(edit.Forget, oldest)
	isOldest := func(p fleet.FolderPoint) bool { return p.Folder == oldest }
	edit.Minutes = slices.DeleteFunc(edit.Minutes, isOldest)
	edit.Hours = slices.DeleteFunc(edit.Hours, isOldest)
	return true
}
