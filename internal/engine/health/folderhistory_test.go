package health

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"muster/internal/fleet"
)

// figureBook is a store of figures, and what the folders are like now.
type figureBook struct {
	t       *testing.T
	now     map[string]fleet.FolderFigures
	at      time.Time
	minutes map[string][]fleet.FolderPoint
	hours   map[string][]fleet.FolderPoint
	fails   error
	*FolderHistorian
}

func newFigureBook(t *testing.T) *figureBook {
	b := &figureBook{t: t, now: map[string]fleet.FolderFigures{}, at: time.Date(2026, 3, 1, 10, 0, 7, 0, time.UTC),
		minutes: map[string][]fleet.FolderPoint{}, hours: map[string][]fleet.FolderPoint{}}
	b.restart()
	return b
}

func (b *figureBook) restart() {
	b.FolderHistorian = &FolderHistorian{Ends: b.ends, Put: b.put,
		Figures: func(context.Context) (map[string]fleet.FolderFigures, error) { return maps.Clone(b.now), nil }}
}

func (b *figureBook) ends(context.Context) (ends []fleet.FolderHistoryEnd, err error) {
	for folder, points := range b.minutes {
		end := fleet.FolderHistoryEnd{Folder: folder, Minute: points[len(points)-1]}
		if hours := b.hours[folder]; len(hours) > 0 {
			end.Hour = hours[len(hours)-1]
		}
		ends = append(ends, end)
	}
	return ends, nil
}

func (b *figureBook) put(_ context.Context, edit fleet.FolderHistoryEdit) error {
	if b.fails != nil {
		return b.fails
	}
	for _, folder := range edit.Forget {
		delete(b.minutes, folder)
		delete(b.hours, folder)
	}
	for _, p := range append(slices.Clone(edit.Minutes), edit.Hours...) {
		if slices.Contains(edit.Forget, p.Folder) {
			b.t.Errorf("%s is forgotten, and written in the same edit: %s", p.Folder, shown([]fleet.FolderPoint{p}))
		}
	}
	for _, p := range edit.Minutes {
		b.minutes[p.Folder] = append(b.minutes[p.Folder], p)
	}
	for _, p := range edit.Hours {
		points := b.hours[p.Folder]
		if len(points) > 0 && points[len(points)-1].At.Equal(p.At) {
			points = points[:len(points)-1]
		}
		b.hours[p.Folder] = append(points, p)
	}
	return nil
}

// lacks sets what is missing of a folder on two devices.
func (b *figureBook) lacks(folder string, bytes int64) {
	figures := fleet.FolderFigures{Devices: 2, UpToDate: 2, NeedBytes: bytes, GlobalBytes: 1 << 30}
	if bytes > 0 {
		figures.UpToDate = 1
	}
	b.now[folder] = figures
}

// pass has minutes pass.
func (b *figureBook) pass(minutes int) {
	b.t.Helper()
	for range minutes {
		if err := b.Record(b.t.Context(), b.at); !errors.Is(err, b.fails) {
			b.t.Fatal(err)
		}
		b.at = b.at.Add(time.Minute)
	}
}

// shown are points as "10:04 700 1", that is when, what was missing, and on how many devices the folder was up to date.
func shown(points []fleet.FolderPoint) string {
	var all []string
	for _, p := range points {
		all = append(all, fmt.Sprintf("%s %d %d", p.At.Format("15:04"), p.NeedBytes, p.UpToDate))
	}
	return strings.Join(all, ", ")
}

func (b *figureBook) want(folder, minutes, hours string) {
	b.t.Helper()
	if got := shown(b.minutes[folder]); got != minutes {
		b.t.Errorf("%s by minutes: got %s, want %s", folder, got, minutes)
	}
	if got := shown(b.hours[folder]); got != hours {
		b.t.Errorf("%s by hours: got %s, want %s", folder, got, hours)
	}
}

