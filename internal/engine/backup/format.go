// Package backup writes everything that a server stores into one encrypted file, and reads it back: the content of the
// database in a format that is independent of the database, the seal keys, and the other files of the home directory.
// The package does not know what the tables mean. Its caller passes functions that read and write them.
package backup

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// formatNumber is raised when older programs cannot read new backups.
const formatNumber = 1

// Sink receives the content of a database: first its version, then each table with its rows, then the last ID of each
// sequence.
type Sink interface {
	Schema(version int64) error
	Table(name string, columns []string) error
	Row(values []any) error // each value is nil, bool, int64, string or []byte
	Sequence(table string, last int64) error
}

// Content is the part of a backup before the tables.
type Content struct {
	Format    int       `json:"format"`
	Muster    string    `json:"muster"` // version of the program that made the backup
	Schema    int64     `json:"schema"` // version of the tables
	CreatedAt time.Time `json:"createdAt"`
	Files     []File    `json:"-"`
}

// File is a file of the home directory.
type File struct {
	Name string `json:"name"`
	Data []byte `json:"data"`
}

// File returns the content of a file of the home directory, or fs.ErrNotExist when the backup does not contain it.
func (c Content) File(name string) ([]byte, error) {
	for _, file := range c.Files {
		if file.Name == name {
			return file.Data, nil
		}
	}
	return nil, fmt.Errorf("%s in the backup: %w", name, fs.ErrNotExist)
}

// line is a line of the format other than a row. A row is a JSON array and belongs to the last table before it.
type line struct {
	Backup   *Content  `json:"backup,omitempty"` // the first line
	File     *File     `json:"file,omitempty"`   // between the first line and the tables
	Table    *table    `json:"table,omitempty"`
	Sequence *sequence `json:"sequence,omitempty"` // after the tables
	End      *end      `json:"end,omitempty"`      // the last line
}

type table struct {
	Name    string   `json:"name"`
	Columns []string `json:"columns"`
}

type sequence struct {
	Table string `json:"table"`
	Last  int64  `json:"last"`
}

type end struct {
	Tables int `json:"tables"`
	Rows   int `json:"rows"`
}

// blobMember is the name in {"b": "…"}, the form of a value that is bytes. The text is base64.
const blobMember = "b"

// writer is a Sink that writes the format.
type writer struct {
	to     io.Writer
	out    *json.Encoder
	row    []byte // reused for every row
	head   Content
	files  func() ([]File, error) // called when the moment of the backup is fixed
	counts end
}

func newWriter(w io.Writer, head Content, files func() ([]File, error)) *writer {
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	head.Format = formatNumber
	return &writer{to: w, out: out, head: head, files: files}
}

