package cli

import (
	"context"

	"muster/api"
	"muster/client"
)

// noun describes the things of one kind that the server keeps: how they are listed, and what completion offers.
type noun[T any] struct {
	columns[T]
	all   func(*client.Client, context.Context, client.List) ([]T, error)
	about func(T) string // text beside the name in completion; nil for nothing
}

// unfiltered makes the all of a noun from a request that takes no filter.
func unfiltered[T any](all func(*client.Client, context.Context) ([]T, error),
) func(*client.Client, context.Context, client.List) ([]T, error) {
	return func(server *client.Client, ctx context.Context, _ client.List) ([]T, error) { return all(server, ctx) }
}

// candidates are the things as completion offers them.
func (n noun[T]) candidates(ctx context.Context, server *client.Client) (found []candidate, err error) {
	all, err := n.all(server, ctx, client.List{})
	for _, one := range all {
		offered := candidate{word: n.name(one)}
		if n.about != nil {
			offered.help = n.about(one)
		}
		found = append(found, offered)
	}
	return found, err
}

// find is the thing with a name, nil without one: then the server answers a request for it with a hint.
func (n noun[T]) find(ctx context.Context, server *client.Client, name string) (*T, error) {
	all, err := n.all(server, ctx, client.List{})
	for i := range all {
		if n.name(all[i]) == name {
			return &all[i], err
		}
	}
	return nil, err
}

// listCommand lists things of one kind.
type listCommand[T any] struct {
	connection
	output
	sorting
	paging
	of noun[T]
}

func (c *listCommand[T]) orders() []string { return c.of.columns.orders() }

// Run lists all of them.
func (c *listCommand[T]) Run(ctx context.Context, env *environment, server *client.Client) error {
	return c.list(ctx, env, server, client.List{})
}

func (c *listCommand[T]) list(ctx context.Context, env *environment, server *client.Client, filter client.List) error {
	all, err := c.of.all(server, ctx, filter)
	if err != nil {
		return err
	}
	return printSorted(env, c.output, c.sorting, c.of.columns, all)
}

func listOf[T any](of noun[T]) listCommand[T] { return listCommand[T]{of: of} }

// watchedList is a listCommand that can go on showing the list.
type watchedList[T any] struct {
	listCommand[T]
	watching
}

func watchedListOf[T any](of noun[T]) watchedList[T] { return watchedList[T]{listCommand: listOf(of)} }

// removing is how a command takes something away: it asks, sends the request and says what was done.
type removing struct {
	connection
	output
	asking
}

// removal describes what a command takes away.
type removal struct {
	name     string
	question string // "" if there is no such thing: the server refuses with a hint
	remove   func(ctx context.Context, name string) error
	change   string // the change as programs read it: "deleted"
	done     string // the change as people read it
}

func (c *removing) remove(ctx context.Context, env *environment, r removal) error {
	if r.question != "" {
		if err := c.consented(env, r.question); err != nil {
			return err
		}
	}
	if err := r.remove(ctx, r.name); err != nil {
		return err
	}
	return c.done(env, r.name, changed{r.name, r.change}, r.done)
}

// tagging puts a tag on things or takes it off.
type tagging struct {
	off      bool
	question string // a format for the tag and the thing
}

func (t tagging) change(all ...api.WhatIfTag) api.WhatIf {
	if t.off {
		return api.WhatIf{Tags: &api.WhatIfTags{Removed: all}}
	}
	return api.WhatIf{Tags: &api.WhatIfTags{Added: all}}
}
