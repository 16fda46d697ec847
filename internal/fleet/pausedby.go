package fleet

import (
	"bytes"
	"encoding/json"
	"slices"
	"time"
)

// PauseCause says who paused a folder, or the connections of a device.
type PauseCause string

const (
	PausedByTemplate PauseCause = "template" // Muster wrote it, because templates ask for it
	PausedByOrder    PauseCause = "order"    // Muster told the daemon to, because a person ordered it
	PausedByPerson   PauseCause = "person"   // a person at the daemon
)

// PausedBy is by whom a folder of a device, or its connections to all sharers of a folder, are paused.
type PausedBy struct {
	Cause PauseCause
	// Templates are those that asked last, for PausedByTemplate.
	Templates []int64
	// Order is the number of the order, By who gave it and At when it began, for PausedByOrder.
	Order int64
	By    string
	At    time.Time
}

// PausesTemplate reports whether Muster's own value is what pauses a member of the configuration, and for which
// templates. entries are those of the member itself and of its field paused.
func PausesTemplate(member, field *BaseEntry) (templates []int64, is bool) {
	switch {
	case field != nil && field.Stands() && bytes.Equal(field.ours(), []byte("true")):
		return field.Templates, true
	case field == nil && member != nil && member.Kind == BaseMade && member.Stands() && pausesMember(member.ours()):
		return member.Templates, true
	}
	return nil, false
}

func pausesMember(member []byte) bool {
	var read struct{ Paused bool }
	return json.Unmarshal(member, &read) == nil && read.Paused
}

// ours is the JSON of the value that Muster wrote last, or is writing.
func (e BaseEntry) ours() []byte {
	if e.State == BaseSending {
		return e.Intended
	}
	return e.Written
}

// HasOrdered reports whether an order was carried out on a device.
func (o Order) HasOrdered(id DeviceID) bool {
	at := slices.Index(o.Devices, id)
	return at >= 0 && at < o.Done && !slices.Contains(o.Skipped, id)
}
