package reconcile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"muster/internal/fleet"
	"muster/internal/plan"
	"muster/internal/stconfig"
)

const (
	apiKeyKey  = "gui.apiKey"
	addressKey = "gui.address"
)

// record is what an intent says about its writes. It may hold secrets: the store seals it.
type record struct {
	Writes  []recorded  `json:"writes"`
	NewKey  string      `json:"newKey,omitempty"`  // the daemon's API key from then on
	NewPort int         `json:"newPort,omitempty"` // the port of its API from then on; 0: as before
	Access  *accessMove `json:"access,omitempty"`
}

// next is the access that follows on the present one.
func (r record) next(now fleet.Access) fleet.Access {
	if r.NewKey != "" {
		now.Key = fleet.NewSecret(r.NewKey)
	}
	if r.NewPort != 0 {
		now.Port = r.NewPort
	}
	return now
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
		Message: fmt.Sprintf("access lost: the daemon answers neither at %s nor at %s: %s", m.New, m.Old, fleet.Reason(why)),
		Hint: "Look at the daemon on its own machine (Actions > Settings > GUI, or its config.xml) and correct the " +
			"device's record. Muster goes on trying."}
}

// orLost is the error of a daemon that does not answer after its access was changed.
func (a *attempt) orLost(ctx context.Context, err error) error {
	if a.record.Access == nil || ctx.Err() != nil {
		return err
	}
	lost := a.record.Access.lost(err)
	a.report(a.j.m.id, plan.Findings{Result: plan.AccessLost, Reason: lost.Message, Next: lost.Hint})
	a.j.lost = true
	return lost
}

type recorded struct {
	Method string          `json:"method"`
	Path   string          `json:"path"`
	Body   json.RawMessage `json:"body,omitempty"`
	Keys   []string        `json:"keys"`
}

// keys are the keys of all writes.
func (r record) keys() []stconfig.Key {
	var keys []stconfig.Key
	for _, w := range r.Writes {
		for _, text := range w.Keys {
			if key, err := stconfig.ParseKey(text); err == nil {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

func recordOf(writes []plan.Write, r record) ([]byte, error) {
	r.Writes = []recorded{}
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

// newAccess notes in an intent what of its changes is needed to reach the daemon afterwards.
func (r *record) newAccess(c plan.Change, observed stconfig.Value) {
	switch c.Key.String() {
	case apiKeyKey:
		r.NewKey = c.Sending().Str()
	case addressKey:
		if port := plan.APIPort(c.Sending().Str()); port != plan.APIPort(observed.Get("gui").Get("address").Str()) {
			r.NewPort = port
		}
	}
}

// settleAccess finds out how the daemon is reached after it was told of another access, and keeps that: the new one
// is tried, then the old, for a minute, because the API restarts.
func (a *attempt) settleAccess(ctx context.Context) error {
	if !a.record.moves() {
		return nil
	}
	next := a.record.next(a.j.device.Access())
	err := retrying(ctx, restartTime, func() error { return a.tryAccess(ctx, a.j, next) })
	if errors.Is(err, errAboutToMove) {
		return nil // it stays where it was
	}
	return err
}

// moves tells whether the daemon is reached in another way afterwards.
func (r record) moves() bool { return r.NewKey != "" || r.NewPort != 0 }

// errAboutToMove says that the daemon still answers where it was, although its configuration says otherwise: its API
// restarts after it has answered the write.
var errAboutToMove = &fleet.Error{Code: fleet.CodeUnavailable,
	Message: "the daemon still answers at its old port, and is to answer at a new one"}

// tryAccess keeps the access to which the daemon answers.
func (e *Engine) tryAccess(ctx context.Context, j *job, next fleet.Access) error {
	if e.o.Access == nil {
		return nil
	}
	now := j.device.Access()
	newErr := e.o.Access.TryAccess(ctx, j.m.id, next)
	if newErr == nil {
		if err := e.o.Access.AdoptAccess(ctx, j.m.id, now, next); err != nil {
			return during("adopt access", err)
		}
		return e.reload(ctx, j)
	}
	oldErr := e.o.Access.TryAccess(ctx, j.m.id, now)
	switch {
	case oldErr == nil && next.Port != now.Port:
		return e.checkStays(ctx, j, next.Port)
	case oldErr == nil:
		return nil
	case fleet.CodeOf(newErr) == fleet.CodeKeyRefused && fleet.CodeOf(oldErr) == fleet.CodeKeyRefused:
		return &fleet.Error{Code: fleet.CodeKeyRefused, During: "change API key", Err: newErr,
			Message: "access lost: the daemon takes neither the new API key nor the old one",
			Hint:    "Read the key at the daemon (Actions > Settings > GUI) and put it into the device's record."}
	}
	return fmt.Errorf("try access: new: %w; old: %w", newErr, oldErr)
}

// checkStays looks whether a daemon that answers at its old port was told of the new one.
func (e *Engine) checkStays(ctx context.Context, j *job, port int) error {
	observed, err := e.o.Daemon.Config(ctx, j.m.id)
	if err != nil {
		return err
	}
	doc, err := stconfig.Parse(observed.JSON)
	if err != nil {
		return err
	}
	if plan.APIPort(doc.Get("gui").Get("address").Str()) == port {
		return errAboutToMove
	}
	return nil
}

// reload takes over what the device's record has become.
func (e *Engine) reload(ctx context.Context, j *job) (err error) {
	if j.current, err = e.o.Store.Registry(ctx); err != nil {
		return err
	}
	if !j.isOf(j.current) {
		return fleet.NotFoundf("device %s was deleted meanwhile", j.m.id)
	}
	j.device = j.current.Devices[j.m.id]
	j.view, err = e.viewOf(ctx, j.m.id, j.current)
	return err
}
