package api

import "encoding/json"

// EventStream is the media type of the event stream (server-sent events).
const EventStream = "text/event-stream"

// Event is one thing that happened. In the stream its ID and type also stand on lines of their own.
type Event struct {
	ID     int64           `json:"id" doc:"Grows; send the last one as Last-Event-ID to go on after it"`
	Type   string          `json:"type" enum:"device,status,folder,config,plan,rollout,pending,inventory,template,agent,missed" doc:"missed: events are missing that can no longer be had; read the state anew"`
	Device string          `json:"device" doc:"Blank when it is about no single device"`
	Tags   []string        `json:"tags" nullable:"false" doc:"Of the device, when it happened"`
	Time   Time            `json:"time" format:"date-time"`
	Data   json.RawMessage `json:"data" doc:"What happened; an object that depends on the type"`
}

// DeviceEvent is the data of a device event, and of a plan event: how the device stands now.
type DeviceEvent struct {
	Deleted bool         `json:"deleted" doc:"The device is registered no more"`
	State   *DeviceState `json:"state" nullable:"true" doc:"null when it is deleted"`
}

// StatusEvent is the data of a status event.
type StatusEvent struct {
	Status  *DeviceStatus  `json:"status" nullable:"true" doc:"null: not known yet"`
	Version *DeviceVersion `json:"version" nullable:"true" doc:"null: not known yet"`
}

// FolderEvent is the data of a folder event: one folder on one device.
type FolderEvent struct {
	Summary FolderSummary `json:"summary"`
	State   string        `json:"state" doc:"As the daemon says it: idle, scanning, syncing, error, ...; blank for a paused folder"`
	Error   string        `json:"error" doc:"Why the folder is in error; blank otherwise"`
}

// ConfigEvent is the data of a config event: another configuration was seen.
type ConfigEvent struct {
	Digest string `json:"digest"`
}

// InventoryEvent is the data of an inventory event: the row of the device as it is now.
type InventoryEvent struct {
	Row InventoryDevice `json:"row"`
}

// TemplateEvent is the data of a template event. The template itself is to be read.
type TemplateEvent struct {
	ID      int64  `json:"id"`
	Label   string `json:"label"`
	Deleted bool   `json:"deleted"`
}

// AgentEvent is the data of an agent event: what became of the connection of a device's agent. Of a device whose agent
// comes and goes often not every event is told.
type AgentEvent struct {
	State   string `json:"state" enum:"accepted,waiting,refused,cloned,disconnected" doc:"cloned: refused, because another agent is connected with the same certificate"`
	Address string `json:"address" doc:"host:port from where the agent connected"`
	Name    string `json:"name" doc:"Of its machine, as the agent tells"`
	Reason  string `json:"reason" doc:"For a person; may be blank"`
}
