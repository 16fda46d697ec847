package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/goccy/go-yaml"
)

// output is the flag for the form in which a command prints what it shows or made.
type output struct {
	Output string `short:"o" env:"-" help:"table, json, yaml, csv: for spreadsheets, or name: the names alone, each on a line." default:"table" enum:"table,json,yaml,csv,name"`
}

// forPeople reports whether a text or a table is wanted.
func (o output) forPeople() bool { return o.Output == "table" }

// texts is where people read what programs do not: standard output is for values where they are wanted.
func (o output) texts(env *environment) io.Writer {
	if o.forPeople() {
		return env.Out
	}
	return env.Err
}

// print prints a value for programs: as JSON, YAML or CSV, or the names alone.
func (o output) print(env *environment, value any, names ...string) error {
	if o.Output != "name" {
		return printValue(env, o, value)
	}
	for _, name := range names {
		if _, err := fmt.Fprintln(env.Out, printable(name)); err != nil {
			return err
		}
	}
	return nil
}

// done ends a command that changed the thing with the name. It prints a text for people, or the value.
func (o output) done(env *environment, name string, value any, text string) error {
	if !o.forPeople() {
		return o.print(env, value, name)
	}
	_, err := fmt.Fprintln(env.Out, text)
	return err
}

// changed is what programs read of a change to which the server answers nothing.
type changed struct {
	Name   string `json:"name"`
	Change string `json:"change"` // deleted, revoked, ...
}

// columns are how things of one kind are listed.
type columns[T any] struct {
	titles []string
	row    func(T) []string
	name   func(T) string // the name that commands take
	// figures are the numbers of columns whose texts have units, by the name of the order; negative: not known.
	figures map[string]func(T) int64
	// words makes the words of -o name, where a name may be several words or that of several things; nil: the names.
	words func(all []T) func(T) string
}

// printList prints things in the way that was asked for.
func printList[T any](env *environment, how output, c columns[T], all []T) error {
	if !how.forPeople() {
		if all == nil {
			all = []T{} // an empty list, not null
		}
		names, word := make([]string, len(all)), c.name
		if c.words != nil {
			word = c.words(all)
		}
		for i, one := range all {
			names[i] = word(one)
		}
		return how.print(env, all, names...)
	}
	table := newTable(env.Out)
	fmt.Fprintln(table, strings.Join(c.titles, "\t"))
	for _, one := range all {
		cells := c.row(one)
		for i, cell := range cells {
			cells[i] = printable(cell)
		}
		fmt.Fprintln(table, strings.Join(cells, "\t"))
	}
	return table.Flush()
}

// printSorted prints things in the way and in the order that was asked for.
func printSorted[T any](env *environment, how output, by sorting, c columns[T], all []T) error {
	all, err := inOrder(by, c, all)
	if err != nil {
		return err
	}
	return printList(env, how, c, all)
}

// printOne prints one thing: in a table of one row, or alone.
func printOne[T any](env *environment, how output, c columns[T], one T) error {
	if !how.forPeople() {
		return how.print(env, one, c.name(one))
	}
	return printList(env, how, c, []T{one})
}

// printValue prints what the server answered, as JSON, YAML or CSV: with columns for these fields alone, if some are
// given.
func printValue(env *environment, how output, value any, fields ...string) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	switch how.Output {
	case "csv":
		return printCSV(env.Out, value, text, fields...)
	case "yaml":
		if text, err = yaml.JSONToYAML(text); err != nil {
			return err
		}
		text = []byte(strings.TrimSuffix(string(text), "\n"))
	}
	_, err = fmt.Fprintf(env.Out, "%s\n", text)
	return err
}
