package store

import "slices"

// keysIn returns the last column of the key of each row that meets condition, sorted: written are those of the rows
// that fit their marks. forged are those of the rows that another program changed or added: an edit of other rows must
// not take them for what a person has seen.
func (t *tx) keysIn(table *markedTable, condition string, args ...any) (written, forged []string, err error) {
	written, forged = []string{}, []string{}
	err = t.store.eachMarkedRow(t.ctx, t.session, table, condition, func(row markedRow) {
		key := row.key[len(row.key)-1]
		if row.believed {
			written = append(written, key)
			return
		}
		t.store.notBelieved(table, row)
		forged = append(forged, key)
	}, args...)
	slices.Sort(written)
	slices.Sort(forged)
	return written, forged, err
}
