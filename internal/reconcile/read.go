package reconcile

import (
	"context"
	"time"

	"muster/internal/fleet"
	"muster/internal/stconfig"
)

// runTries is how often a daemon is read that starts anew meanwhile.
const runTries = 3

// read reads the daemon now. Where it may not have saved what was sent, it also finds out of which run the document is.
func (e *Engine) read(ctx context.Context, j *job) error {
	if !j.unsure {
		return e.readDocument(ctx, j)
	}
	if j.session == nil {
		if err := e.openSession(ctx, j); err != nil {
			return err
		}
		defer j.closeSession()
	}
	for range runTries {
		before, err := j.session.Run(ctx)
		if err != nil {
			return err
		}
		if err := e.readDocument(ctx, j); err != nil {
			return err
		}
		after, err := j.session.Run(ctx)
		if err != nil {
			return err
		}
		if before == after {
			j.run = before
			return nil
		}
	}
	return &fleet.Error{Code: fleet.CodeUnavailable, Message: "the daemon starts anew again and again",
		Hint: "Look at the daemon's own log."}
}

func (e *Engine) readDocument(ctx context.Context, j *job) error {
	before := time.Now()
	var observed fleet.ObservedConfig
	var doc stconfig.Value
	var err error
	if j.session != nil {
		observed, doc, err = j.session.Config(ctx)
	} else {
		observed, err = e.o.Daemon.Config(ctx, j.m.id)
	}
	if err != nil {
		return err
	}
	j.run = ""
	if err := j.setDocument(ctx, observed, doc); err != nil {
		return err
	}
	j.m.history.mu.Lock()
	j.m.history.readAt, j.m.history.read = before, observed.Digest
	j.m.history.mu.Unlock()
	return nil
}
