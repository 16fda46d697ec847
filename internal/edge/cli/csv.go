package cli

import (
	"bytes"
	"cmp"
	"encoding"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"muster/api"
	"muster/internal/fleet"
)

// formula matches what a spreadsheet takes for a formula and would carry out, such as a label that somebody chose. The
// wide forms are the same signs of East Asian keyboards.
var formula = regexp.MustCompile(`^[` + blank + `]*[=+\-@＝＋－＠]|^[\t\r\n]`)

// innerFormula matches what such a cell begins with where a spreadsheet splits one of ours at a semicolon or a tab.
// Quotes do not keep the parts together there.
var innerFormula = regexp.MustCompile(`^[` + blank + `"]*[=+\-@＝＋－＠]`)

// blank lists the characters that a pattern of the console takes for blanks, so that both make the same cells.
const blank = `\t\n\v\f\r \x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}\x{FEFF}`

// csvRow is one line of a table for spreadsheets. Fields of inner objects are named outer.inner.
type csvRow struct {
	names []string // the order is that of the API
	cells map[string]string
	whole map[string]bool // names of fields that are one cell also where the value is an object
}

// printCSV prints a value, which was written as a JSON text, as a table for spreadsheets, with the names of all
// fields in its first line. A value that is no list is a table of one line. With fields only these are columns, in
// their order.
func printCSV(out io.Writer, value any, text []byte, fields ...string) error {
	members := []json.RawMessage{}
	if err := json.Unmarshal(text, &members); err != nil {
		members = []json.RawMessage{text}
	}
	of := reflect.TypeOf(value)
	if of != nil && of.Kind() == reflect.Slice && !encodesItself(of) {
		of = of.Elem()
	}
	titles := csvTitles(of, "")
	isTyped := len(titles) > 0
	rows, known := make([]csvRow, len(members)), setOf(titles)
	for i, member := range members {
		rows[i] = csvRow{cells: map[string]string{}, whole: setOf(titles)}
		if err := rows[i].add("", member); err != nil {
			return err
		}
		for _, name := range rows[i].names {
			if !isTyped && !known[name] {
				known[name], titles = true, append(titles, name)
			}
		}
	}
	return writeCSV(out, onlyTitles(titles, fields), rows)
}

func setOf(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}

// onlyTitles are the titles of some fields, also those of their inner fields, in the order of the fields; without
// fields all.
func onlyTitles(titles, fields []string) (some []string) {
	if len(fields) == 0 {
		return titles
	}
	for _, field := range fields {
		for _, title := range titles {
			if (title == field || strings.HasPrefix(title, field+".")) && !slices.Contains(some, title) {
				some = append(some, title)
			}
		}
	}
	return some
}

// csvTitles are the columns of things of a type: the names of all its fields, also of those that no thing has. A
// thing whose type does not name its fields has none.
func csvTitles(of reflect.Type, outer string) (titles []string) {
	for of != nil && of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	switch {
	case of == reflect.TypeFor[api.FolderCounts]():
		titles = []string{outer + ".all"}
		for _, state := range fleet.FolderStates() {
			titles = append(titles, outer+"."+state.String())
		}
		return titles
	case of != nil && of.Kind() == reflect.Struct && !encodesItself(of):
		for field := range of.Fields() {
			for _, title := range titlesOf(field, outer) {
				if !slices.Contains(titles, title) {
					titles = append(titles, title)
				}
			}
		}
		return titles
	case outer == "":
		return nil
	}
	return []string{outer}
}

// titlesOf are the columns of a field.
func titlesOf(field reflect.StructField, outer string) []string {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	switch {
	case field.Anonymous && name == "":
		return csvTitles(field.Type, outer)
	case !field.IsExported() || name == "-":
		return nil
	}
	name = cmp.Or(name, field.Name)
	if outer != "" {
		name = outer + "." + name
	}
	return csvTitles(field.Type, name)
}

// encodesItself reports whether values of a type say themselves what they are in JSON.
func encodesItself(of reflect.Type) bool {
	return of.Implements(reflect.TypeFor[json.Marshaler]()) || of.Implements(reflect.TypeFor[encoding.TextMarshaler]())
}

func writeCSV(out io.Writer, titles []string, rows []csvRow) error {
	table := csv.NewWriter(out)
	line := make([]string, len(titles))
	for i, title := range titles {
		line[i] = spreadsheetSafe(title)
	}
	if err := table.Write(line); err != nil {
		return err
	}
	return writeRows(table, titles, rows)
}

