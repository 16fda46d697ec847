package reconcile

import (
	"context"
	"encoding/json"

	"muster/internal/desired"
	"muster/internal/fleet"
	"muster/internal/logkey"
	"muster/internal/stconfig"
)

const unverified = "whether the last change reached the daemon is not known yet"

// findUnfinished remembers the intents that a crash left open. Nothing is planned for their devices before they are
// verified.
func (e *Engine) findUnfinished(ctx context.Context) error {
	open, err := e.o.Store.OpenIntents(ctx)
	if err != nil {
		return during("read open intents", err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, intent := range open {
		m := e.machine(intent.Device)
		m.mem.unfinished = append(m.mem.unfinished, intent)
		e.push(m)
	}
	return nil
}

// verifyUnfinished reads the daemon to find out what became of open intents, and records it. Nothing is sent again: what
// is still missing is in the next plan. waiting says that the daemon cannot be read now.
func (e *Engine) verifyUnfinished(ctx context.Context, j *job) (waiting bool, err error) {
	mem := &j.m.mem
	mem.mu.Lock()
	open := mem.unfinished
	mem.mu.Unlock()
	if len(open) == 0 {
		return false, nil
	}
	last := open[len(open)-1]
	if err := e.recoverAccess(ctx, j, last); err != nil {
		if fleet.CodeOf(err) == fleet.CodeKeyRefused {
			e.say(j.m, fleet.ConfigFailed, reasonOf(err), "Read the key at the daemon (Actions > Settings > GUI) and put it into the device's record.")
		} else {
			e.say(j.m, fleet.ConfigPending, unverified, "It is verified as soon as the daemon answers.")
		}
		return true, err
	}
	if !e.o.Daemon.Known(j.m.id).Online {
		e.say(j.m, fleet.ConfigPending, unverified, "It is verified as soon as the daemon answers.")
		return true, nil
	}
	j.known.Online = true
	if err := e.read(ctx, j); err != nil {
		return true, err
	}
	stored, err := e.o.Store.BaseEntries(ctx, j.m.id)
	if err != nil {
		return true, err
	}
	patterns := e.readIgnores(ctx, j, ignoresIn(stored))
	if j.entries, err = desired.Finish(stored, withIgnores(j.doc, patterns), j.m.id, nil); err != nil {
		return true, err
	}
	outcome, detail := fleet.OutcomePartial, "verified after an interruption: something is still missing"
	if thought := e.think(ctx, j, true); thought == nil && len(j.plan.Sendable()) == 0 {
		outcome, detail = fleet.OutcomeApplied, "verified after an interruption"
	}
	for _, intent := range open {
		if err := e.o.Store.FinishIntent(ctx, intent.ID, outcome, detail, j.entries); err != nil {
			return true, during("record outcome", err)
		}
		mem.mu.Lock()
		mem.unfinished = mem.unfinished[1:]
		mem.mu.Unlock()
		e.log.Info("unfinished intent verified", logkey.Device, j.m.id, logkey.Intent, intent.ID, "outcome", outcome)
		if e.o.Applied != nil {
			intent.Outcome, intent.Detail, intent.Writes = outcome, detail, nil
			e.o.Applied(intent)
		}
	}
	return false, nil
}

// recoverAccess finds out which API key the daemon takes, where an open intent was to change it.
func (e *Engine) recoverAccess(ctx context.Context, j *job, intent fleet.Intent) error {
	var r record
	if json.Unmarshal(intent.Writes, &r) != nil || r.NewKey == "" {
		return nil // older intents are verified by reading alone
	}
	if j.known.Online {
		return nil
	}
	return e.tryAccess(ctx, j, fleet.NewSecret(r.NewKey))
}

// ignoresIn are the folders whose ignore patterns have entries.
func ignoresIn(entries []fleet.BaseEntry) []string {
	var folders []string
	for _, entry := range entries {
		if key, err := stconfig.ParseKey(entry.Key); err == nil && key.Len() == 2 && key.At(0).Name == "ignores" {
			folders = append(folders, key.At(1).Name)
		}
	}
	return folders
}
