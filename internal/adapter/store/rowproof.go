package store

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"

	"muster/internal/fleet"
)

// rowProof is the proof of one row, stored sealed in that row. It is used by tables that are too large for a roster:
// devices, and decisions about devices. Sum is the digest of the row's content and shows whether the row was changed.
// Mark shows whether rows were removed or put back, because the ends of the audit contain the marks of all rows,
// combined by exclusive or.
type rowProof struct {
	Sum  string `json:"sum"`
	Mark string `json:"mark"`
}

// mark is a random number in a rowProof. Each write of a row gives it a new mark. The zero value means no mark.
type mark [32]byte

// with combines two marks by exclusive or. The order does not matter, and combining a mark a second time takes it
// out.
func (m mark) with(other mark) mark {
	for i := range m {
		m[i] ^= other[i]
	}
	return m
}

func (m mark) String() string { return hex.EncodeToString(m[:]) }

// parseMark reads the text of a mark. It returns the zero mark if the text is not one.
func parseMark(text string) (m mark) {
	if plain, err := hex.DecodeString(text); err == nil && len(plain) == len(m) {
		copy(m[:], plain)
	}
	return m
}

// marks maps tables to combined marks. In the effects of a write it combines the marks of all proofs that the write
// added or removed.
type marks map[string]mark

// with combines further marks of a table into m, and returns m.
func (m marks) with(table string, all ...mark) marks {
	if m == nil {
		m = marks{}
	}
	for _, one := range all {
		m[table] = m[table].with(one)
	}
	return m
}

// marksIn returns the combined marks of a table that the ends of the audit expect.
func marksIn(ends fleet.AuditEnds, table string) mark { return parseMark(ends.Rosters[table]) }

// openRowProof opens the proof of a row. It returns the mark in it, and reports whether the proof holds for sum, the
// digest of the row's present content. A proof that does not open yields the zero mark and false.
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

// proveRow returns the sealed proof for a row that is about to be written. sum is the digest of the row's content.
// before is the mark of the row's present proof, zero for a new row.
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
