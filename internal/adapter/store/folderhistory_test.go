package store

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"muster/internal/fleet"
)

func (h *historian) keepFigures(edit fleet.FolderHistoryEdit) {
	h.t.Helper()
	if err := h.PutFolderFigures(h.t.Context(), edit); err != nil {
		h.t.Fatal(err)
	}
}

func (h *historian) figures(folder string, step time.Duration) []fleet.FolderPoint {
	h.t.Helper()
	return must(h.FolderHistory(h.t.Context(), folder, step))(h.t)
}

func lacking(folder string, at time.Time, bytes int64) fleet.FolderPoint {
	return fleet.FolderPoint{Folder: folder, At: at.UTC(), FolderFigures: fleet.FolderFigures{Devices: 3, UpToDate: 2,
		NeedBytes: bytes, GlobalBytes: math.MaxInt64}}
}

func TestFiguresOfAFolderBeginWithThoseThatHeldBefore(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		h := newHistorian(t, options)
		now := time.Unix(h.now.Load(), 0)
		old, fresh := lacking("photos", now.Add(-30*time.Hour), 500), lacking("photos", now.Add(-time.Hour), 7)
		h.keepFigures(fleet.FolderHistoryEdit{
			Minutes: []fleet.FolderPoint{old, fresh, lacking("photos", now.Add(time.Hour), 99), lacking("music", now, 1)},
			Hours:   []fleet.FolderPoint{old},
		})
		begins := old
		begins.At = now.Add(-24 * time.Hour).UTC()
		if got := h.figures("photos", time.Minute); len(got) != 2 || got[0] != begins || got[1] != fresh {
			t.Errorf("minutes: got %+v, want %+v and %+v", got, begins, fresh)
		}
		if got := h.figures("photos", time.Hour); len(got) != 1 || got[0] != old {
			t.Errorf("hours: got %+v, want %+v", got, old)
		}
		if got := h.figures("nothing", time.Hour); len(got) != 0 {
			t.Errorf("of a folder without figures: %+v", got)
		}
		if _, err := h.FolderHistory(t.Context(), "photos", time.Second); fleet.CodeOf(err) != fleet.CodeInvalid {
			t.Errorf("steps of a second: %v", err)
		}
	})
}

func TestTheLastFiguresOfEachFolderAreFoundAfterARestart(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		h := newHistorian(t, options)
		now := time.Unix(h.now.Load(), 0)
		earlier, last := lacking("photos", now.Add(-time.Hour), 500), lacking("photos", now, 7)
		h.keepFigures(
			fleet.FolderHistoryEdit{Minutes: []fleet.FolderPoint{earlier, last}, Hours: []fleet.FolderPoint{earlier}},
		)
		h.keepFigures(fleet.FolderHistoryEdit{Minutes: []fleet.FolderPoint{lacking("gone", now, 1)}})
		h.keepFigures(fleet.FolderHistoryEdit{Forget: []string{"gone", "unknown"}})
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
		h.Store = open(t, options)
		ends := must(h.FolderHistoryEnds(t.Context()))(t)
		if want := (fleet.FolderHistoryEnd{Folder: "photos", Minute: last, Hour: earlier}); len(ends) != 1 ||
			ends[0] != want {
			t.Errorf("got %+v, want %+v", ends, want)
		}
		if got := h.figures("gone", time.Minute); len(got) != 0 {
			t.Errorf("a folder that was forgotten has %+v", got)
		}
	})
}

// A day after the clock had run a day ahead, its figures were shown as the present ones.
func TestFiguresOfAClockThatRanAheadHeldADayLater(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		h := newHistorian(t, options)
		now := time.Unix(h.now.Load(), 0)
		put := func(points ...fleet.FolderPoint) {
			for _, p := range points {
				h.keepFigures(fleet.FolderHistoryEdit{Minutes: []fleet.FolderPoint{p}})
			}
		}
		wants := func(when string, want ...fleet.FolderPoint) {
			t.Helper()
			if got := h.figures("photos", time.Minute); !slices.Equal(got, want) {
				t.Errorf("%s: got %+v, want %+v", when, got, want)
			}
		}
		first, again := lacking("photos", now, 1), lacking("photos", now.Add(time.Minute), 3)
		ahead, same := lacking("photos", now.Add(24*time.Hour), 700), lacking("photos", now.Add(time.Minute), 2)
		put(first, same, ahead, again)
		h.set(now.Add(23 * time.Hour))
		wants("before the time of the wrong clock", first, again)
		h.set(now.Add(24*time.Hour + time.Minute))
		begins := again
		wants("at that time", begins)
		h.set(now.Add(49 * time.Hour))
		begins.At = now.Add(25 * time.Hour).UTC()
		wants("when the history begins later", begins)
		later := lacking("photos", now.Add(48*time.Hour), 4)
		put(later, lacking("photos", later.At, 5))
		later.NeedBytes = 5
		wants("after a change", begins, later)
	})
}

func TestFiguresOfFoldersAreBounded(t *testing.T) {
	onBoth(t, func(t *testing.T, options Options) {
		h := newHistorian(t, options)
		now := time.Unix(h.now.Load(), 0)
		var edit fleet.FolderHistoryEdit
		for i := range 24*60 + 5 {
			edit.Minutes = append(edit.Minutes, lacking("busy", now.Add(time.Duration(i-24*60-4)*time.Minute), int64(i)))
		}
		h.keepFigures(edit)
		if got := h.figures("busy", time.Minute); len(got) != 24*60 || got[len(got)-1].NeedBytes != 24*60+4 {
			t.Errorf("%d points are kept", len(got))
		}
		edit = fleet.FolderHistoryEdit{}
		for i := range fleet.MaxFolderHistories {
			edit.Minutes = append(edit.Minutes, lacking(fmt.Sprintf("folder %d", i), now, 1))
		}
		if err := h.PutFolderFigures(t.Context(), edit); fleet.CodeOf(err) != fleet.CodeInvalid {
			t.Errorf("a folder too many: %v", err)
		}
		edit.Forget = []string{"busy"}
		h.keepFigures(edit)
		if ends := must(h.FolderHistoryEnds(t.Context()))(t); len(ends) != fleet.MaxFolderHistories {
			t.Errorf("figures of %d folders are kept", len(ends))
		}
	})
}
