package plan

import (
	"maps"
	"slices"
	"time"

	"muster/internal/fleet"
)

// CountDrift counts, once for each document (observed is its digest), that a person changed these keys back. It stops
// a key at the third time within an hour; contended reports whether it stopped any.
func (s *Stops) CountDrift(changes []Change, observed string, now time.Time) (contended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	isOld := func(t time.Time) bool { return now.Sub(t) >= contendedWithin }
	maps.DeleteFunc(s.drifts, func(_ string, at []time.Time) bool { return isOld(at[len(at)-1]) })
	for _, c := range changes {
		key := c.Key.String()
		if !c.Drift || s.drifted[key] == observed || c.isShareOfRevoked() ||
			!c.revoked && (isFull(s.drifted, key) || isFull(s.drifts, key)) {
			continue
		}
		s.drifted[key] = observed
		s.drifts[key] = append(slices.DeleteFunc(s.drifts[key], isOld), now)
		switch {
		case c.revoked:
			s.stop(c.broughtBack(len(s.drifts[key]), now))
		case len(s.drifts[key]) < contendedAfter:
		default:
			reason := "a person at the daemon set it back three times within an hour"
			if by := c.Introducer(); by != "" {
				reason = "the introducer " + by + " added it again three times within an hour, and templates have revoked it"
			}
			s.stop(fleet.Stop{Key: key, Kind: fleet.StopContended, Since: now, Reason: reason})
			contended = true
		}
	}
	return contended
}

// isFull reports whether counts are kept for too many keys to begin with another. Revoked devices are counted all the
// same: there are few of them, and many keys that were set back must not hide that one returned.
func isFull[T any](counts map[string]T, key string) bool {
	_, known := counts[key]
	return !known && len(counts) >= maxTracked
}

// isShareOfRevoked reports whether the change takes away, once more, a share with a revoked device. Shares come and go
// with their device, which is counted: a daemon can name any number of folders.
func (c *Change) isShareOfRevoked() bool { return c.revoked && c.Key.Len() > 2 }
