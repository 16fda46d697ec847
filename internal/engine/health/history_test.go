package health

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"muster/internal/fleet"
)

func TestAHistorianMakesOnePointWhenAMinuteBegins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var kept []fleet.HistoryPoint
		online := int64(0)
		tries := 0
		var folders int
		h := Historian{Log: slog.New(slog.DiscardHandler),
			Folders: &FolderHistorian{
				Ends:    func(context.Context) ([]fleet.FolderHistoryEnd, error) { return nil, nil },
				Figures: func(context.Context) (map[string]fleet.FolderFigures, error) { folders++; return nil, nil }},
			Now: func() fleet.HistoryPoint { online++; return fleet.HistoryPoint{Online: online} },
			Put: func(_ context.Context, p fleet.HistoryPoint) error {
				if tries++; tries == 2 {
					return errors.New("the disk is full")
				}
				kept = append(kept, p)
				return nil
			}}
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		if err := h.Run(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if len(kept) < 3 || tries != len(kept)+1 {
			t.Fatalf("%d points of %d tries", len(kept), tries)
		}
		if folders != tries {
			t.Errorf("figures of folders were recorded %d times in %d minutes", folders, tries)
		}
		if first := kept[0].At.Sub(start); first < firstPointDelay-historyStep || first > firstPointDelay+historyStep {
			t.Errorf("the first point is of %s after the start", first)
		}
		for i, p := range kept {
			if p.At.Second() != 0 || p.At.Nanosecond() != 0 {
				t.Errorf("point %d is of %s", i, p.At)
			}
		}
		if gap := kept[1].At.Sub(kept[0].At); gap != 2*time.Minute {
			t.Errorf("a minute that was not kept left a gap of %s", gap)
		}
	})
}
