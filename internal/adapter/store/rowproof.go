package store

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"

	"muster/internal/fleet"
)

// rowProof is the proof in a row of a table that is too large for a roster: of devices, and of decisions about
// devices. It is sealed for its row. The sum in it shows whether the row was changed. The mark in it shows whether
// rows were removed or put back, because the ends of the audit contain the marks of all rows, combined by exclusive
// or.
type rowProof struct {
	Sum  string `json:"sum"`
	Mark string `json:"mark"`
}

// mark is a random number in a proof. Each write of a row gives the row a new mark. The zero value means that there
// is no mark.
type mark [32]byte

// with combines marks by exclusive or: the order does not matter, and a mark that is combined again is taken out.
func (m mark) with(other mark) mark {
	for i := range m {
		m[i] ^= other[i]
	}
	return m
}

func (m mark) String() string { return hex.EncodeToString(m[:]) }

// parseMark returns the zero mark where the text is not a mark.
func parseMark(text string) (m mark) {
	if plain, err := hex.DecodeString(text); err == nil && len(plain) == len(m) {
		copy(m[:], plain)
	}
	return m
}

// marks has combined marks by table. In effects they are those of all proofs that a write added or removed.
type marks map[string]mark

// with combines further marks of a table with those that m has.
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

// openRowProof returns the mark in a row's proof, and tells whether the sum in it is that of the row. A proof that does
// not open has no mark.
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

// proveRow makes the proof for a row that is about to be written. before is the mark of the proof that it replaces,
// zero for a new row.
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
