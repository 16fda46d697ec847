package cli

import (
	"context"
	"fmt"
	"slices"

	"muster/client"
	"muster/internal/fleet"
)

type authorKeysCommand struct {
	List   authorKeysListCommand   `cmd:"" help:"List the author keys of the fleet and those that tags add, or those of one tag."`
	Add    authorKeysAddCommand    `cmd:"" help:"Let templates of authors set another key."`
	Remove authorKeysRemoveCommand `cmd:"" help:"Hold what templates of authors set at a key; what is there stays."`
}

// authorKeysOf selects the author keys of the fleet or of a tag. As with a stop, variables of the environment do not
// count.
type authorKeysOf struct {
	output
	Tag string `help:"Only on devices with this tag: its author keys add to those of the fleet." placeholder:"TAG" env:"-"`
}

func (r authorKeysOf) read(ctx context.Context, server *client.Client) ([]string, error) {
	if r.Tag != "" {
		return server.TagAuthorKeys(ctx, r.Tag)
	}
	return server.AuthorKeys(ctx)
}

// change replaces the author keys by the wanted ones, and prints them.
func (r authorKeysOf) change(
	ctx context.Context, env *environment, c *connection, wanted func(now []string) ([]string, error),
) error {
	server, err := c.client()
	if err != nil {
		return err
	}
	keys, err := r.read(ctx, server)
	if err != nil {
		return err
	}
	if keys, err = wanted(keys); err != nil {
		return err
	}
	put := func() ([]string, error) { return server.PutAuthorKeys(ctx, keys) }
	if r.Tag != "" {
		put = func() ([]string, error) { return server.PutTagAuthorKeys(ctx, r.Tag, keys) }
		if err := warnOfTag(ctx, env, server, r.Tag); err != nil {
			return err
		}
	}
	if keys, err = put(); err != nil {
		return err
	}
	return r.show(env, keys)
}

func (r authorKeysOf) show(env *environment, keys []string) error {
	if !r.forPeople() {
		return r.print(env, keys, keys...)
	}
	printLines(env, keys)
	return nil
}

type authorKeysListCommand struct {
	connection
	authorKeysOf
	paging
}

// Run prints one key on each line, those of tags with the tag.
func (c *authorKeysListCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	keys, err := c.read(ctx, server)
	if err != nil {
		return err
	}
	if err := c.show(env, keys); err != nil || c.Tag != "" || !c.forPeople() {
		return err
	}
	return printKeysOfTags(ctx, env, server)
}

// printKeysOfTags prints the keys that tags add.
func printKeysOfTags(ctx context.Context, env *environment, server *client.Client) error {
	tags, err := server.Tags(ctx, client.List{})
	if err != nil {
		return err
	}
	for _, tag := range tags {
		keys, err := server.TagAuthorKeys(ctx, tag)
		if err != nil {
			return err
		}
		for _, key := range keys {
			fmt.Fprintf(env.Out, "%s  (on devices with the tag %s)\n", printable(key), printable(tag))
		}
	}
	return nil
}

type authorKeysAddCommand struct {
	connection
	authorKeysOf
	messaging
	Key string `arg:"" help:"Key of a configuration, as a reason shows it: options.listenAddresses, or folders.*.ignorePerms for every folder. It covers everything below."`
}

// Run adds the key and prints all.
func (c *authorKeysAddCommand) Run(ctx context.Context, env *environment) error {
	return c.change(ctx, env, &c.connection, func(now []string) ([]string, error) {
		return append(now, c.Key), nil
	})
}

type authorKeysRemoveCommand struct {
	connection
	authorKeysOf
	asking
	Key string `arg:"" help:"Key as the list shows it."`
}

// Run takes the key away and prints those that remain.
func (c *authorKeysRemoveCommand) Run(ctx context.Context, env *environment) error {
	return c.change(ctx, env, &c.connection, func(now []string) ([]string, error) {
		if !slices.Contains(now, c.Key) {
			return nil, &fleet.Error{Code: fleet.CodeNotFound, Message: fmt.Sprintf("%q is no author key", c.Key),
				Hint: "`muster author-keys list` shows them; those of a tag with --tag."}
		}
		whose := "every device"
		if c.Tag != "" {
			whose = fmt.Sprintf("devices with the tag %q", printable(c.Tag))
		}
		if err := c.consented(env, fmt.Sprintf("Take %s off the author keys, for %s? What authors' templates set there "+
			"from now on is held; what is there stays.", printable(c.Key), whose)); err != nil {
			return nil, err
		}
		return slices.DeleteFunc(now, func(key string) bool { return key == c.Key }), nil
	})
}
