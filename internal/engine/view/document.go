package view

import (
	"bytes"
	"io"
)

// Document is an encoded page of the inventory. It is immutable.
type Document struct {
	Revision string // revision of the rows that it was made from
	Length   int64
	Next     int // offset of the next page; 0: this is the last one

	head  []byte   // text before the rows
	texts [][]byte // texts of the rows, which documents share
	tail  string
	whole []byte // the whole text, instead of head, texts and tail; nil: not joined
}

// write encodes a page. The caller holds mu of the rows.
func (v *View) write(page Page) (*Document, error) {
	text, tail, err := v.Wire.Inventory(page)
	if err != nil {
		return nil, err
	}
	d := &Document{Next: page.next, head: bytes.TrimSuffix(text, []byte(tail)), tail: tail,
		texts: make([][]byte, len(page.rows))}
	d.Length = int64(len(text) + max(len(page.rows)-1, 0)) // including the commas between rows
	for i, row := range page.rows {
		if row.text == nil {
			if row.text, err = v.Wire.Row(row); err != nil {
				return nil, err
			}
		}
		d.texts[i] = row.text
		d.Length += int64(len(row.text))
	}
	return d, nil
}

// overhead returns how many bytes the document needs in addition to the texts of the rows.
func (d *Document) overhead() int64 {
	const text = 24 // size of a slice's header
	return int64(len(d.head) + text*len(d.texts) + len(d.whole))
}

// Encode writes the document.
func (d *Document) Encode(w io.Writer) error {
	if d.whole != nil {
		_, err := w.Write(d.whole)
		return err
	}
	if _, err := w.Write(d.head); err != nil {
		return err
	}
	for i, text := range d.texts {
		if i > 0 {
			if _, err := io.WriteString(w, ","); err != nil {
				return err
			}
		}
		if _, err := w.Write(text); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, d.tail)
	return err
}

// join returns the same document as one text.
func (d *Document) join() *Document {
	text := bytes.NewBuffer(make([]byte, 0, d.Length))
	_ = d.Encode(text) // Writing to a buffer never fails.
	return &Document{Revision: d.Revision, Length: d.Length, Next: d.Next, whole: text.Bytes()}
}

// again returns a document that an earlier reader got. The first document of a revision that is asked for a second
// time is joined: a page of 10,000 rows then is one write, and only one copy of the rows is in memory. The caller
// holds mu of the rows.
func (p *part) again(key string, known *Document) *Document {
	if p.joined == p.rows.revision {
		return known
	}
	known = known.join()
	p.pages.put(p.rows.revision, key, known, known.overhead())
	p.joined = p.rows.revision
	return known
}
