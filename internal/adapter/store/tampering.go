package store

import (
	"context"
	"fmt"
	"sync"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

// tampering collects what this process found in the database that Muster did not write. A finding is a text for
// people.
type tampering struct {
	mu    sync.Mutex // guards the rest
	first string     // the first finding, as a text for people
	count int
	once  map[string]bool // the findings that addOnce got
}

// addOnce adds a finding unless it was added before, and reports whether it is new.
func (f *tampering) addOnce(one string) (added bool) {
	f.mu.Lock()
	added = !f.once[one]
	if f.once == nil {
		f.once = map[string]bool{}
	}
	f.once[one] = true
	f.mu.Unlock()
	if added {
		f.add(one)
	}
	return added
}

func (f *tampering) add(found ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, one := range found {
		if f.count++; f.count == 1 {
			f.first = one
		}
	}
}

// replace replaces all findings by found.
func (f *tampering) replace(found []string) {
	f.mu.Lock()
	f.first, f.count, f.once = "", 0, nil
	f.mu.Unlock()
	f.add(found...)
}

// Tampering returns, as an impairment, the loss that is not accepted, or else what this process found in the database
// that Muster did not write. It returns nil if there is neither. It does not search; `muster audit verify` does.
func (s *Store) Tampering() *fleet.Impairment {
	if loss := s.Loss(); loss != nil {
		return loss
	}
	s.tampering.mu.Lock()
	defer s.tampering.mu.Unlock()
	if s.tampering.count == 0 {
		return nil
	}
	reason := "the database is not as Muster wrote it: " + s.tampering.first
	if more := s.tampering.count - 1; more > 0 {
		reason += fmt.Sprintf(", and %d more", more)
	}
	return &fleet.Impairment{Part: fleet.PartProofs, Reason: reason,
		Next: "Type `muster audit verify`, which names what was changed, and find out what else writes to the database. " +
			"After a repair, start the server again. What is lost or put back an admin accepts with `muster audit " +
			"accept-loss ENTRY`, where ENTRY is the last one that `muster audit list` shows."}
}

// checkProofs describes what is not as Muster wrote it: tokens, users, secrets, altered devices, the end of the audit,
// and rows or tables in doubt. It verifies the first three and the audit now. It takes altered devices and doubts from
// the contents in memory, which were loaded before.
func (s *Store) checkProofs(ctx context.Context) (all []string, err error) {
	for _, verify := range []func(context.Context) ([]string, error){s.verifyTokens, s.verifyUsers,
		s.verifySecrets, s.verifyEnd} {
		found, err := verify(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	s.model.look(func(c *contents) {
		for _, d := range c.doubts {
			all = append(all, d.tells()...)
		}
		for id, device := range c.devices {
			if device.Altered {
				all = append(all, fmt.Sprintf("device %q (%s): %s", device.Label, id.Short(), fleet.AlteredReason))
			}
		}
	})
	return all, nil
}

// verifyEnd compares the last entry of the audit with the audit's ends. It returns at most one finding.
func (s *Store) verifyEnd(ctx context.Context) ([]string, error) {
	sealed, err := s.sealedProof(ctx, auditEnds)
	if err != nil {
		return nil, err
	}
	var ends fleet.AuditEnds
	if lost := s.openProof(auditEnds, sealed, &ends); lost != nil {
		s.log.Error("the end of the audit is not proven", logkey.Err(lost))
		found := []string{"the record of where the audit begins and ends is missing or was changed"}
		return found, nil //nolint:nilerr // the finding says it
	}
	last, err := scanAudit(s.reads.QueryRowContext(ctx, selectAudit+` ORDER BY id DESC LIMIT 1`))
	if err != nil && !absent(err) {
		return nil, err
	}
	if last.ID != ends.LastID || last.Hash != ends.LastHash || last.ID > 0 && last.Hash != last.Sum() {
		return []string{"the audit does not end as Muster wrote it"}, nil
	}
	return nil, nil
}
