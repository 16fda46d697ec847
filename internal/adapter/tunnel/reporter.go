package tunnel

import (
	"errors"
	"sync/atomic"
	"time"

	"muster/internal/fleet"
)

// reporter reports what happens to tunnels to the rest of the program, through the functions in Options. It counts how
// tunnels end.
type reporter struct {
	options *Options
	ended   [len(endings)]atomic.Int64 // ended tunnels, by index in endings
}

// changed reports that the tunnel of a device was opened, ended or got another status.
func (r *reporter) changed(device fleet.DeviceID) {
	if r.options.Changed != nil {
		r.options.Changed(device)
	}
}

// pinged reports the round-trip time of a PING.
func (r *reporter) pinged(roundTrip time.Duration) {
	if r.options.Measured != nil {
		r.options.Measured(roundTrip)
	}
}

func (r *reporter) event(t *Tunnel, state EventState, reason string) {
	if r.options.Event != nil {
		r.options.Event(Event{Device: t.device, Address: t.address, Name: t.hello.Name, State: state, Reason: reason})
	}
}

// told publishes the status that an agent was sent, as an event.
func (r *reporter) told(t *Tunnel, status Status) {
	switch status.State {
	case Accepted:
		r.event(t, EventAccepted, "")
	case Waiting:
		r.event(t, EventWaiting, "")
	case Refused, Cloned:
		r.event(t, EventRefused, status.Message)
	}
}

// gone reports that the tunnel of a device has ended, and publishes an event with the reason when the device was
// accepted or waiting.
func (r *reporter) gone(t *Tunnel, status Status, err error) {
	if status.State == Accepted || status.State == Waiting {
		r.event(t, EventDisconnected, reasonOf(err))
	}
	r.changed(t.device)
}

// count counts an ended connection by its reason.
func (r *reporter) count(err error) {
	for i, e := range endings {
		if e.err == nil || errors.Is(err, e.err) {
			r.ended[i].Add(1)
			return
		}
	}
}

// reasonOf returns why a connection ended, in words of ours: nothing that the agent sent is in it.
func reasonOf(err error) string {
	for _, e := range endings {
		if e.err != nil && errors.Is(err, e.err) {
			return e.err.Error()
		}
	}
	return "the connection failed"
}
