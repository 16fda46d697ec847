package store

import (
	"context"
	"errors"
	"maps"
	"time"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

// The stop switch has to work while nothing can be written: a mode is in force as soon as it is set, and kept as soon
// as that is possible. Until then it is in override, above the contents.

const (
	keepTime  = time.Second     // that a request which sets a mode waits for the database
	keepAgain = 5 * time.Second // between attempts to keep what could not be kept
)

// override is a mode that is in force and not kept yet.
type override struct {
	mode fleet.Mode
	turn int64 // grows with each decision: an older one that is kept late must not undo or end a newer one
}

// SwitchMode sets the mode of the fleet, a tag or a device, at once. kept tells whether a restart would still know it:
// where the database cannot be written it is in force all the same, and kept when that is possible again.
func (s *Store) SwitchMode(ctx context.Context, scope fleet.ModeScope, mode fleet.Mode) (kept bool, err error) {
	if err := s.lock.takenAway(); err != nil {
		return false, err
	}
	if err := s.checkSwitch(scope, mode); err != nil {
		return false, err
	}
	if s.modeOf(scope) != mode {
		s.decisions.set(scope, modeDecision{mode: mode, at: s.now(), who: fleet.ActorOf(ctx)})
	}
	turn := s.model.force(scope, mode)
	s.overridden(scope)
	err = s.keepSoon(ctx, scope, mode, turn)
	switch fleet.CodeOf(err) {
	case "":
		return true, nil
	case fleet.CodeInvalid, fleet.CodeNotFound:
		s.model.yield(scope, turn)
		s.overridden(scope)
		return false, err
	}
	s.log.Warn("a mode is in force but not kept", "mode", mode, logkey.Err(err))
	s.keepLater(fleet.ActorOf(ctx)) //nolint:contextcheck // it goes on when the request is answered
	return false, nil
}

// modeOf is the mode that is in force for the fleet, a tag or a device alone; "" where none was ever set.
func (s *Store) modeOf(scope fleet.ModeScope) fleet.Mode {
	registry := s.model.current().registry
	switch {
	case scope.Tag != "":
		return registry.TagModes[scope.Tag]
	case scope.Device != "":
		if device := registry.Devices[scope.Device]; device != nil {
			return device.Settings.Mode
		}
		return ""
	}
	return registry.Mode
}

func (s *Store) checkSwitch(scope fleet.ModeScope, mode fleet.Mode) error {
	if _, err := fleet.ParseMode(string(mode)); err != nil {
		return err
	}
	if scope.Tag != "" && scope.Device != "" {
		return fleet.Invalidf("tag", "a mode is of a tag or of a device, not of both")
	}
	if scope.Tag != "" {
		_, err := fleet.ParseTag(string(scope.Tag))
		return err
	}
	if scope.Device != "" {
		_, err := s.registered(scope.Device)
		return err
	}
	return nil
}

// keepSoon keeps a mode that is in force, or says that it takes too long. Then it goes on: a write that was begun is
// not given up, and ends with the database at the latest.
func (s *Store) keepSoon(ctx context.Context, scope fleet.ModeScope, mode fleet.Mode, turn int64) error {
	done := make(chan error, 1)
	go func() { done <- s.keepMode(context.WithoutCancel(ctx), scope, mode, turn) }()
	patience := time.NewTimer(keepTime)
	defer patience.Stop()
	select {
	case err := <-done:
		return err
	case <-patience.C:
		return &fleet.Error{Code: fleet.CodeUnavailable, During: "keep mode", Message: "the database did not answer in time"}
	}
}

// notKept is the answer to a caller that wants the mode on disk.
func (s *Store) notKept(kept bool, err error) error {
	if err != nil || kept {
		return err
	}
	if lost := s.LockLost(); lost != nil {
		return &fleet.Error{
			Code: fleet.CodeUnavailable, During: "keep mode", Err: errors.Join(fleet.ErrNotKept, lost),
			Message: "the mode is in force in this server from now on, but it could not be kept: " +
				"the lock of the database is lost",
			Hint: "It is kept as soon as this server has the database again. Another server that takes the database, or a " +
				"restart, " +
				"does not know of it: then set it there.",
		}
	}
	return &fleet.Error{
		Code: fleet.CodeUnavailable, During: "keep mode", Err: fleet.ErrNotKept,
		Message: "the mode is in force from now on, but it could not be kept: the database cannot be written",
		Hint:    "It is kept as soon as the database can be written. A restart before that forgets it.",
	}
}

// overridden tells everybody that a mode changed.
func (s *Store) overridden(scope fleet.ModeScope) {
	changed := fleet.Committed{Registry: true, Modes: true}
	if scope.Device != "" {
		changed.Devices = map[fleet.DeviceID]bool{scope.Device: true}
	}
	s.writer.tell(changed)
}

func (s *Store) keepMode(ctx context.Context, scope fleet.ModeScope, mode fleet.Mode, turn int64) error {
	_, err := write(ctx, s, "put mode", func(t *tx) (none struct{}, err error) {
		if !t.decide(scope, turn) {
			return none, nil
		}
		switch {
		case scope.Tag != "":
			return none, t.putTagMode(scope.Tag, mode)
		case scope.Device != "":
			row, err := t.registered(scope.Device)
			if err != nil {
				return none, err
			}
			settings := row.Settings
			settings.Mode = mode
			t.record("device.settings", string(scope.Device), describe(settings))
			return none, t.putSettings(row, settings)
		}
		return none, t.putFleetMode(mode)
	})
	return err
}

// decide ends the modes in force that are not newer than this turn, and tells whether its own is to be written: not
// where that of a newer turn was written already, or this one.
func (t *tx) decide(scope fleet.ModeScope, turn int64) bool {
	t.committed(func() { t.store.model.yield(scope, turn) })
	decided := t.store.writer.decided
	before := decided[scope]
	if turn <= before {
		return false
	}
	decided[scope] = turn
	t.undone(func() { decided[scope] = before })
	return true
}

// keepLater tries again until everything that is in force is kept.
func (s *Store) keepLater(who string) {
	s.keeping.Lock()
	defer s.keeping.Unlock()
	if s.keepTimer != nil {
		return
	}
	s.keepTimer = time.AfterFunc(keepAgain, func() {
		s.keeping.Lock()
		s.keepTimer = nil
		s.keeping.Unlock()
		if !s.keepNow(fleet.WithActor(context.Background(), who)) && !s.writer.stopped() {
			s.keepLater(who)
		}
	})
}

// keepNow tells whether everything that is in force is kept.
func (s *Store) keepNow(ctx context.Context) (all bool) {
	all = true
	for scope, o := range s.model.forced() {
		switch fleet.CodeOf(s.keepMode(ctx, scope, o.mode, o.turn)) {
		case "":
		case fleet.CodeNotFound: // the device was deleted
			s.model.yield(scope, o.turn)
		default:
			all = false
		}
	}
	return all
}

// stopKeeping ends the attempts; the database is being closed.
func (s *Store) stopKeeping() {
	s.keeping.Lock()
	defer s.keeping.Unlock()
	if s.keepTimer != nil {
		s.keepTimer.Stop()
	}
}

// force puts a mode above the contents.
func (m *model) force(scope fleet.ModeScope, mode fleet.Mode) (turn int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.turn++
	if m.overrides == nil {
		m.overrides = map[fleet.ModeScope]override{}
	}
	m.overrides[scope] = override{mode, m.turn}
	m.view = nil
	return m.turn
}

// yield ends an override, unless there is a newer one.
func (m *model) yield(scope fleet.ModeScope, turn int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if o, ok := m.overrides[scope]; ok && o.turn <= turn {
		delete(m.overrides, scope)
		m.view = nil
	}
}

// nextTurn is for a decision that is in force only when it is written.
func (m *model) nextTurn() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.turn++
	return m.turn
}

func (m *model) forced() map[fleet.ModeScope]override {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return maps.Clone(m.overrides)
}

// inForce are the contents with the modes that are in force.
func (c contents) inForce(overrides map[fleet.ModeScope]override) contents {
	if len(overrides) == 0 {
		return c
	}
	c.devices, c.tagModes = maps.Clone(c.devices), maps.Clone(c.tagModes)
	for scope, o := range overrides {
		switch {
		case scope.Tag != "":
			c.tagModes[scope.Tag] = o.mode
		case scope.Device != "":
			c.device(scope.Device, func(r *fleet.Registered) { r.Settings.Mode = o.mode })
		default:
			c.mode = o.mode
		}
	}
	return c
}