func (w *writer) Schema(version int64) error {
	w.head.Schema = version
	if err := w.out.Encode(line{Backup: &w.head}); err != nil {
		return err
	}
	files, err := w.files()
	if err != nil {
		return err
	}
	for _, file := range files {
		if err := w.out.Encode(line{File: &file}); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) Table(name string, columns []string) error {
	w.counts.Tables++
	return w.out.Encode(line{Table: &table{name, columns}})
}

// Row writes a row without encoding/json, which takes five times as long. Most of a backup is rows.
func (w *writer) Row(values []any) (err error) {
	row := append(w.row[:0], '[')
	for i, value := range values {
		if i > 0 {
			row = append(row, ',')
		}
		switch v := value.(type) {
		case nil:
			row = append(row, "null"...)
		case bool:
			row = strconv.AppendBool(row, v)
		case int64:
			row = strconv.AppendInt(row, v, 10)
		case string:
			if !utf8.ValidString(v) {
				return errors.New("a text in the database is not UTF-8")
			}
			if row, err = jsontext.AppendQuote(row, v); err != nil {
				return err
			}
		case []byte:
			row = append(row, `{"`+blobMember+`":"`...)
			row = base64.StdEncoding.AppendEncode(row, v)
			row = append(row, `"}`...)
		default:
			return fmt.Errorf("a value of the database has the type %T", v)
		}
	}
	w.counts.Rows++
	w.row = append(row, "]\n"...)
	_, err = w.to.Write(w.row)
	return err
}

func (w *writer) Sequence(table string, last int64) error {
	return w.out.Encode(line{Sequence: &sequence{table, last}})
}

func (w *writer) close() error { return w.out.Encode(line{End: &w.counts}) }

// sinkError is an error of the Sink, not of the backup.
type sinkError struct{ error }

func (e sinkError) Unwrap() error { return e.error }

// readAll reads a backup to its end. It calls begin with the content before the tables; begin returns the Sink for the
// tables.
func readAll(r io.Reader, begin func(Content) (Sink, error)) (Content, error) {
	p := parser{begin: begin, in: jsontext.NewDecoder(r)}
	for {
		switch err := p.take(); {
		case errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && p.ended:
			return p.content, nil
		case errors.Is(err, io.EOF):
			return p.content, io.ErrUnexpectedEOF
		case err != nil:
			return p.content, err
		}
	}
}

// parser reads a backup line by line.
type parser struct {
	begin   func(Content) (Sink, error)
	in      *jsontext.Decoder
	content Content
	headed  bool
	sink    Sink // nil before the first table
	columns int  // number of columns of the current table
	counts  end
	ended   bool
}

// take reads the next line. It returns io.EOF after the last one.
func (p *parser) take() error {
	if p.in.PeekKind() == '[' && !p.ended {
		return p.row()
	}
	raw, err := p.in.ReadValue()
	if err != nil {
		return err
	}
	if p.ended {
		return errors.New("something follows the end")
	}
	var l line
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&l); err != nil {
		return err
	}
	switch {
	case l.Backup != nil && !p.headed:
		p.content, p.headed = *l.Backup, true
		if p.content.Format > formatNumber {
			return sinkError{newerFormat(p.content)}
		}
		return nil
	case l.File != nil && p.headed && p.sink == nil:
		p.content.Files = append(p.content.Files, *l.File)
		return nil
	case l.Table != nil && p.headed:
		if err := p.start(); err != nil {
			return err
		}
		p.counts.Tables++
		p.columns = len(l.Table.Columns)
		return ofSink(p.sink.Table(l.Table.Name, l.Table.Columns))
	case l.Sequence != nil && p.sink != nil:
		p.columns = 0
		return ofSink(p.sink.Sequence(l.Sequence.Table, l.Sequence.Last))
	case l.End != nil && p.sink != nil:
		p.ended = true
		if *l.End != p.counts {
			return fmt.Errorf("it has %d tables and %d rows, and says %d and %d", p.counts.Tables, p.counts.Rows,
				l.End.Tables, l.End.Rows)
		}
		return nil
	}
	return fmt.Errorf("a line is not in its place: %.40s", raw)
}

// start gets the Sink before the first table.
func (p *parser) start() (err error) {
	if p.sink != nil {
		return nil
	}
	if p.sink, err = p.begin(p.content); err != nil {
		return sinkError{err}
	}
	return ofSink(p.sink.Schema(p.content.Schema))
}

// row reads a row token by token, without a copy of the whole row.
func (p *parser) row() error {
	if p.columns == 0 {
		return errors.New("a row belongs to no table")
	}
	if _, err := p.in.ReadToken(); err != nil {
		return err
	}
	values := make([]any, 0, p.columns)
	for p.in.PeekKind() != ']' {
		value, err := p.value()
		if err != nil {
			return err
		}
		values = append(values, value)
	}
	if _, err := p.in.ReadToken(); err != nil {
		return err
	}
	if len(values) != p.columns {
		return fmt.Errorf("a row has %d values for %d columns", len(values), p.columns)
	}
	p.counts.Rows++
	return ofSink(p.sink.Row(values))
}

func (p *parser) value() (any, error) {
	switch kind := p.in.PeekKind(); kind {
	case '{':
		return p.blob()
	case '0':
		raw, err := p.in.ReadValue()
		if err != nil {
			return nil, err
		}
		return strconv.ParseInt(string(raw), 10, 64)
	case 'n', 't', 'f', '"':
		token, err := p.in.ReadToken()
		switch {
		case err != nil || kind == 'n':
			return nil, err
		case kind == '"':
			return token.String(), nil
		}
		return token.Bool(), nil
	}
	_, err := p.in.ReadToken() // The row is incomplete or contains a list.
	return nil, cmp.Or(err, errors.New("a row holds a list"))
}

func (p *parser) blob() ([]byte, error) {
	data := []byte{}
	for i := range 4 { // The four tokens are {, the name, the value and }.
		token, err := p.in.ReadToken()
		switch {
		case err != nil:
			return nil, err
		case i == 1 && (token.Kind() != '"' || token.String() != blobMember), i == 3 && token.Kind() != '}':
			return nil, errors.New("a row holds an object that is no bytes")
		case i == 2 && token.Kind() == '"':
			if data, err = base64.StdEncoding.DecodeString(token.String()); err != nil {
				return nil, err
			}
		case i == 2 && token.Kind() != 'n':
			return nil, errors.New("the bytes of a row are no text")
		}
	}
	return data, nil
}

func ofSink(err error) error {
	if err == nil {
		return nil
	}
	return sinkError{err}
}
