package plan

import (
	"encoding/json"
	"fmt"

	"muster/internal/fleet"
	"muster/internal/stconfig"
)

const (
	apiKeyKey  = "gui.apiKey"
	addressKey = "gui.address"
)

// Record is what an intent keeps of its plan and of its writes. It may hold secrets: the store seals it.
type Record struct {
	Writes  []RecordedWrite `json:"writes"`
	NewKey  string          `json:"newKey,omitempty"`  // the daemon's API key from then on
	NewPort int             `json:"newPort,omitempty"` // the port of its API from then on; 0: as before
	Access  *AccessMove     `json:"access,omitempty"`
}

// RecordedWrite is a Write.
type RecordedWrite struct {
	Method string          `json:"method"`
	Path   string          `json:"path"`
	Body   json.RawMessage `json:"body,omitempty"`
	Keys   []string        `json:"keys"`
}

// AccessMove is how the daemon's API is reached before and after a change, for a person; it holds no key.
type AccessMove struct {
	Old string `json:"old"`
	New string `json:"new"`
}

// RecordOf is the record of a plan that was made from a document, with its writes.
func RecordOf(p Plan, observed stconfig.Value, writes []Write) Record {
	r := Record{Writes: []RecordedWrite{}, Access: accessMoveOf(p, observed)}
	for _, c := range p.Sendable() {
		r.newAccess(c, observed)
	}
	for _, w := range writes {
		entry := RecordedWrite{Method: w.Method, Path: w.Path}
		if w.Body.Exists() {
			entry.Body = w.Body.JSON()
		}
		for _, key := range w.Keys {
			entry.Keys = append(entry.Keys, key.String())
		}
		r.Writes = append(r.Writes, entry)
	}
	return r
}

// ReadRecord is the record of an intent; of one that is not understood, nothing.
func ReadRecord(intent fleet.Intent) (r Record) {
	if json.Unmarshal(intent.Writes, &r) != nil {
		return Record{}
	}
	return r
}

// Next is the access that follows on the present one.
func (r Record) Next(now fleet.Access) fleet.Access {
	if r.NewKey != "" {
		now.Key = fleet.NewSecret(r.NewKey)
	}
	if r.NewPort != 0 {
		now.Port = r.NewPort
	}
	return now
}

// Moves tells whether the daemon is reached in another way afterwards.
func (r Record) Moves() bool { return r.NewKey != "" || r.NewPort != 0 }

// MovesAccess tells whether the daemon is reached in another way after a change.
func (c Change) MovesAccess(observed stconfig.Value) bool {
	var r Record
	r.newAccess(c, observed)
	return r.Moves()
}

// newAccess notes what of a change is needed to reach the daemon afterwards.
func (r *Record) newAccess(c Change, observed stconfig.Value) {
	switch c.Key.String() {
	case apiKeyKey:
		r.NewKey = c.Sending().Str()
	case addressKey:
		if port := APIPort(c.Sending().Str()); port != APIPort(observed.Get("gui").Get("address").Str()) {
			r.NewPort = port
		}
	}
}

// Keys are the keys of all writes.
func (r Record) Keys() []stconfig.Key {
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

// accessMoveOf is what a plan does to the access, nil when that stays as it is.
func accessMoveOf(p Plan, observed stconfig.Value) *AccessMove {
	gui := observed.Get("gui")
	move := AccessMove{Old: accessOf(gui)}
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

// Lost says that the daemon answers in neither way.
func (m AccessMove) Lost(why error) *fleet.Error {
	return &fleet.Error{Code: fleet.CodeUnavailable, During: "change how the daemon is reached", Err: why,
		Message: fmt.Sprintf("access lost: the daemon answers neither at %s nor at %s: %s", m.New, m.Old, fleet.Reason(why)),
		Hint: "Look at the daemon on its own machine (Actions > Settings > GUI, or its config.xml) and correct the " +
			"device's record. Muster goes on trying."}
}
