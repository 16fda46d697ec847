// Package health decides how a device stands, from what mirror, reconcile and rollout report, and what counts as
// trouble that people are told of. It is told everything: it calls no other room and keeps nothing on disk.
// DESIGN.md says which facts go in and which state comes out.
package health

import (
	"sync"
	"time"

	"muster/internal/core/plan"
	"muster/internal/fleet"
)

// Health knows how the configuration of every device stands. It may be used by several goroutines at once.
type Health struct {
	mu         sync.Mutex // guards what follows
	conditions map[fleet.DeviceID]condition
	rollouts   map[int64]map[fleet.DeviceID]bool // the devices that wait for a rollout
	waves      map[fleet.DeviceID]waiting
	rivals     map[fleet.DeviceID]string // address of a second agent with the device's certificate
}

// condition is the state of a device's configuration. Only Configuration, Since, Reason and Next of the State are set.
type condition struct {
	fleet.State
	planned string // digest of the configuration that a pass planned from; "" without a plan
}

// New makes the Health of a fleet about which nothing was reported yet.
func New() *Health {
	return &Health{
		conditions: map[fleet.DeviceID]condition{}, rollouts: map[int64]map[fleet.DeviceID]bool{},
		waves: map[fleet.DeviceID]waiting{}, rivals: map[fleet.DeviceID]string{},
	}
}

// Found records the findings of a pass of reconcile. It reports whether the state of the device has changed.
func (h *Health) Found(id fleet.DeviceID, f plan.Findings) (changed bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	was, known := h.conditions[id]
	if f.Result == plan.Gone {
		delete(h.conditions, id)
		return known
	}
	is := condition{Configuration(id, f), f.Plan.Observed}
	if is.Since = was.Since; was.Configuration != is.Configuration {
		is.Since = time.Now()
	}
	h.conditions[id] = is
	return was != is
}

// Condition returns the state of a device's configuration by reconcile alone, without regard to rollouts. It sets
// Configuration, Since, Reason and Next.
func (h *Health) Condition(id fleet.DeviceID) fleet.State {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.condition(id).State
}

// condition returns what Condition returns, as a condition. The caller holds mu.
func (h *Health) condition(id fleet.DeviceID) condition {
	if c, known := h.conditions[id]; known {
		return c
	}
	return condition{State: notPlanned}
}

// Standing returns what a rollout needs to know of a device. When its mode is unknown, nothing is written to it.
func (h *Health) Standing(id fleet.DeviceID, f Facts, last fleet.Pass) fleet.Standing {
	s := fleet.Standing{Mode: fleet.ModeObserve}
	if f.Registry != nil && f.Registry.Devices[id] != nil {
		s.Mode = f.Registry.ModeOf(id)
	}
	if f.Snapshot == nil {
		s.Gone, s.Tried, s.Reason = true, true, "it is not registered any more"
		return s
	}
	s.Online = f.Snapshot.Answers()
	s.Tried = s.Online || !f.Snapshot.NextTry.IsZero()
	s.Digest, s.Reason, s.TooOld = f.Snapshot.Digest, f.Snapshot.Reason, f.Snapshot.TooOld
	if s.Online {
		condition := h.Condition(id)
		s.Configuration, s.Reason = condition.Configuration, condition.Reason
	}
	s.Errors, s.Summarised = f.Snapshot.FolderErrors()
	s.NotFine = f.Snapshot.FoldersNotFine()
	s.Pass = last
	return s
}
