// Package event fans fleet events out to subscribers: what happens to devices and folders, as it happens. All of them
// read from one ring of bounded size, so a slow reader holds nothing. Changes of state are kept in the event log, too,
// and a reader that falls out of the ring gets them from there. What else it missed it is told of, and reads anew.
package event

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"muster/internal/fleet"
)

// Type says what an event is about.
type Type string

const (
	TypeDevice  Type = "device"  // a device came online, went offline, was put or deleted
	TypeStatus  Type = "status"  // a daemon's status or version
	TypeFolder  Type = "folder"  // the summary or state of one folder on one device
	TypeConfig  Type = "config"  // another configuration was seen on a device
	TypePlan    Type = "plan"    // a device's plan or configuration state changed
	TypeRollout Type = "rollout" // a rollout moved
	TypePending Type = "pending" // devices or folders that ask to be let in
	// TypeInventory is the row of a device in the inventory, at most once a second for each device.
	TypeInventory Type = "inventory"
	TypeTemplate  Type = "template" // a template was created, replaced, tagged or deleted
	// TypeAgent is what became of an agent's connection. Its device may not be registered.
	TypeAgent Type = "agent"
	// TypeLog is an entry of the event log: Data is a fleet.LogEntry without its number, which is the event's ID.
	TypeLog Type = "log"
	// TypeMissed stands in the stream where events are missing that the subscriber can no longer get: it reads the state
	// anew. Its Data is a Gap. It passes every filter.
	TypeMissed Type = "missed"
)

// Types are those that can be published and asked for.
var Types = []Type{
	TypeDevice, TypeStatus, TypeFolder, TypeConfig, TypePlan, TypeRollout, TypePending, TypeInventory, TypeTemplate,
	TypeAgent, TypeLog,
}

// ParseType takes the name of a type that can be asked for.
func ParseType(s string) (Type, error) {
	if slices.Contains(Types, Type(s)) {
		return Type(s), nil
	}
	names := make([]string, len(Types))
	for i, t := range Types {
		names[i] = string(t)
	}
	return "", fleet.Invalidf("type", "event type %q is not known: use %s", s, strings.Join(names, ", "))
}

// Event is one thing that happened. It is immutable: subscribers share it.
type Event struct {
	// ID grows by one from event to event, also over a restart: the first one of a process is its start in
	// microseconds since 1970, so that numbers stay below 2^53 and an old one is recognised.
	ID     int64
	Type   Type
	Device fleet.DeviceID // "" when it is about no single device
	Tags   []fleet.Tag    // tags of the device at the time of the event
	Time   time.Time
	Data   json.RawMessage // content as the API shows it; never secrets
}

// Gap is the Data of a TypeMissed event: the IDs of what is missing, some of which the filter may have left out
// anyway.
type Gap struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

// size is about what an event costs in memory.
func (e *Event) size() int { return eventOverhead + len(e.Data) }

const eventOverhead = 160 // the struct and its place in the ring
