package reconcile

import (
	"context"
	"encoding/json"
	"fmt"

	"muster/internal/fleet"
	"muster/internal/plan"
)

const apiKeyKey = "gui.apiKey"

// record is what an intent says about its writes. It may hold secrets: the store seals it.
type record struct {
	Writes []recorded `json:"writes"`
	NewKey string     `json:"newKey,omitempty"` // the daemon's API key from then on
}

type recorded struct {
	Method string          `json:"method"`
	Path   string          `json:"path"`
	Body   json.RawMessage `json:"body,omitempty"`
	Keys   []string        `json:"keys"`
}

func recordOf(writes []plan.Write, newKey fleet.Secret) ([]byte, error) {
	r := record{Writes: []recorded{}, NewKey: newKey.Reveal()}
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
