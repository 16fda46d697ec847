package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"muster/api"
	"muster/internal/fleet"
)

type sourceCommand struct {
	List   sourceListCommand   `cmd:"" help:"List the sources of files."`
	Forget sourceForgetCommand `cmd:"" help:"Give a source up: its templates stay, and its assertions are forgotten."`
}

type namedSource struct {
	name string
	api.FleetSource
}

var sourceColumns = columns[namedSource]{
	titles: []string{"SOURCE", "READ-ONLY", "ASSERTIONS"},
	row: func(s namedSource) []string {
		return []string{s.name, strconv.FormatBool(s.ReadOnly), strconv.Itoa(len(s.Assertions))}
	},
	name: func(s namedSource) string { return s.name },
}

type sourceListCommand struct {
	connection
	output
}

// Run lists sources.
func (c *sourceListCommand) Run(ctx context.Context, env *environment) error {
	server, err := c.client()
	if err != nil {
		return err
	}
	now, err := server.Fleet(ctx)
	if err != nil {
		return err
	}
	if c.Output == "json" || c.Output == "yaml" {
		return printValue(env, c.output, now.Sources)
	}
	var all []namedSource
	for _, name := range slices.Sorted(maps.Keys(now.Sources)) {
		all = append(all, namedSource{name, now.Sources[name]})
	}
	return printList(env, c.output, sourceColumns, all)
}

type sourceForgetCommand struct {
	connection
	output
	asking
	Source string `arg:"" help:"Name of a source."`
}

// Run gives a source up.
func (c *sourceForgetCommand) Run(ctx context.Context, env *environment) error {
	server, err := c.client()
	if err != nil {
		return err
	}
	now, err := server.Fleet(ctx)
	if err != nil {
		return err
	}
	source, known := now.Sources[c.Source]
	if !known {
		return &fleet.Error{Code: fleet.CodeNotFound, Message: fmt.Sprintf("there is no source %q", c.Source),
			Hint: "`muster source list` lists all."}
	}
	if err := c.consented(env, fmt.Sprintf("Give the source %q up? It has %s, forgotten then; its templates stay.",
		printable(c.Source), counted(len(source.Assertions), "assertion"))); err != nil {
		return err
	}
	if err := server.ForgetSource(ctx, c.Source); err != nil {
		return err
	}
	return c.done(env, c.Source, changed{c.Source, "forgotten"},
		fmt.Sprintf("The source %q is forgotten. Its templates are changed by everybody who may.", printable(c.Source)))
}
