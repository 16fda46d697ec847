package reconcile

import (
	"context"
	"errors"
	"net/http"
	"time"

	"muster/internal/fleet"
)

// A daemon whose disk is full answers a write with 500, has the new value in memory, and the old one again after its
// next start. So a write that was answered with 5xx counts as not done, whatever the daemon shows, until it answers a
// write of its configuration with 2xx: then it has saved all of it. The stop that says so is durable before the daemon
// is read back.

const (
	unsavedKey  = "unsaved configuration" // no key of a configuration: nothing is kept from being written
	failedAfter = 5                       // equal answers
)

// answered notes how the daemon answered a write of its configuration.
func (e *Engine) answered(ctx context.Context, j *job, err error) {
	if j.m.mem.answered(err, time.Now()) {
		e.keepStops(context.WithoutCancel(ctx), j)
	}
}

func (m *memory) answered(err error, now time.Time) (changed bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	was, unsaved := m.stops[unsavedKey]
	switch {
	case err == nil:
		delete(m.stops, unsavedKey)
		m.unsavedAnswers = 0
		return unsaved
	case !errors.Is(err, fleet.ErrNotSaved):
		return false
	}
	is := fleet.Stop{Key: unsavedKey, Kind: fleet.StopUnsaved, Reason: fleet.Reason(err), Since: now}
	if !unsaved || was.Reason != is.Reason {
		m.unsavedAnswers = 0
	} else {
		is.Since = was.Since
	}
	m.unsavedAnswers++
	if m.unsavedAnswers >= failedAfter || was.Kind == fleet.StopUnsaveable && was.Reason == is.Reason {
		is.Kind = fleet.StopUnsaveable
	}
	m.stop(is)
	return true
}

// unsaved is the answer after which it is not known what the daemon has on its disk; none when there is none.
func (m *memory) unsaved() (fleet.Stop, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.stops[unsavedKey]
	return s, ok
}

// saveAgain has the daemon save what it has, with a write that changes nothing.
func (e *Engine) saveAgain(ctx context.Context, j *job) error {
	if _, unsaved := j.m.mem.unsaved(); !unsaved || !j.known.Online || !e.mayWrite(ctx, j) {
		return nil
	}
	if err := e.talk(ctx, j); err != nil {
		return err
	}
	defer j.hangUp()
	const path = "/rest/config/options"
	err := j.session.Write(ctx, http.MethodPatch, path, []byte("{}"))
	e.answered(ctx, j, err)
	return during(http.MethodPatch+" "+path, err)
}

// notSaved is the state that such an answer makes.
func (j *job) notSaved() fleet.State {
	s, unsaved := j.m.mem.unsaved()
	switch {
	case !unsaved:
		return fleet.State{}
	case s.Kind == fleet.StopUnsaveable:
		return fleet.State{Configuration: fleet.ConfigFailed, Reason: "the daemon cannot save its configuration: " + s.Reason,
			Next: "Look at the daemon's disk and its log. It is tried again by itself, up to once a minute."}
	case j.mode != fleet.ModeOn:
		return fleet.State{Configuration: fleet.ConfigPending,
			Reason: "the daemon may have lost the last change: " + s.Reason,
			Next:   "Nothing is written: the mode is observe. Set the fleet's, the tags' and the device's mode to on."}
	}
	return fleet.State{Configuration: fleet.ConfigPending, Reason: "the daemon may lose the last change: " + s.Reason,
		Next: "It is asked to save its configuration again shortly."}
}
