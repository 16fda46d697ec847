package view

import (
	"bytes"
	"io"
)

// Document is an inventory as it is sent. It is immutable.
type Document struct {
	Revision string // of the rows that it is made of
	Length   int64
	Next     int // offset of the page after it; 0: there is none

	head  []byte   // up to the rows
	texts [][]byte // of the rows; documents share them
	tail  string
	whole []byte // all of it, in the place of head, texts and tail; nil: not joined
}

// write writes a page down. The caller holds mu of the rows.
func (v *View) write(page Page) (*Document, error) {
	text, tail, err := v.Wire.Inventory(page)
	if err != nil {
		return nil, err
	}
	d := &Document{Next: page.next, head: bytes.TrimSuffix(text, []byte(tail)), tail: tail,
		texts: make([][]byte, len(page.rows))}
	d.Length = int64(len(text) + max(len(page.rows)-1, 0)) // with the commas
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

// overhead is how many bytes the document takes besides the texts of the rows.
func (d *Document) overhead() int64 {
	const text = 24 // of a slice
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

// join is the same document in one text.
func (d *Document) join() *Document {
	text := bytes.NewBuffer(make([]byte, 0, d.Length))
	_ = d.Encode(text) // a buffer never fails
	return &Document{Revision: d.Revision, Length: d.Length, Next: d.Next, whole: text.Bytes()}
}

// again gives a document that was given before. The first one of a revision that is asked for again is joined: a page
// of 10,000 rows is one write then, and only one copy of the rows is kept. The caller holds mu of the rows.
func (p *part) again(key string, known *Document) *Document {
	if p.joined == p.rows.revision {
		return known
	}
	known = known.join()
	p.pages.put(p.rows.revision, key, known, known.overhead())
	p.joined = p.rows.revision
	return known
}
