package agent

import (
	"errors"
	"os"
	"slices"
	"sync"
	"time"

	"muster/internal/fleet"
	"muster/internal/tunnel"
)

// keptChanges is how many of the manager's last changes are kept for people.
const keptChanges = 20

// Report is how it stands with an agent, for the people of its machine.
type Report struct {
	PID       int            `json:"pid"`
	Version   string         `json:"version"`
	Server    string         `json:"server"`
	Home      string         `json:"home"`
	Device    fleet.DeviceID `json:"device"`
	Name      string         `json:"name"`
	Observe   bool           `json:"observe"`
	Connected bool           `json:"connected"`
	Since     time.Time      `json:"since"` // it is connected, or not connected
	State     tunnel.State   `json:"state"` // as the server told it last; "" before
	Message   string         `json:"message"`
	Hint      string         `json:"hint"`
	Trouble   string         `json:"trouble"` // why it is not connected
	Next      time.Time      `json:"next"`    // attempt to connect
	Daemon    string         `json:"daemon"`  // why the daemon did not answer the last request; "": it did
	Changes   []Change       `json:"changes"` // the newest last
}

// record keeps the report.
type record struct {
	mu         sync.Mutex // guards what follows
	now        Report
	isAccepted bool // in this run
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

// disconnected keeps why there is no connection, and gives what a person can do about it.
func (r *record) disconnected(err error, next time.Time) (hint string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.now.Connected {
		r.now.Connected, r.now.Since = false, time.Now().UTC()
	}
	r.now.Trouble, r.now.Next = err.Error(), next
	var told *fleet.Error
	if errors.As(err, &told) && told.Hint != "" {
		r.now.Hint = told.Hint
	}
	return r.now.Hint
}

// told keeps what the server tells, and says whether that is new.
func (r *record) told(status tunnel.Status) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := tunnel.Status{State: r.now.State, Message: r.now.Message, Hint: r.now.Hint}
	r.now.State, r.now.Message, r.now.Hint = status.State, status.Message, status.Hint
	r.isAccepted = r.isAccepted || status.State == tunnel.Accepted
	return status != before
}

// answered keeps why the daemon did not answer a request; "": it did.
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

// accepted tells whether the server accepted the device in this run: the enrol key is not needed any more.
func (r *record) accepted() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.isAccepted
}
