package store

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"

	"muster/internal/fleet"
)

// A row of some tables has a proof, sealed: a digest of what the row means, and a mark. The ends of the audit have the
// marks of all rows of a table together. So a row that was removed, or put back from a copy together with its proof, is
// found as well.
type rowProof struct {
	Sum  string `json:"sum"`
	Mark string `json:"mark"`
}

// mark is random, and only Muster knows it. A row gets another one with each proof. The zero value is none.
type mark [32]byte

// with are the marks of several rows together, in whatever order. A mark that is added twice is taken out again.
func (m mark) with(other mark) mark {
	for i := range m {
		m[i] ^= other[i]
	}
	return m
}

func (m mark) String() string { return hex.EncodeToString(m[:]) }

// parseMark gives none for what is no mark.
func parseMark(text string) (m mark) {
	if plain, err := hex.DecodeString(text); err == nil && len(plain) == len(m) {
		copy(m[:], plain)
	}
	return m
}

// marks are, by table, those of the proofs that came or went.
type marks map[string]mark

// with adds marks of a table.
func (m marks) with(table string, all ...mark) marks {
	if m == nil {
		m = marks{}
	}
	for _, one := range all {
		m[table] = m[table].with(one)
	}
	return m
}

// marksIn are the marks of all rows of a table together, as the ends of the audit have them.
func marksIn(ends fleet.AuditEnds, table string) mark { return parseMark(ends.Rosters[table]) }

// openRowProof gives the mark in the proof of a row, none where the proof does not open, and whether the proof is of
// what the row means.
func (s *Store) openRowProof(table, row, sum string, sealed []byte) (m mark, proven bool) {
	var proof rowProof
	plain, err := s.seal.Open(table, row, "proof", sealed)
	if err == nil {
		err = json.Unmarshal(plain, &proof)
	}
	if err != nil {
		return mark{}, false
	}
	return parseMark(proof.Mark), proof.Sum == sum
}

// proveRow is the proof of a row, in the place of the one that has the mark before.
func (t *tx) proveRow(table, row, sum string, before mark) (sealed []byte, err error) {
	var m mark
	_, _ = rand.Read(m[:]) // never fails: it ends the process instead
	plain, err := json.Marshal(rowProof{Sum: sum, Mark: m.String()})
	if err != nil {
		return nil, err
	}
	t.effects.marks = t.effects.marks.with(table, before, m)
	return t.store.seal.Seal(table, row, "proof", plain), nil
}

// openEnds are the ends of the audit as they are now; not ok where they do not open.
func (s *Store) openEnds(ctx context.Context, q querier) (ends fleet.AuditEnds, ok bool, err error) {
	proofs, err := collect(ctx, q, func(row scanner) (sealed []byte, err error) {
		return sealed, row.Scan(&sealed)
	}, `SELECT body FROM proofs WHERE name = $1`, auditEnds)
	if err != nil || len(proofs) == 0 || s.openProof(auditEnds, proofs[0], &ends) != nil {
		return fleet.AuditEnds{}, false, err
	}
	return ends, true, nil
}
