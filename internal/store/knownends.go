package store

import (
	"sync"

	"muster/internal/fleet"
)

// knownEnds are the furthest ends of the audit that this process wrote or read. Ends only grow, whichever process
// writes: older ones in the database were put back from a copy. After a restart only a head shows that.
type knownEnds struct {
	mu   sync.Mutex // guards ends
	ends fleet.AuditEnds
}

// know is called with ends that are committed.
func (k *knownEnds) know(ends fleet.AuditEnds) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if ends.LastID > k.ends.LastID {
		k.ends = ends
	}
}

// now are the furthest ends.
func (k *knownEnds) now() fleet.AuditEnds {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.ends
}

// putBack tells whether ends that were read after these are of before, or of another audit.
func putBack(known, ends fleet.AuditEnds) bool {
	return ends.LastID < known.LastID || ends.LastID == known.LastID && ends.LastHash != known.LastHash
}