func TestAFolderHasAPointWhenItsFiguresChange(t *testing.T) {
	b := newFigureBook(t)
	b.lacks("photos", 0)
	b.lacks("music", 0)
	b.pass(4)
	b.want("photos", "", "")
	b.lacks("photos", 700)
	b.pass(2)
	b.lacks("photos", 0)
	b.pass(2)
	b.want("photos", "10:03 0 2, 10:04 700 1, 10:06 0 2", "09:00 0 2, 10:00 700 1")
	b.want("music", "", "")
}

// What was missing for ten minutes stood in the figures of hours for three of them.
func TestWhatWasMissingStandsInTheMinutesAndHoursInWhichItWasMissing(t *testing.T) {
	for _, c := range []struct {
		before, lacks, after int // minutes
		minutes, hours       string
	}{
		{10, 10, 180, "10:09 0 2, 10:10 700 1, 10:20 0 2", "09:00 0 2, 10:00 700 1, 11:00 0 2"},
		{50, 30, 60, "10:49 0 2, 10:50 700 1, 11:20 0 2", "09:00 0 2, 10:00 700 1, 12:00 0 2"},
	} {
		b := newFigureBook(t)
		b.lacks("photos", 0)
		b.pass(c.before)
		b.lacks("photos", 700)
		b.pass(c.lacks)
		b.lacks("photos", 0)
		b.pass(c.after)
		b.want("photos", c.minutes, c.hours)
	}
}

func TestFiguresOfFoldersGoOnAfterARestart(t *testing.T) {
	b := newFigureBook(t)
	b.lacks("photos", 0)
	b.lacks("music", 0)
	b.pass(4)
	b.lacks("photos", 700)
	b.pass(1)
	b.restart()
	b.pass(1)
	b.want("photos", "10:03 0 2, 10:04 700 1", "09:00 0 2, 10:00 700 1")
	b.lacks("photos", 0)
	b.lacks("music", 9)
	b.pass(1)
	b.want("photos", "10:03 0 2, 10:04 700 1, 10:06 0 2", "09:00 0 2, 10:00 700 1")
	b.want("music", "10:05 0 2, 10:06 9 1", "09:00 0 2, 10:00 9 1")
}

func TestAFolderThatNoDeviceHasAnyMoreEndsItsHistory(t *testing.T) {
	b := newFigureBook(t)
	b.lacks("photos", 0)
	b.pass(1)
	b.lacks("photos", 700)
	b.pass(1)
	delete(b.now, "photos")
	b.pass(3)
	if points := b.minutes["photos"]; len(points) != 3 || points[2].Devices != 0 || points[2].NeedBytes != 0 {
		t.Errorf("got %s", shown(points))
	}
}

func TestAMinuteThatIsNotStoredIsAGapInTheHistoryOfAFolder(t *testing.T) {
	b := newFigureBook(t)
	b.lacks("photos", 0)
	b.pass(1)
	b.lacks("photos", 700)
	b.pass(1)
	b.fails = errors.New("the disk is full")
	b.lacks("photos", 0)
	b.pass(1)
	b.fails = nil
	b.pass(2)
	b.want("photos", "10:00 0 2, 10:01 700 1, 10:03 0 2", "09:00 0 2, 10:00 700 1")
}

func TestFiguresAreKeptOfTheFoldersThatChangedLast(t *testing.T) {
	b := newFigureBook(t)
	folder := func(i int) string { return fmt.Sprintf("folder %04d", i) }
	const many = fleet.MaxFolderHistories + 10
	change := func(from, to int, bytes int64) {
		for i := from; i < to; i++ {
			b.lacks(folder(i), bytes)
		}
	}
	change(0, many, 0)
	b.pass(1)
	change(0, many, 1)
	b.pass(1)
	if len(b.minutes) != fleet.MaxFolderHistories || b.minutes[folder(0)] == nil {
		t.Fatalf("when all change at once: %d folders", len(b.minutes))
	}
	change(5, fleet.MaxFolderHistories, 2)
	b.pass(1)
	change(fleet.MaxFolderHistories, many, 2)
	b.pass(1)
	kept := slices.Sorted(maps.Keys(b.minutes))
	if len(kept) != fleet.MaxFolderHistories || len(b.kept) != len(kept) || b.minutes[folder(many-1)] == nil {
		t.Fatalf("%d folders, the last is %s", len(kept), kept[len(kept)-1])
	}
	for i := range 5 {
		if b.minutes[folder(i)] != nil {
			t.Errorf("%s, which did not change for the longest time, is still there", folder(i))
		}
	}
}

