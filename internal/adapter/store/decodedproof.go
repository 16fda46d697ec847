package store

import (
	"bytes"
	"encoding/json"
	"maps"
	"sync"

	"muster/internal/fleet"
)

// decodedProofs keeps the proofs that were decoded last, each with the plain text that it was decoded from. A write
// reads the ends of the audit several times, and decoding them takes longer than the SQL of the write. A proof is
// opened each time, so a kept value is returned only for a text that the seal has just confirmed. The keys of rosters
// are the names of their proofs.
type decodedProofs struct {
	mu      sync.Mutex // guards the rest
	ends    decoded[fleet.AuditEnds]
	rosters map[string]decoded[roster]
}

// decoded is a value with the JSON text of it. Nobody changes either: callers get copies.
type decoded[T any] struct {
	text  []byte
	value T
}

// decode decodes the plain text of a proof into the value that into points to.
func (d *decodedProofs) decode(name string, plain []byte, into any) error {
	switch into := into.(type) {
	case *fleet.AuditEnds:
		return d.decodeEnds(plain, into)
	case *roster:
		return d.decodeRoster(name, plain, into)
	}
	return json.Unmarshal(plain, into)
}

func (d *decodedProofs) decodeEnds(plain []byte, into *fleet.AuditEnds) error {
	d.mu.Lock()
	kept := d.ends
	d.mu.Unlock()
	if kept.text != nil && bytes.Equal(kept.text, plain) {
		*into = copyOfEnds(kept.value)
		return nil
	}
	if err := json.Unmarshal(plain, into); err != nil {
		return err
	}
	d.keepEnds(plain, *into)
	return nil
}

// keepEnds keeps ends whose JSON text is plain.
func (d *decodedProofs) keepEnds(plain []byte, ends fleet.AuditEnds) {
	kept := decoded[fleet.AuditEnds]{bytes.Clone(plain), copyOfEnds(ends)}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ends = kept
}

func (d *decodedProofs) decodeRoster(name string, plain []byte, into *roster) error {
	d.mu.Lock()
	kept := d.rosters[name]
	d.mu.Unlock()
	if kept.text != nil && bytes.Equal(kept.text, plain) {
		*into = maps.Clone(kept.value)
		return nil
	}
	if err := json.Unmarshal(plain, into); err != nil {
		return err
	}
	kept = decoded[roster]{bytes.Clone(plain), maps.Clone(*into)}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.rosters == nil {
		d.rosters = map[string]decoded[roster]{}
	}
	d.rosters[name] = kept
	return nil
}

// copyOfEnds returns ends with maps of their own, as json.Unmarshal would return them: without tables it has no map of
// them.
func copyOfEnds(ends fleet.AuditEnds) fleet.AuditEnds {
	ends.Rosters = maps.Clone(ends.Rosters)
	if len(ends.Tables) == 0 {
		ends.Tables = nil
	}
	ends.Tables = maps.Clone(ends.Tables)
	return ends
}
