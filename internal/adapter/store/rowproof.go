package store

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"

	"muster/internal/fleet"
)

// rowProof is the proof of one row, stored sealed in that row. Tables that are too large for a roster use it: devices,
// and decisions about devices. Sum is the digest of the row's content and shows whether the row was changed. Mark
// shows whether rows were removed or put back, because the ends of the audit contain the marks of all rows, combined
// by exclusive or.
type rowProof struct {
	Sum  string `json:"sum"`
	Mark string `json:"mark"`
}

// mark is the random number in a rowProof; each write of a row makes a new one. The type also holds combinations of
// marks, and what marked tables add up (see counted). The zero value means no mark.
type mark [32]byte

// with combines two marks by exclusive or. The order does not matter, and combining a mark a second time takes it out.
func (m mark) with(other mark) mark {
	for i := range m {
		m[i] ^= other[i]
	}
	return m
}

func (m mark) String() string { return hex.EncodeToString(m[:]) }

// parseMark converts the text of a mark, as String returns it, to the mark. For any other text it returns the zero
// mark.
func parseMark(text string) (m mark) {
	if plain, err := hex.DecodeString(text); err == nil && len(plain) == len(m) {
		copy(m[:], plain)
	}
	return m
}

// marks maps the name of a table to combined marks. In the effects of a write, these combine the marks of all row
// proofs that the write added or removed.
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

// marksIn returns the combination of a table's marks that the ends of the audit expect. The table is one with row
// proofs.
func marksIn(ends fleet.AuditEnds, table string) mark { return parseMark(ends.Rosters[table]) }

// openRowProof opens the proof of a row. m is the mark in it. proven reports whether the proof is for sum, the digest
// of the row's present content. If the proof does not open, m is zero and proven is false.
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

// proveRow returns the sealed proof for a row that is about to be written, and notes the change of the table's marks
// in the transaction's effects. sum is the digest of the row's content. before is the mark of the row's present proof,
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
