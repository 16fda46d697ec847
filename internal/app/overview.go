package app

import (
	"context"
	"sync"

	"muster/internal/fleet"
	"muster/internal/health"
	"muster/internal/store"
)

// rollup keeps the fleet's numbers as the engines learn.
type rollup struct {
	*health.Rollup
	app *App

	// mu makes one step of asking how a device stands and counting it: a deleted one must not come back.
	mu sync.Mutex
}

// stands counts how a device stands now.
func (r *rollup) stands(id fleet.DeviceID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Count(id, r.app.health, r.app.facts(id))
}

// seed counts a device with what was last known of it.
func (r *rollup) seed(id fleet.DeviceID) {
	r.stands(id)
	if s := r.app.mirror.Snapshot(id); s != nil {
		r.SetFolders(id, s.Folders)
		r.SetSummaries(id, s.Summaries)
	}
}

// folders are listed from the roll-up, and shown one by one from the store, which has what daemons last said of them.
type folders struct {
	*store.Store
	rollup *health.Rollup
}

func (f folders) Folders(context.Context) ([]fleet.FolderLabel, error) {
	return f.rollup.Folders(), nil
}
