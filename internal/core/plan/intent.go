package plan

import (
	"encoding/json"
	"fmt"
	"slices"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

const (
	apiKeyKey  = "gui.apiKey"
	addressKey = "gui.address"
)

// Record is the part of an intent that says which requests carry out its plan and how the daemon is reached
// afterwards. It may hold secrets, so the store seals it.
type Record struct {
	Writes  []RecordedWrite `json:"writes"`
	NewKey  string          `json:"newKey,omitempty"`  // new API key of the daemon; "": unchanged
	NewPort int             `json:"newPort,omitempty"` // new port of the daemon's API; 0: unchanged
	Access  *AccessMove     `json:"access,omitempty"`
	// MayBreak has the folders that are written to and that were without error before. If such a folder is in error
	// later, the write is to blame.
	MayBreak []string `json:"mayBreak,omitempty"`
}

// RecordedWrite is a Write in the form that an intent stores.
type RecordedWrite struct {
	Method string          `json:"method"`
	Path   string          `json:"path"`
	Body   json.RawMessage `json:"body,omitempty"`
	Keys   []string        `json:"keys"`
}

// AccessMove describes, for a person, how the daemon's API is reached before and after a change. It does not contain
// API keys.
type AccessMove struct {
	Old string `json:"old"`
	New string `json:"new"`
}

// RecordOf returns the record of a plan and its writes. observed is the document from which the plan was made.
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

// NoteFolders adds to r.MayBreak those folders that the writes change and for which mayBreak is true.
func (r *Record) NoteFolders(writes []Write, mayBreak func(folder string) bool) {
	for _, w := range writes {
		for _, key := range w.Keys {
			folder := writtenFolder(key)
			if folder != "" && !slices.Contains(r.MayBreak, folder) && mayBreak(folder) {
				r.MayBreak = append(r.MayBreak, folder)
			}
		}
	}
}

// ReadRecord returns the record of an intent. An unreadable record counts as empty.
func ReadRecord(intent fleet.Intent) (r Record) {
	if json.Unmarshal(intent.Writes, &r) != nil {
		return Record{}
	}
	return r
}

// Next returns how the daemon is reached after the recorded writes. now is how it is reached before them.
func (r Record) Next(now fleet.Access) fleet.Access {
	if r.NewKey != "" {
		now.Key = fleet.NewSecret(r.NewKey)
	}
	if r.NewPort != 0 {
		now.Port = r.NewPort
	}
	return now
}

// Moves reports whether the daemon is reached in another way after the recorded writes.
func (r Record) Moves() bool { return r.NewKey != "" || r.NewPort != 0 }

// MovesAccess reports whether the change gives the daemon's API a new key or port.
func (c Change) MovesAccess(observed stconfig.Value) bool {
	var r Record
	r.newAccess(c, observed)
	return r.Moves()
}

// newAccess sets in r the new API key or port with which Muster must reach the daemon after change c. It does nothing
// for a change of another key.
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

// Keys returns the keys of all writes.
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

// accessMoveOf returns the address of the daemon's API before and after a plan, and says whether the API key changes.
// It returns nil if the plan sends no change of the daemon's access.
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

// Lost returns the error for a daemon that answers neither at its new nor at its old access. why is the error of the
// last attempt.
func (m AccessMove) Lost(why error) *fleet.Error {
	return &fleet.Error{Code: fleet.CodeUnavailable, During: "change how the daemon is reached", Err: why,
		Message: fmt.Sprintf("access lost: the daemon answers neither at %s nor at %s: %s", m.New, m.Old, fleet.Reason(why)),
		Hint: "Look at the daemon on its own machine (Actions > Settings > GUI, or its config.xml) and correct the " +
			"device's record. Muster goes on trying."}
}
