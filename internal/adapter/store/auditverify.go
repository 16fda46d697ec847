package store

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"muster/internal/fleet"
)

// VerifyAudit reads the whole database and checks the chain of the audit, all rows that have proofs or marks, and all
// sealed values. given holds signed heads that were kept elsewhere; the chain must contain their entries. The report
// says what is wrong. An error means that the check could not be done.
func (s *Store) VerifyAudit(ctx context.Context, given []fleet.AuditHead) (fleet.AuditReport, error) {
	report, err := s.verifyChain(ctx, given)
	if err != nil {
		return report, failure("verify audit", err)
	}
	for _, verify := range []func(context.Context) ([]string, error){s.verifyTokens, s.verifyUsers,
		s.verifySecrets, s.verifyEnrollKeys, s.verifyDevices, s.verifyDecisions, s.verifySessions, s.verifyMarks,
		s.verifySealed} {
		rows, err := verify(ctx)
		if err != nil {
			return report, failure("verify audit", err)
		}
		report.Rows = append(report.Rows, rows...)
	}
	return report, nil
}

// verifyChain follows the audit's chain from its first entry. Entries that were written during the reading look like
// faults. So if it finds faults and the audit grew meanwhile, it reads again, up to ten times.
func (s *Store) verifyChain(ctx context.Context, given []fleet.AuditHead) (report fleet.AuditReport, err error) {
	const tries = 10
	for range tries {
		known := s.known.now()
		before, err := s.sealedProof(ctx, auditEnds)
		if err != nil {
			return report, err
		}
		if report, err = s.followChain(ctx, before, known, given); err != nil {
			return report, err
		}
		now, err := s.sealedProof(ctx, auditEnds)
		if err != nil || bytes.Equal(before, now) || len(report.Faults) == 0 {
			return report, err
		}
	}
	return report, &fleet.Error{Code: fleet.CodeUnavailable, Message: "the audit grows faster than it is read",
		Hint: tryAgain}
}

// followChain compares the entries of the audit with its ends. sealed are the stored ends, nil if they are missing.
// known are the ends that this process knew before; they take the place of stored ends that are not those of the same
// audit.
func (s *Store) followChain(ctx context.Context, sealed []byte, known fleet.AuditEnds,
	given []fleet.AuditHead) (report fleet.AuditReport, err error) {
	var ends fleet.AuditEnds
	if sealed == nil {
		return lostEnds("is missing"), nil
	}
	if err := s.openProof(auditEnds, sealed, &ends); err != nil {
		return lostEnds("was changed"), nil //nolint:nilerr // the report says it
	}
	other, err := isOther(ctx, pool{s.reads}, known, ends)
	if err != nil {
		return report, err
	}
	heads, unsigned, err := s.heads(ctx, given)
	if err != nil {
		return report, err
	}
	if isOlder(ends, known) {
		unsigned = append(unsigned, Loss{From: known.LastID + 1, To: known.LastID}.String())
	}
	if other {
		ends = beginningAs(known, ends)
	}
	check := fleet.NewAuditCheck(ends, heads)
	if err := s.eachEntry(ctx, check.Add); err != nil {
		return report, err
	}
	report = fleet.AuditReport{Entries: check.Entries, FirstID: ends.FirstID, LastID: ends.LastID, LastHash: ends.LastHash,
		Faults: check.End(), Rows: unsigned}
	return report, nil
}

func lostEnds(what string) fleet.AuditReport {
	return fleet.AuditReport{Faults: []fleet.AuditFault{{ID: 1,
		Detail: "the record of where the audit begins and ends " + what}}}
}

// heads returns the signed heads in the database and those in given. It leaves out heads in the database that another
// key signed, and describes them in unsigned. If another key signed a head in given, heads returns an error.
func (s *Store) heads(ctx context.Context, given []fleet.AuditHead) (heads []fleet.AuditHead, unsigned []string,
	err error) {
	key, err := s.HeadKey(ctx)
	if err != nil && fleet.CodeOf(err) == fleet.CodeUnavailable {
		return nil, nil, err
	}
	if heads, err = collect(ctx, pool{s.reads}, scanHead, selectHeads); err != nil {
		return nil, nil, err
	}
	for _, head := range given {
		if !head.SignedBy(key) {
			return nil, nil, fleet.Invalidf("head", "the head of entry %d was not signed by the key of this audit", head.ID)
		}
	}
	kept := heads[:0]
	for _, head := range heads {
		if head.SignedBy(key) {
			kept = append(kept, head)
		} else {
			unsigned = append(unsigned, fmt.Sprintf("the head of entry %d of %s was not signed by the key of this audit",
				head.ID, head.At.Format(time.RFC3339)))
		}
	}
	return append(kept, given...), unsigned, nil
}

const verifyLength = 1000 // entries that are in memory at a time

func (s *Store) eachEntry(ctx context.Context, add func(fleet.AuditEntry)) error {
	for after := int64(-1); ; {
		entries, err := collect(ctx, pool{s.reads}, scanAudit, selectAudit+` WHERE id > $1 ORDER BY id LIMIT $2`, after,
			verifyLength)
		if err != nil || len(entries) == 0 {
			return err
		}
		for _, e := range entries {
			add(e)
		}
		after = entries[len(entries)-1].ID
	}
}

// verifySessions describes the sessions and log-in links that are not as Muster wrote them.
func (s *Store) verifySessions(ctx context.Context) (wrong []string, err error) {
	sessions, live, err := readWithRoster(ctx, s, sessionRows, func() ([]sessionRow, error) {
		return collect(ctx, pool{s.reads}, scanSession, selectSessions)
	})
	if err != nil {
		return nil, err
	}
	for _, v := range sessions {
		if !s.isLive(v, live) {
			wrong = append(wrong,
				fmt.Sprintf("session %q of %s was changed, added or put back: it lets no one in", v.ID, v.User))
		}
	}
	links, listed, err := readWithRoster(ctx, s, linkRows, func() ([]keptLink, error) {
		return collect(ctx, pool{s.reads}, scanLink, selectAllLinks)
	})
	for _, v := range links {
		if listed[v.Hash] != linkSum(v.LoginLink) || !s.proven(linkRows, v.Hash, linkSum(v.LoginLink), v.proof) {
			wrong = append(wrong, fmt.Sprintf("a log-in link for %q was changed, added or put back: it lets no one in", v.User))
		}
	}
	return wrong, err
}

// verifySealed describes the sealed values that do not open. A value is sealed for one table, row and column, so a
// value that was copied to another row does not open there.
func (s *Store) verifySealed(ctx context.Context) (wrong []string, err error) {
	for _, column := range sealedColumns {
		for after := []any(nil); ; {
			cells, err := column.cells(ctx, pool{s.reads}, after, verifyCells, `$1 = 1`, 1)
			if err != nil {
				return nil, err
			}
			if len(cells) == 0 {
				break
			}
			for _, cell := range cells {
				if _, err := s.seal.Open(column.table, cell.row(), column.column, cell.sealed); err != nil {
					wrong = append(wrong, fmt.Sprintf("what is sealed in %s.%s of row %q was changed, or is not in its place",
						column.table, column.column, cell.row()))
				}
			}
			after = cells[len(cells)-1].key
		}
	}
	return wrong, nil
}

const verifyCells = 32 // cells that are in memory at a time: a configuration may be large
