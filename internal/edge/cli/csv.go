package cli

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// formula matches what a spreadsheet takes for a formula and would carry out, such as a label that somebody chose. The
// wide forms are the same signs of East Asian keyboards.
var formula = regexp.MustCompile(`^\s*[=+\-@＝＋－＠]|^[\t\r\n]`)

// innerFormula matches the same behind what ends a cell for a spreadsheet that separates cells by semicolons or tabs.
var innerFormula = regexp.MustCompile(`([;\t\r\n]\s*)([=+\-@＝＋－＠])`)

// csvRow is one line of a table for spreadsheets. Fields of inner objects are named outer.inner.
type csvRow struct {
	names []string // the order is that of the API
	cells map[string]string
}

// printCSV prints a JSON list as a table for spreadsheets, with the names of all fields in its first line. A value that
// is no list is a table of one line.
func printCSV(out io.Writer, text []byte) error {
	members := []json.RawMessage{}
	if err := json.Unmarshal(text, &members); err != nil {
		members = []json.RawMessage{text}
	}
	rows, titles, known := make([]csvRow, len(members)), []string{}, map[string]bool{}
	for i, member := range members {
		rows[i].cells = map[string]string{}
		if err := rows[i].add("", member); err != nil {
			return err
		}
		for _, name := range rows[i].names {
			if !known[name] {
				known[name], titles = true, append(titles, name)
			}
		}
	}
	return writeCSV(out, titles, rows)
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

// add puts a value into the line: an object as one cell for each of its fields.
func (r *csvRow) add(name string, value json.RawMessage) error {
	if value = bytes.TrimSpace(value); len(value) > 0 && value[0] == '{' {
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
			var short bytes.Buffer
			_ = json.Compact(&short, value) // it was decoded before
			return short.String()
		}
	}
	return strings.Join(texts, "; ")
}

// spreadsheetSafe puts an apostrophe before what a spreadsheet would take for a formula, and replaces what a terminal
// would take for a command.
func spreadsheetSafe(text string) string {
	text = innerFormula.ReplaceAllString(text, "$1'$2")
	if formula.MatchString(text) {
		text = "'" + text
	}
	return printableLines(text)
}
