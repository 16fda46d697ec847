package api

import "encoding/json"

// EventStream is the media type of the event stream (server-sent events).
const EventStream = "text/event-stream"

// Event is one thing that happened. The stream also has its ID and type on lines of their own.
type Event struct {
	ID     int64           `json:"id" doc:"Grows; send the last one as Last-Event-ID to go on after it"`
	Type   string          `json:"type" enum:"device,status,folder,config,plan,rollout,pending,inventory,template,agent,log,missed" doc:"missed: events are missing that can no longer be had; read the state anew"`
	Device string          `json:"device" doc:"Blank when it is about no single device"`
	Tags   []string        `json:"tags" nullable:"false" doc:"Of the device, when it happened"`
	Time   Time            `json:"time" format:"date-time" doc:"When it happened"`
	Data   json.RawMessage `json:"data" doc:"What happened; an object that depends on the type"`
}

// DeviceEvent is the data of a device event and of a plan event: the present state of the device.
type DeviceEvent struct {
	Deleted bool         `json:"deleted" doc:"The device is registered no more"`
	State   *DeviceState `json:"state" doc:"null when it is deleted"`
}

// StatusEvent is the data of a status event.
type StatusEvent struct {
	Status  *DeviceStatus  `json:"status" doc:"null: not known yet"`
	Version *DeviceVersion `json:"version" doc:"null: not known yet"`
}

// FolderEvent is the data of a folder event: one folder on one device.
type FolderEvent struct {
	Summary FolderSummary `json:"summary" doc:"Counts of the folder"`
	State   string        `json:"state" doc:"As the daemon says it: idle, scanning, syncing, error, ...; blank for a paused folder"`
	Error   string        `json:"error" doc:"Why the folder is in error; blank otherwise"`
}

// ConfigEvent is the data of a config event: another configuration was seen.
type ConfigEvent struct {
	Digest string `json:"digest" doc:"Of the configuration that was seen"`
}

// InventoryEvent is the data of an inventory event: the row of the device as it is now.
type InventoryEvent struct {
	Row InventoryDevice `json:"row" doc:"As the inventory has it now"`
}

// TemplateEvent is the data of a template event. The template itself is to be read.
type TemplateEvent struct {
	ID      int64  `json:"id" doc:"Of the template"`
	Label   string `json:"label" doc:"Of the template; blank: it has none"`
	Deleted bool   `json:"deleted" doc:"The template exists no more"`
}

// AgentEvent is the data of an agent event: the connection of a device's agent began, was refused or ended. Where an
// agent connects very often, some of its events are left out.
type AgentEvent struct {
	State   string `json:"state" enum:"accepted,waiting,refused,cloned,disconnected" doc:"cloned: refused, because another agent is connected with the same certificate"`
	Address string `json:"address" doc:"host:port from where the agent connected"`
	Name    string `json:"name" doc:"Of its machine, as the agent tells"`
	Reason  string `json:"reason" doc:"For a person; may be blank"`
}

// LogEntry is an event that is kept for a while: how a device, or a folder on it, stands since then, or what was done
// to it. It is the data of a log event, too.
type LogEntry struct {
	Number   int64  `json:"number" doc:"Grows from entry to entry; the ID of the entry's event in the stream"`
	Time     Time   `json:"time" format:"date-time" doc:"When it happened"`
	DeviceID string `json:"deviceID" doc:"Of the device that it is about"`
	Label    string `json:"label" doc:"Of the device; of a deleted one the last that was known"`
	Folder   string `json:"folder" doc:"The folder's ID; blank when it is about no single folder"`
	Kind     string `json:"kind" enum:"connection,configuration,revision,folder,conflict,peers,order" doc:"What it is about; revision: another configuration was seen; peers: the first connection to another device began, or the last one ended"`
	Text     string `json:"text" doc:"What happened, as a sentence without device and folder"`
	State    string `json:"state" doc:"How it stands since, in the words of the kind's states; of conflicts how many there are; of an order what was ordered; blank for a revision"`
	Before   string `json:"before" doc:"How it stood; blank where nothing was told of it"`
	Reason   string `json:"reason" doc:"Why; of an order what came of it; may be blank"`
	Cause    string `json:"cause" doc:"Of a revision template, daemon, restore or accept; of an order who gave it; else blank"`
	Revision int64  `json:"revision" doc:"Its number; 0 for every other kind"`
}

// MissedEvent is the data of a missed event: the IDs of the events that are missing, some of which the filter may have
// left out anyway.
type MissedEvent struct {
	From int64 `json:"from" doc:"ID of the first event that is missing"`
	To   int64 `json:"to" doc:"ID of the last event that is missing"`
}