func writeRows(table *csv.Writer, titles []string, rows []csvRow) error {
	line := make([]string, len(titles))
	for _, row := range rows {
		for i, title := range titles {
			line[i] = row.cells[title]
		}
		if err := table.Write(line); err != nil {
			return err
		}
	}
	table.Flush()
	return table.Error()
}

// csvLines prints values of one type as they come, as lines of one table for spreadsheets.
type csvLines struct{ titles []string }

func (l *csvLines) print(out io.Writer, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	titles := csvTitles(reflect.TypeOf(value), "")
	row := csvRow{cells: map[string]string{}, whole: setOf(titles)}
	if err := row.add("", text); err != nil {
		return err
	}
	if l.titles == nil {
		l.titles = titles
		return writeCSV(out, l.titles, []csvRow{row})
	}
	return writeRows(csv.NewWriter(out), l.titles, []csvRow{row})
}

// add puts a value into the line: an object as one cell for each of its fields, unless it is one cell as a whole.
func (r *csvRow) add(name string, value json.RawMessage) error {
	if value = bytes.TrimSpace(value); len(value) > 0 && value[0] == '{' && !r.whole[name] {
		return r.addFields(name, value)
	}
	if name == "" {
		name = "value"
	}
	cell, err := csvCell(value)
	r.names = append(r.names, name)
	r.cells[name] = cell
	return err
}

func (r *csvRow) addFields(outer string, object json.RawMessage) error {
	fields := json.NewDecoder(bytes.NewReader(object))
	if _, err := fields.Token(); err != nil {
		return err
	}
	for fields.More() {
		field, err := fields.Token()
		if err != nil {
			return err
		}
		var value json.RawMessage
		if err := fields.Decode(&value); err != nil {
			return err
		}
		name := fmt.Sprint(field)
		if outer != "" {
			name = outer + "." + name
		}
		if err := r.add(name, value); err != nil {
			return err
		}
	}
	return nil
}

// csvCell is a value that is no object. Lists of texts and numbers are joined; what cannot be joined stays JSON.
func csvCell(value json.RawMessage) (string, error) {
	decoder := json.NewDecoder(bytes.NewReader(value))
	decoder.UseNumber()
	var of any
	if err := decoder.Decode(&of); err != nil {
		return "", err
	}
	switch of := of.(type) {
	case nil:
		return "", nil
	case string:
		return spreadsheetSafe(of), nil
	case []any:
		return spreadsheetSafe(joinedList(of, value)), nil
	case map[string]any:
		return spreadsheetSafe(compactJSON(value)), nil
	}
	return string(value), nil // a number, true or false
}

func joinedList(list []any, value json.RawMessage) string {
	texts := make([]string, len(list))
	for i, member := range list {
		switch member := member.(type) {
		case string:
			texts[i] = member
		case json.Number:
			texts[i] = member.String()
		default:
			return compactJSON(value)
		}
	}
	return strings.Join(texts, "; ")
}

// compactJSON is a value that was decoded before, without blanks.
func compactJSON(value json.RawMessage) string {
	var short bytes.Buffer
	_ = json.Compact(&short, value)
	return short.String()
}

// spreadsheetSafe puts an apostrophe before what a spreadsheet would take for a formula, and replaces what a terminal
// would take for a command.
func spreadsheetSafe(text string) string { return printableLines(withoutFormulas(text)) }

// withoutFormulas puts an apostrophe before what a spreadsheet would take for a formula, as the console does
// (web/src/ui/csv.ts): testdata/csv-cells.json has the cases of both.
func withoutFormulas(text string) string {
	var safe strings.Builder
	if formula.MatchString(text) {
		safe.WriteByte('\'')
	}
	for i, part := range splitCell(text) {
		if i > 0 && innerFormula.MatchString(part) {
			safe.WriteByte('\'')
		}
		safe.WriteString(part)
	}
	return safe.String()
}

// splitCell splits a text behind each character at which a spreadsheet may split a cell.
func splitCell(text string) (parts []string) {
	for {
		at := strings.IndexAny(text, ";\t\r\n")
		if at < 0 {
			return append(parts, text)
		}
		parts, text = append(parts, text[:at+1]), text[at+1:]
	}
}
