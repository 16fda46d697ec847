package store

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

// A person must be able to stop Muster while the database cannot be written. So a mode takes effect as soon as a
// person sets it, and is stored as soon as that is possible. Until it is stored it is an override, which counts
// instead of the mode in the contents.

const (
	keepTime  = time.Second     // how long a request that sets a mode waits for the database
	keepAgain = 5 * time.Second // pause between attempts to store such modes
)

// override is a mode that is in force and not stored yet.
type override struct {
	mode fleet.Mode
	turn int64 // Number of the decision. A decision that is stored late must not undo a newer one.
}

// SwitchMode sets the mode of the fleet, a tag or a device, with immediate effect. kept reports whether the mode is
// stored, so that it survives a restart. If the database cannot be written, kept is false and err is nil: the mode is
// in force all the same, and is stored later. After an error the mode is as before. It is a conflict error to have
// Muster write again to a device whose row is not believed.
func (s *Store) SwitchMode(ctx context.Context, scope fleet.ModeScope, mode fleet.Mode) (kept bool, err error) {
	if err := s.lock.takenAway(); err != nil {
		return false, err
	}
	if err := s.checkSwitch(ctx, scope, mode); err != nil {
		return false, err
	}
	if s.modeOf(scope) != mode {
		s.decisions.set(scope, modeDecision{mode: mode, at: s.now(), who: fleet.ActorOf(ctx)})
	}
	turn := s.model.force(scope, mode)
	s.overridden(scope)
	err = s.keepSoon(ctx, scope, mode, turn)
	switch {
	case err == nil:
		return true, nil
	case isRefused(mode, err):
		s.model.yield(scope, turn)
		s.overridden(scope)
		return false, err
	}
	s.log.Warn("a mode is in force but not kept", "mode", mode, logkey.Err(err))
	s.keepLater(fleet.ActorOf(ctx)) //nolint:contextcheck // it goes on when the request is answered
	return false, nil
}

// isRefused reports whether an attempt to store a mode failed for good, so that the mode must not stay in force: what
// it is for does not exist, or is a device whose row is not believed. A stop is not refused for such a row.
func isRefused(mode fleet.Mode, err error) bool {
	switch fleet.CodeOf(err) {
	case fleet.CodeInvalid, fleet.CodeNotFound:
		return true
	case fleet.CodeConflict:
		return !isStop(mode)
	}
	return false
}

// modeOf returns the mode in force for exactly this scope: the fleet, a tag or a device. It returns "" for a tag
// without a mode and for a device that is not registered.
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

func (s *Store) checkSwitch(ctx context.Context, scope fleet.ModeScope, mode fleet.Mode) error {
	if _, err := fleet.ParseMode(string(mode)); err != nil {
		return err
	}
	if scope == (fleet.ModeScope{}) && mode == fleet.ModeOn {
		if err := s.onlyObserved(); err != nil {
			return err
		}
	}
	if scope.Tag != "" && scope.Device != "" {
		return fleet.Invalidf("tag", "a mode is of a tag or of a device, not of both")
	}
	if scope.Tag != "" {
		_, err := fleet.ParseTag(string(scope.Tag))
		return err
	}
	if scope.Device != "" {
		device, err := s.registered(scope.Device)
		if err != nil || isStop(mode) {
			return err
		}
		if device.Doubted {
			return doubtedDevice(scope.Device)
		}
		return s.checkBelieved(ctx, scope.Device)
	}
	return nil
}

// checkBelieved returns a conflict error if the row of a device was in doubt at the last comparison and still is. The
// contents then have the content of that row, so no mode in which Muster writes may be in force, not even before it is
// stored.
func (s *Store) checkBelieved(ctx context.Context, id fleet.DeviceID) error {
	var inDoubt bool
	s.model.look(func(c *contents) {
		inDoubt = slices.ContainsFunc(c.doubts, func(d doubt) bool {
			return d.table == deviceModeRows && (d.every() || d.names(string(id)))
		})
	})
	if !inDoubt {
		return nil
	}
	row, err := s.scanDevice(s.reads.QueryRowContext(ctx, selectDevices+` WHERE id = $1`, string(id)))
	switch {
	case err != nil:
		return failure("read device", err)
	case !row.believed:
		return notBelievedDevice(id)
	}
	return nil
}

// keepSoon stores a mode that is in force. If that takes longer than keepTime, it returns an unavailable error; the
// write then goes on in the background, and ends at the latest when the store is closed.
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

// notKept converts the results of SwitchMode for a caller that needs the mode on disk: it returns an error with the
// cause fleet.ErrNotKept if the mode is in force but not stored.
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

