package app

import (
	"context"
	"sync"
	"time"

	"muster/api"
	"muster/internal/event"
	"muster/internal/fleet"
	"muster/internal/httpapi"
	"muster/internal/logkey"
	"muster/internal/mirror"
)

// news tells whoever follows the events what the engines learn and do.
type news struct {
	app *App
	hub *event.Hub

	mu   sync.Mutex                   // guards the rest
	told map[fleet.DeviceID]time.Time // when the newest folder summary that was published was made
}

func (a *App) newNews() *news {
	return &news{app: a, told: map[fleet.DeviceID]time.Time{}, hub: event.NewHub(event.Options{Tags: a.tagsOf})}
}

func (a *App) tagsOf(id fleet.DeviceID) []fleet.Tag {
	registry, err := a.store.Registry(context.Background())
	if err != nil || registry.Devices[id] == nil {
		return nil
	}
	return registry.Devices[id].Tags
}

func (n *news) publish(t event.Type, id fleet.DeviceID, data any) {
	if err := n.hub.Publish(t, id, data); err != nil {
		n.app.log.Warn("event not published", logkey.Device, id, logkey.Err(err))
	}
}

// mirrored publishes what a watcher learnt.
func (n *news) mirrored(s *mirror.Snapshot, aspect mirror.Aspect) {
	if aspect&mirror.ConnectionChanged != 0 {
		n.state(event.TypeDevice, s.Device)
	}
	if aspect&mirror.StatusChanged != 0 {
		n.publish(event.TypeStatus, s.Device, httpapi.StatusEvent(s.Status, s.Version))
	}
	if aspect&mirror.ConfigChanged != 0 {
		n.publish(event.TypeConfig, s.Device, api.ConfigEvent{Digest: s.Digest})
	}
	if aspect&mirror.FoldersChanged != 0 {
		for _, summary := range n.untold(s) {
			n.publish(event.TypeFolder, s.Device, httpapi.FolderEvent(summary))
		}
	}
}

// untold are the summaries that are newer than those published last.
func (n *news) untold(s *mirror.Snapshot) []fleet.FolderSummary {
	n.mu.Lock()
	defer n.mu.Unlock()
	before := n.told[s.Device]
	newest := before
	var fresh []fleet.FolderSummary
	for _, summary := range s.Summaries {
		if summary.UpdatedAt.After(before) {
			fresh = append(fresh, summary)
		}
		if summary.UpdatedAt.After(newest) {
			newest = summary.UpdatedAt
		}
	}
	n.told[s.Device] = newest
	return fresh
}

// planned publishes that a device's plan, or how its configuration stands, changed.
func (n *news) planned(id fleet.DeviceID) { n.state(event.TypePlan, id) }

// state publishes how a device stands now. One that is registered no more is told by deleted.
func (n *news) state(t event.Type, id fleet.DeviceID) {
	state, err := states{n.app.mirror, n.app.engine}.State(context.Background(), id)
	if err == nil {
		n.publish(t, id, httpapi.StateEvent(state))
	}
}

func (n *news) deleted(id fleet.DeviceID) {
	n.mu.Lock()
	delete(n.told, id)
	n.mu.Unlock()
	n.publish(event.TypeDevice, id, api.DeviceEvent{Deleted: true})
}
