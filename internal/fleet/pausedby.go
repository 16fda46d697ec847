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
	PausedByPerson   PauseCause = "person"   // a person paused it at the daemon
)

// PausedBy says who paused a folder of a device, or the device's connections to all sharers of a folder.
type PausedBy struct {
	Cause PauseCause
	// Templates are the templates that asked for it last. It is set with PausedByTemplate.
	Templates []int64
	// Order is the number of the order, By is who gave it, and At is when it began. All are set with PausedByOrder.
	Order int64
	By    string
	At    time.Time
}

// PausesTemplate reports whether a value of Muster's pauses a member of the configuration, and which templates asked
// for the value. member and field are the base entries of the member and of its field "paused"; both may be nil.
func PausesTemplate(member, field *BaseEntry) (templates []int64, is bool) {
	switch {
	case field != nil && field.MayBeOurs() && bytes.Equal(field.ours(), []byte("true")):
		return field.Templates, true
	case field == nil && member != nil && member.Kind == BaseMade && member.MayBeOurs() && pausesMember(member.ours()):
		return member.Templates, true
	}
	return nil, false
}

func pausesMember(member []byte) bool {
	var read struct{ Paused bool }
	return json.Unmarshal(member, &read) == nil && read.Paused
}

// ours returns the JSON of the value that Muster wrote last, or is writing.
func (e BaseEntry) ours() []byte {
	if e.State == BaseSending {
		return e.Intended
	}
	return e.Written
}

// HasOrdered reports whether an order was carried out on a device.
func (o Order) HasOrdered(id DeviceID) bool {
	at := slices.Index(o.Devices, id)
	return at >= 0 && at < o.Done && !slices.Contains(o.Skipped, id) &&
		!slices.ContainsFunc(o.Failed, func(f OrderFailure) bool { return f.Device == id })
}