// overridden notifies the rest of the server that the mode of a scope changed.
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

// decide reports whether a transaction shall write the mode of a scope. turn is the turn of the decision about that
// mode (see override). decide returns false if the mode of this turn or of a newer one was written already. In both
// cases the override of the scope ends after the commit, unless it has a newer turn.
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

// keepLater tries to store all overrides in the background. It tries again every keepAgain until all are stored. who
// is the actor for the audit.
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

// keepNow tries to store all overrides, and reports whether all are stored now.
func (s *Store) keepNow(ctx context.Context) (all bool) {
	all = true
	for scope, o := range s.model.forced() {
		err := s.keepMode(ctx, scope, o.mode, o.turn)
		switch {
		case err == nil:
		case isRefused(o.mode, err):
			s.model.yield(scope, o.turn)
			s.overridden(scope)
		default:
			all = false
		}
	}
	return all
}

// stopKeeping ends the attempts to store overrides, because the database is being closed.
func (s *Store) stopKeeping() {
	s.keeping.Lock()
	defer s.keeping.Unlock()
	if s.keepTimer != nil {
		s.keepTimer.Stop()
	}
}

// force adds an override, and returns its turn.
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

// yield ends the override of a scope, unless the override has a newer turn.
func (m *model) yield(scope fleet.ModeScope, turn int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if o, ok := m.overrides[scope]; ok && o.turn <= turn {
		delete(m.overrides, scope)
		m.view = nil
	}
}

// nextTurn returns the turn for a mode that takes effect only when its transaction is committed.
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

// inForce returns the contents with the modes in overrides in place of the stored ones.
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

// modeDecision is who set a mode and when. at is zero and who is "" if that is not known.
type modeDecision struct {
	mode fleet.Mode
	at   time.Time
	who  string
}

// modeDecisions caches the decisions that this process made or found in the audit. The lasting record is in the audit,
// but a decision about a mode that is not stored yet is only here.
type modeDecisions struct {
	mu      sync.Mutex // guards byScope
	byScope map[fleet.ModeScope]modeDecision
}

func (d *modeDecisions) set(scope fleet.ModeScope, decision modeDecision) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.byScope == nil {
		d.byScope = map[fleet.ModeScope]modeDecision{}
	}
	d.byScope[scope] = decision
}

func (d *modeDecisions) of(scope fleet.ModeScope, mode fleet.Mode) (modeDecision, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	decision, known := d.byScope[scope]
	return decision, known && decision.mode == mode
}

// DatedStop returns stop with Since and By filled in: when its mode was set, and by whom. They stay empty if the audit
// does not say it or cannot be read.
func (s *Store) DatedStop(ctx context.Context, stop fleet.ModeStop) fleet.ModeStop {
	decision, known := s.decisions.of(stop.Scope, stop.Mode)
	if !known {
		var err error
		if decision, err = s.auditedDecision(ctx, stop.Scope, stop.Mode); err != nil {
			s.log.Warn("who stopped Muster is not readable", logkey.Err(err))
			return stop
		}
		s.decisions.set(stop.Scope, decision)
	}
	stop.Since, stop.By = decision.at, decision.who
	return stop
}

// maxModeEntries is how many entries of the audit are read at most to date one stop.
const maxModeEntries = 100

// auditedDecision returns who set the present mode of a scope and when. It reads the audit entries about the scope
// from the newest to the oldest, as long as they set this mode. The oldest of these is the decision.
func (s *Store) auditedDecision(ctx context.Context, scope fleet.ModeScope, mode fleet.Mode) (modeDecision, error) {
	what, subject := "fleet.mode", ""
	switch {
	case scope.Tag != "":
		what, subject = "tag.mode", string(scope.Tag)
	case scope.Device != "":
		what, subject = "device.settings", string(scope.Device)
	}
	entries, err := collect(ctx, pool{s.reads}, func(row scanner) (e fleet.AuditEntry, err error) {
		var at sql.NullInt64
		err = row.Scan(&at, &e.Who, &e.Detail)
		e.At = fromMillis(at)
		return e, err
	}, `
		SELECT at, who, detail FROM audit
		WHERE what = $1 AND subject = $2 ORDER BY id DESC LIMIT $3`, what, subject, maxModeEntries)
	decision := modeDecision{mode: mode}
	for _, e := range entries {
		said, _, _ := strings.Cut(strings.TrimPrefix(e.Detail, settingsMode), ",")
		if said != string(mode) {
			break
		}
		decision.at, decision.who = e.At, e.Who
	}
	return decision, failure("read audit", err)
}
