package httpapi

import (
	"log/slog"

	"muster/api"
	"muster/internal/engine/event"
	"muster/internal/engine/view"
	"muster/internal/fleet"
	"muster/internal/logkey"
)

// Publisher writes events in the words of the API. It is the view.Outlet of the server.
type Publisher struct {
	Hub *event.Hub
	Log *slog.Logger
}

// Device publishes a new state of a device; nil: it was deleted.
func (p Publisher) Device(id fleet.DeviceID, tags []fleet.Tag, state *fleet.State) {
	if state == nil {
		p.publish(event.TypeDevice, id, tags, api.DeviceEvent{Deleted: true})
		return
	}
	p.publish(event.TypeDevice, id, tags, stateEvent(*state))
}

// Plan publishes that the plan of a device, or its configuration state, changed.
func (p Publisher) Plan(id fleet.DeviceID, tags []fleet.Tag, state fleet.State) {
	p.publish(event.TypePlan, id, tags, stateEvent(state))
}

// Status publishes the status and version of a daemon; nil: not known.
func (p Publisher) Status(id fleet.DeviceID, tags []fleet.Tag, status *fleet.Status, version *fleet.Version) {
	var data api.StatusEvent
	if status != nil {
		wire := wireStatus(*status)
		data.Status = &wire
	}
	if version != nil {
		wire := wireVersion(*version)
		data.Version = &wire
	}
	p.publish(event.TypeStatus, id, tags, data)
}

// Config publishes that another configuration was seen on a device.
func (p Publisher) Config(id fleet.DeviceID, tags []fleet.Tag, digest string) {
	p.publish(event.TypeConfig, id, tags, api.ConfigEvent{Digest: digest})
}

// Folder publishes the figures of a folder on a device.
func (p Publisher) Folder(id fleet.DeviceID, tags []fleet.Tag, f fleet.FolderSummary) {
	p.publish(event.TypeFolder, id, tags, api.FolderEvent{Summary: wireSummary(f), State: f.State, Error: f.Problem()})
}

// Pending publishes how many devices and folders ask a device to be let in.
func (p Publisher) Pending(id fleet.DeviceID, tags []fleet.Tag, devices, folders int) {
	p.publish(event.TypePending, id, tags, api.OverviewOfPending{Devices: devices, Folders: folders})
}

// Template publishes that a template was created, changed or deleted.
func (p Publisher) Template(id int64, label string, deleted bool) {
	p.publish(event.TypeTemplate, "", nil, api.TemplateEvent{ID: id, Label: label, Deleted: deleted})
}

// Row publishes what the inventory shows of a device.
func (p Publisher) Row(row *view.Row) {
	p.publish(event.TypeInventory, row.Device.ID, row.Device.Tags, api.InventoryEvent{Row: wireRow(row)})
}

// Rollout publishes the progress of a rollout. names is the registry that has the devices' labels; it may be nil.
func (p Publisher) Rollout(r fleet.Rollout, names *fleet.Registry) {
	p.publish(event.TypeRollout, "", nil, wireRollout(r, names))
}

// Agent publishes a change of an agent's connection. The device may not be registered.
func (p Publisher) Agent(id fleet.DeviceID, tags []fleet.Tag, is api.AgentEvent) {
	p.publish(event.TypeAgent, id, tags, is)
}

func (p Publisher) publish(t event.Type, id fleet.DeviceID, tags []fleet.Tag, data any) {
	if err := p.Hub.PublishTagged(t, id, tags, data); err != nil {
		p.Log.Warn("event not published", logkey.Device, id, logkey.Err(err))
	}
}

// stateEvent is the data of a device or plan event.
func stateEvent(state fleet.State) api.DeviceEvent {
	wire := wireState(state)
	return api.DeviceEvent{State: &wire}
}
