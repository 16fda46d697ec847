package reconcile

import (
	"context"
	"encoding/json"
	"fmt"

	"muster/internal/fleet"
	"muster/internal/plan"
	"muster/internal/stconfig"
)

const apiKeyKey = "gui.apiKey"

// record is what an intent says about its writes. It may hold secrets: the store seals it.
type record struct {
	Writes []recorded  `json:"writes"`
	NewKey string      `json:"newKey,omitempty"` // the daemon's API key from then on
	Access *accessMove `json:"access,omitempty"`
}

// accessMove is how the daemon's API is reached before and after a change, for a person; it holds no key.
type accessMove struct {
	Old string `json:"old"`
	New string `json:"new"`
}

// accessMoveOf is what a plan does to the access, nil when that stays as it is.
func accessMoveOf(p plan.Plan, observed stconfig.Value) *accessMove {
	gui := observed.Get("gui")
	move := accessMove{Old: accessOf(gui)}
	moves := false
	for _, c := range p.Sendable() {
		if !c.Access {
			continue
		}
		moves = true
		gui = gui.With(c.Key.At(1).Name, c.Sending())
	}
	if !moves {
		return nil
	}
	move.New = accessOf(gui)
	if !gui.Get("apiKey").Equal(observed.Get("gui").Get("apiKey")) {
		move.New, move.Old = move.New+" with the new API key", move.Old+" with the old one"
	}
	return &move
}

func accessOf(gui stconfig.Value) string {
	if gui.Get("useTLS").IsTrue() {
		return "https://" + gui.Get("address").Str()
	}
	return "http://" + gui.Get("address").Str()
}

// lost says that the daemon answers in neither way.
func (m accessMove) lost(why error) *fleet.Error {
	return &fleet.Error{Code: fleet.CodeUnavailable, During: "change how the daemon is reached", Err: why,
		Message: fmt.Sprintf("access lost: the daemon answers neither at %s nor at %s: %s", m.New, m.Old, reasonOf(why)),
		Hint:    "Look at the daemon on its own machine (Actions > Settings > GUI, or its config.xml) and correct the device's record. Muster goes on trying."}
}

// orLost is the error of a daemon that does not answer after its access was changed.
func (a *attempt) orLost(ctx context.Context, err error) error {
	if a.access == nil || ctx.Err() != nil {
		return err
	}
	lost := a.access.lost(err)
	a.say(a.j.m, fleet.ConfigFailed, lost.Message, lost.Hint)
	a.j.lost = true
	return lost
}

type recorded struct {
	Method string          `json:"method"`
	Path   string          `json:"path"`
	Body   json.RawMessage `json:"body,omitempty"`
	Keys   []string        `json:"keys"`
}

func recordOf(writes []plan.Write, newKey fleet.Secret, access *accessMove) ([]byte, error) {
	r := record{Writes: []recorded{}, NewKey: newKey.Reveal(), Access: access}
	for _, w := range writes {
		entry := recorded{Method: w.Method, Path: w.Path}
		if w.Body.Exists() {
			entry.Body = w.Body.JSON()
		}
		for _, key := range w.Keys {
			entry.Keys = append(entry.Keys, key.String())
		}
		r.Writes = append(r.Writes, entry)
	}
	b, err := json.Marshal(r)
	return b, during("record writes", err)
}

// settleAccess finds out which API key the daemon takes after it was told a new one, and keeps that one: the new key is
// tried, then the old, for a minute, because the API restarts.
func (a *attempt) settleAccess(ctx context.Context) error {
	if a.newKey.IsZero() {
		return nil
	}
	return retrying(ctx, restartTime, func() error { return a.tryAccess(ctx, a.j, a.newKey) })
}

func (e *Engine) tryAccess(ctx context.Context, j *job, newKey fleet.Secret) error {
	if e.o.Access == nil {
		return nil
	}
	newErr := e.o.Access.TryKey(ctx, j.m.id, newKey)
	if newErr == nil {
		return during("adopt API key", e.o.Access.AdoptKey(ctx, j.m.id, newKey))
	}
	oldErr := e.o.Access.TryKey(ctx, j.m.id, j.device.APIKey)
	switch {
	case oldErr == nil:
		return nil
	case fleet.CodeOf(newErr) == fleet.CodeKeyRefused && fleet.CodeOf(oldErr) == fleet.CodeKeyRefused:
		return &fleet.Error{Code: fleet.CodeKeyRefused, During: "change API key", Err: newErr,
			Message: "access lost: the daemon takes neither the new API key nor the old one",
			Hint:    "Read the key at the daemon (Actions > Settings > GUI) and put it into the device's record."}
	}
	return fmt.Errorf("try API keys: new: %w; old: %w", newErr, oldErr)
}
