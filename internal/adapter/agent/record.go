package agent

import (
	"errors"
	"os"
	"slices"
	"sync"
	"time"

	"muster/internal/adapter/tunnel"
	"muster/internal/fleet"
)

// keptChanges is how many of the manager's last changes a report lists.
const keptChanges = 20

// Report is the state of an agent. `muster agent status` shows it on the agent's machine.
type Report struct {
	PID       int            `json:"pid"`
	Version   string         `json:"version"`
	Server    string         `json:"server"`
	Home      string         `json:"home"`
	Device    fleet.DeviceID `json:"device"`
	Name      string         `json:"name"`
	Observe   bool           `json:"observe"`
	Connected bool           `json:"connected"`
	Since     time.Time      `json:"since"` // time since which it is connected, or not connected
	State     tunnel.State   `json:"state"` // the last state that the server sent; "" before the first
	Message   string         `json:"message"`
	Hint      string         `json:"hint"`
	Trouble   string         `json:"trouble"` // why it is not connected
	Next      time.Time      `json:"next"`    // time of the next attempt to connect
	Daemon    string         `json:"daemon"`  // why the daemon did not answer the last request; "" when it did
	Changes   []Change       `json:"changes"` // oldest first
}

// record collects the data of a Report.
type record struct {
	mu         sync.Mutex // guards the fields below
	now        Report
	isAccepted bool // the server has accepted the device since this process started
}

func newRecord(r Report) *record {
	r.PID, r.Since, r.Trouble = os.Getpid(), time.Now().UTC(), "it has just started"
	return &record{now: r}
}

func (r *record) report() Report {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now
	now.Changes = slices.Clone(now.Changes)
	return now
}

func (r *record) connected() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now.Connected, r.now.Since, r.now.Trouble, r.now.Next = true, time.Now().UTC(), "", time.Time{}
	r.now.State, r.now.Message, r.now.Hint = "", "", ""
}

// disconnected records why there is no connection. It returns a hint for the user.
func (r *record) disconnected(err error, next time.Time) (hint string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.now.Connected {
		r.now.Connected, r.now.Since = false, time.Now().UTC()
	}
	r.now.Trouble, r.now.Next = err.Error(), next
	if errors.Is(err, errEnded) {
		return r.now.Hint // What the server told before it ended the connection is the reason.
	}
	r.now.Message, r.now.Hint = "", ""
	var told *fleet.Error
	if errors.As(err, &told) {
		r.now.Hint = told.Hint
	}
	return r.now.Hint
}

// told records a status from the server, and reports whether it differs from the last one.
func (r *record) told(status tunnel.Status) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := tunnel.Status{State: r.now.State, Message: r.now.Message, Hint: r.now.Hint}
	r.now.State, r.now.Message, r.now.Hint = status.State, status.Message, status.Hint
	r.isAccepted = r.isAccepted || status.State == tunnel.Accepted
	return status != before
}

// answered records why the daemon did not answer a request, or with "" that it did.
func (r *record) answered(trouble string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now.Daemon = trouble
}

func (r *record) change(c Change) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now.Changes = append(r.now.Changes, c)
	if extra := len(r.now.Changes) - keptChanges; extra > 0 {
		r.now.Changes = slices.Delete(r.now.Changes, 0, extra)
	}
}

// accepted reports whether the server has accepted the device since this process started. The enrol key is then no
// longer needed.
func (r *record) accepted() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.isAccepted
}