// After a restart, the devices that were contacted one after the other had pushed stored histories out.
func TestContactAfterARestartThrewHistoriesAway(t *testing.T) {
	b := newFigureBook(t)
	folder := func(i int) string { return fmt.Sprintf("folder %04d", i) }
	const many = fleet.MaxFolderHistories + 10
	for i := range many {
		b.lacks(folder(i), 0)
	}
	b.pass(1)
	for i := range fleet.MaxFolderHistories {
		b.lacks(folder(i), 7)
	}
	b.pass(1)
	b.restart()
	contacted := maps.Clone(b.now)
	for folder, figures := range b.now {
		figures.UpToDate = 0
		b.now[folder] = figures
	}
	b.pass(1)
	for i := fleet.MaxFolderHistories; i < many; i++ { // Their devices are contacted first.
		b.now[folder(i)] = contacted[folder(i)]
	}
	b.pass(1)
	maps.Copy(b.now, contacted)
	b.pass(2)
	if b.minutes[folder(0)] == nil || b.minutes[folder(fleet.MaxFolderHistories)] != nil {
		t.Error("a folder that was only contacted took the place of one that had changed")
	}
	if points := b.minutes[folder(0)]; len(points) != 4 || points[3].UpToDate != 1 {
		t.Errorf("the points of a folder with a history are %s", shown(points))
	}
	b.lacks(folder(many-1), 9)
	b.lacks(folder(0), 5)
	b.pass(1)
	if b.minutes[folder(many-1)] == nil || b.minutes[folder(0)] == nil || len(b.kept) != fleet.MaxFolderHistories {
		t.Error("a folder that changed did not take the place of one that was only contacted")
	}
}

// A folder whose first change fell into a minute that was not stored began no history.
func TestAFolderThatChangedInAFailedWriteHadNoHistory(t *testing.T) {
	b := newFigureBook(t)
	b.lacks("photos", 0)
	b.pass(1)
	b.fails = errors.New("the disk is full")
	b.lacks("photos", 700)
	b.pass(1)
	b.fails = nil
	b.pass(2)
	b.want("photos", "10:01 0 2, 10:02 700 1", "09:00 0 2, 10:00 700 1")
}

// The folder that was forgotten had a point in the same minute. It took the number that it had just given back, and the
// folder in whose favour it was forgotten found none: with it up to 200 points were lost.
func TestAForgottenFolderWasWrittenAgain(t *testing.T) {
	b := newFigureBook(t)
	folder := func(i int) string { return fmt.Sprintf("folder %04d", i) }
	for bytes := range int64(3) {
		for i := range fleet.MaxFolderHistories {
			if i > 0 || bytes < 2 {
				b.lacks(folder(i), bytes)
			}
		}
		b.lacks("new", 0)
		b.pass(1)
	}
	b.pass(60) // The figures of the next hour are written, too.
	contact := b.now[folder(0)]
	contact.UpToDate = 0
	b.now[folder(0)] = contact
	b.lacks("new", 9)
	b.pass(1)
	if b.minutes[folder(0)] != nil || b.hours[folder(0)] != nil {
		t.Errorf("the forgotten folder has the points %s", shown(b.minutes[folder(0)]))
	}
	if len(b.minutes["new"]) != 2 || len(b.minutes) != fleet.MaxFolderHistories {
		t.Errorf("the new folder has the points %s, of %d folders", shown(b.minutes["new"]), len(b.minutes))
	}
}
