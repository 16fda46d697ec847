package app

import (
	"context"
	"sync"

	"muster/internal/fleet"
	"muster/internal/logkey"
	"muster/internal/overview"
	"muster/internal/store"
)

// rollup keeps the overview as the engines learn.
type rollup struct {
	*overview.Overview
	app *App

	// mu makes one step of looking whether a device is registered and counting it: a deleted one must not come back.
	mu sync.Mutex
}

// stands counts how a device stands now.
func (r *rollup) stands(id fleet.DeviceID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	registry, err := r.app.store.Registry(context.Background())
	if err != nil {
		r.app.log.Warn("the registry is not readable", logkey.Err(err))
		return
	}
	if registry.Devices[id] == nil {
		r.Remove(id)
		return
	}
	if state, err := r.app.states().State(context.Background(), id); err == nil { // an error: not watched yet
		r.Put(id, state.Connection, state.Configuration)
	}
}

// seed counts a device with what was last known of it.
func (r *rollup) seed(id fleet.DeviceID) {
	r.stands(id)
	if s := r.app.mirror.Snapshot(id); s != nil {
		r.SetFolders(id, s.Folders)
		r.SetSummaries(id, s.Summaries)
	}
}

// folders are listed from the overview, and shown one by one from the store, which has what daemons last said of them.
type folders struct {
	*store.Store
	overview *overview.Overview
}

func (f folders) Folders(context.Context) ([]fleet.FolderLabel, error) {
	return f.overview.Folders(), nil
}
