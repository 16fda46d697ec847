package httpapi

import (
	"bytes"
	"io"

	"muster/api"
)

// inventoryAnswer is what a query gives. It is immutable.
type inventoryAnswer struct {
	head   []byte   // up to the rows
	texts  [][]byte // of the rows
	whole  []byte   // all of it, in the place of head and texts; nil: not joined
	length int64
	etag   string
	next   int // offset of the next page; 0: there is none
}

const inventoryTail = "]}\n"

func newInventoryAnswer(head api.Inventory, rows []*inventoryRow) (*inventoryAnswer, error) {
	head.Devices = []api.InventoryDevice{}
	text, err := encode(head)
	if err != nil {
		return nil, err
	}
	a := &inventoryAnswer{head: bytes.TrimSuffix(text, []byte(inventoryTail)), texts: make([][]byte, len(rows))}
	a.length = int64(len(text) + max(len(rows)-1, 0)) // with the commas
	for i, row := range rows {
		a.texts[i] = row.text
		a.length += int64(len(row.text))
	}
	return a, nil
}

// join is the same answer in one text.
func (a *inventoryAnswer) join() *inventoryAnswer {
	text := bytes.NewBuffer(make([]byte, 0, a.length))
	_ = a.document(text) // a buffer never fails
	return &inventoryAnswer{whole: text.Bytes(), length: a.length, etag: a.etag, next: a.next}
}

// document writes the answer. An answer that is not joined shares the texts of the rows with all others.
func (a *inventoryAnswer) document(w io.Writer) error {
	if a.whole != nil {
		_, err := w.Write(a.whole)
		return err
	}
	if _, err := w.Write(a.head); err != nil {
		return err
	}
	for i, text := range a.texts {
		if i > 0 {
			if _, err := io.WriteString(w, ","); err != nil {
				return err
			}
		}
		if _, err := w.Write(text); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, inventoryTail)
	return err
}

// again is an answer that was given before. The first one of a version that is asked for again is joined: a page of
// 10,000 rows is one write then, and only one copy of the rows is kept. The caller holds p.mu.
func (p *inventoryPart) again(query string) *inventoryAnswer {
	known := p.answers[query]
	if !p.joined {
		known = known.join()
		p.answers[query], p.joined = known, true
	}
	return known
}
