package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"muster/api"
	"muster/client"
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

var sourceNoun = noun[namedSource]{
	all: func(server *client.Client, ctx context.Context, _ client.List) (all []namedSource, err error) {
		now, err := server.Fleet(ctx)
		for _, name := range slices.Sorted(maps.Keys(now.Sources)) {
			all = append(all, namedSource{name, now.Sources[name]})
		}
		return all, err
	},
	columns: columns[namedSource]{
		titles: []string{"SOURCE", "READ-ONLY", "ASSERTIONS"},
		row: func(s namedSource) []string {
			return []string{s.name, strconv.FormatBool(s.ReadOnly), strconv.Itoa(len(s.Assertions))}
		},
		name: func(s namedSource) string { return s.name }},
}

type sourceListCommand struct {
	connection
	output
	sorting
	paging
}

// Run lists sources. As JSON and YAML they are a map by name, as in the API.
func (c *sourceListCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	all, err := sourceNoun.all(server, ctx, client.List{})
	if err != nil {
		return err
	}
	if c.Output == "json" || c.Output == "yaml" {
		byName := map[string]api.FleetSource{}
		for _, source := range all {
			byName[source.name] = source.FleetSource
		}
		return printValue(env, c.output, byName)
	}
	return printSorted(env, c.output, c.sorting, sourceNoun.columns, all)
}

type sourceForgetCommand struct {
	removing
	Source string `arg:"" help:"Name of a source."`
}

// Run returns a source up.
func (c *sourceForgetCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	source, err := sourceNoun.find(ctx, server, c.Source)
	switch {
	case err != nil:
		return err
	case source == nil:
		return &fleet.Error{Code: fleet.CodeNotFound, Message: fmt.Sprintf("there is no source %q", c.Source),
			Hint: "`muster source list` lists all."}
	}
	return c.remove(ctx, env, removal{name: c.Source, remove: server.ForgetSource, change: "forgotten",
		question: fmt.Sprintf("Give the source %q up? It has %s, forgotten then; its templates stay.", printable(c.Source),
			counted(len(source.Assertions), "assertion")),
		done: fmt.Sprintf("The source %q is forgotten. Its templates are changed by everybody who may.",
			printable(c.Source))})
}
