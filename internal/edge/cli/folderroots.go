package cli

import (
	"context"
	"fmt"
	"regexp"
	"slices"

	"muster/client"
	"muster/internal/fleet"
)

type folderRootsCommand struct {
	List   folderRootsListCommand   `cmd:"" help:"List the folder roots of the fleet and those that tags add, or those of one tag."`
	Add    folderRootsAddCommand    `cmd:"" help:"Let templates of authors put folders below another directory."`
	Remove folderRootsRemoveCommand `cmd:"" help:"Hold what templates of authors put below a directory; folders that are there stay."`
}

// rootsOf selects the folder roots of the fleet or of a tag. As with a stop, variables of the environment do not
// count.
type rootsOf struct {
	output
	Tag string `help:"Only on devices with this tag: its folder roots add to those of the fleet." placeholder:"TAG" env:"-"`
}

func (r rootsOf) read(ctx context.Context, server *client.Client) ([]string, error) {
	if r.Tag != "" {
		return server.TagFolderRoots(ctx, r.Tag)
	}
	return server.FolderRoots(ctx)
}

// change replaces the folder roots by the wanted ones, and prints them.
func (r rootsOf) change(
	ctx context.Context, env *environment, c *connection, wanted func(now []string) ([]string, error),
) error {
	server, err := c.client()
	if err != nil {
		return err
	}
	roots, err := r.read(ctx, server)
	if err != nil {
		return err
	}
	if roots, err = wanted(roots); err != nil {
		return err
	}
	put := func() ([]string, error) { return server.PutFolderRoots(ctx, roots) }
	if r.Tag != "" {
		put = func() ([]string, error) { return server.PutTagFolderRoots(ctx, r.Tag, roots) }
		if err := warnOfTag(ctx, env, server, r.Tag); err != nil {
			return err
		}
	}
	if roots, err = put(); err != nil {
		return err
	}
	return r.show(env, roots)
}

func (r rootsOf) show(env *environment, roots []string) error {
	if !r.forPeople() {
		return r.print(env, roots, roots...)
	}
	printLines(env, roots)
	return nil
}

func printLines(env *environment, lines []string) {
	for _, line := range lines {
		fmt.Fprintln(env.Out, printable(line))
	}
}

type folderRootsListCommand struct {
	connection
	rootsOf
	paging
}

// Run prints one directory on each line, those of tags with the tag.
func (c *folderRootsListCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	roots, err := c.read(ctx, server)
	if err != nil {
		return err
	}
	if err := c.show(env, roots); err != nil || c.Tag != "" || !c.forPeople() {
		return err
	}
	return printRootsOfTags(ctx, env, server)
}

// printRootsOfTags prints the directories that tags add.
func printRootsOfTags(ctx context.Context, env *environment, server *client.Client) error {
	tags, err := server.Tags(ctx, client.List{})
	if err != nil {
		return err
	}
	for _, tag := range tags {
		roots, err := server.TagFolderRoots(ctx, tag)
		if err != nil {
			return err
		}
		for _, root := range roots {
			fmt.Fprintf(env.Out, "%s  (on devices with the tag %s)\n", printable(root), printable(tag))
		}
	}
	return nil
}

type folderRootsAddCommand struct {
	connection
	rootsOf
	messaging
	Directory string `arg:"" help:"Directory on the daemons' machines: ~/..., /... or a drive such as C:\\. Quote it, so that the shell does not read it."`
}

// Run adds the directory and prints all.
func (c *folderRootsAddCommand) Run(ctx context.Context, env *environment) error {
	if wholeMachine.MatchString(c.Directory) {
		fmt.Fprintf(env.Err, "Warning: %s contains every directory of a file system: templates of authors may put folders "+
			"anywhere there, but for the directories of the daemon and the system.\n", printable(c.Directory))
	}
	return c.change(ctx, env, &c.connection, func(now []string) ([]string, error) {
		return append(now, c.Directory), nil
	})
}

// wholeMachine matches the root of a file system.
var wholeMachine = regexp.MustCompile(`^([A-Za-z]:)?[/\\]+$`)

type folderRootsRemoveCommand struct {
	connection
	rootsOf
	asking
	Directory string `arg:"" help:"Directory as the list shows it."`
}

// Run takes the directory away and prints those that remain.
func (c *folderRootsRemoveCommand) Run(ctx context.Context, env *environment) error {
	return c.change(ctx, env, &c.connection, func(now []string) ([]string, error) {
		if !slices.Contains(now, c.Directory) {
			return nil, &fleet.Error{Code: fleet.CodeNotFound, Message: fmt.Sprintf("%q is no folder root", c.Directory),
				Hint: "`muster folder-roots list` shows them; those of a tag with --tag."}
		}
		whose := "every device"
		if c.Tag != "" {
			whose = fmt.Sprintf("devices with the tag %q", printable(c.Tag))
		}
		if err := c.consented(env, fmt.Sprintf("Take %s off the folder roots, for %s? What authors' templates put there "+
			"from now on is held; folders that are there stay.", printable(c.Directory), whose)); err != nil {
			return nil, err
		}
		return slices.DeleteFunc(now, func(root string) bool { return root == c.Directory }), nil
	})
}
