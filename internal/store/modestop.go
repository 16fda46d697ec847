package store

import (
	"context"
	"database/sql"
	"strings"
	"sync"
	"time"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

// modeDecision says since when a mode is in force, and who set it. The zero time is for what is not known.
type modeDecision struct {
	mode fleet.Mode
	at   time.Time
	who  string
}

// modeDecisions remembers what this process decided and what it found in the audit. The audit is what lasts: a mode
// that could not be kept is only here.
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

// DatedStop is a stop with who set it and when. Where the audit cannot be read that stays unknown.
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

// maxModeEntries bounds the entries of the audit that are read for one stop.
const maxModeEntries = 100

// auditedDecision finds the entry with which the present mode began: the oldest of the newest entries that say it.
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
