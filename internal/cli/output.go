package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/goccy/go-yaml"
)

// output is how a command that shows things prints them.
type output struct {
	Output string `short:"o" env:"-" help:"table, json, yaml or name: the names alone, each on a line." default:"table" enum:"table,json,yaml,name"`
}

// columns are how things of one kind are listed.
type columns[T any] struct {
	titles []string
	row    func(T) []string
	name   func(T) string // how commands call it
}

// printList prints things in the way that was asked for.
func printList[T any](env *environment, how output, c columns[T], all []T) error {
	switch how.Output {
	case "json", "yaml":
		return printValue(env, how, all)
	case "name":
		for _, one := range all {
			if _, err := fmt.Fprintln(env.Out, printable(c.name(one))); err != nil {
				return err
			}
		}
		return nil
	}
	table := tabwriter.NewWriter(env.Out, 0, 0, 2, ' ', 0)
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

// printValue prints what the server answered, as JSON or YAML.
func printValue(env *environment, how output, value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	if how.Output == "yaml" {
		if text, err = yaml.JSONToYAML(text); err != nil {
			return err
		}
		text = []byte(strings.TrimSuffix(string(text), "\n"))
	}
	_, err = fmt.Fprintf(env.Out, "%s\n", text)
	return err
}
