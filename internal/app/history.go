package app

import (
	"context"

	"muster/internal/engine/health"
	"muster/internal/fleet"
	"muster/internal/logkey"
)

// newHistorian makes the part that records the numbers of the fleet over time.
func (a *App) newHistorian() health.Historian {
	return health.Historian{Put: a.store.PutHistoryPoint, Log: a.log, Now: a.historyPoint,
		Folders: &health.FolderHistorian{Figures: a.folderFigures, Ends: a.store.FolderHistoryEnds,
			Put: a.store.PutFolderFigures}}
}

func (a *App) folderFigures(ctx context.Context) (map[string]fleet.FolderFigures, error) {
	registry, err := a.store.Registry(ctx)
	if err != nil {
		return nil, err
	}
	return a.view.FolderFigures(ctx, registry)
}

func (a *App) historyPoint() fleet.HistoryPoint {
	ctx, point := context.Background(), fleet.HistoryPoint{}
	registry, err := a.store.Registry(ctx)
	if err == nil {
		point, err = a.view.HistoryPoint(ctx, registry)
	}
	if err != nil {
		a.log.Warn("the fleet is not counted", logkey.Err(err))
	}
	point.Problems = int64(len(a.notifier.Problems()))
	return point
}
