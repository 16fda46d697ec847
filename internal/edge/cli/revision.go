package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
)

type revisionCommand struct {
	List    revisionListCommand    `cmd:"" help:"List the configurations that a device was seen with, the newest first."`
	Show    revisionShowCommand    `cmd:"" help:"Print one of them, secrets masked."`
	Diff    revisionDiffCommand    `cmd:"" help:"Show what leads from one to another."`
	Restore revisionRestoreCommand `cmd:"" help:"Bring a device, or a section of its configuration, back to one of them."`
}

type revisionListCommand struct {
	namedDevice
	output
	watching
	sorting
	paging
}

// Run lists revisions.
func (c *revisionListCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	device, err := c.find(ctx, server)
	if err != nil {
		return err
	}
	all, err := server.Revisions(ctx, device.DeviceID, client.List{})
	if err != nil {
		return err
	}
	return printSorted(env, c.output, c.sorting, revisionColumns, all)
}

var revisionColumns = columns[api.Revision]{titles: []string{"NUMBER", "SEEN AT", "CAUSE"},
	row: func(r api.Revision) []string {
		return []string{strconv.FormatInt(r.Number, 10), r.SeenAt.Local().Format("2006-01-02 15:04:05"), r.Cause}
	},
	name: func(r api.Revision) string { return strconv.FormatInt(r.Number, 10) },
}

type revisionShowCommand struct {
	namedDevice
	paging
	Number int64  `arg:"" help:"Number of the revision."`
	Output string `short:"o" env:"-" help:"json, yaml, name: its number; or table and csv: what is known of it." default:"json" enum:"table,json,yaml,csv,name"`
}

// Run prints a revision.
func (c *revisionShowCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	device, err := c.find(ctx, server)
	if err != nil {
		return err
	}
	revision, err := server.Revision(ctx, device.DeviceID, c.Number)
	if err != nil {
		return err
	}
	if c.Output == "json" || c.Output == "yaml" {
		return printValue(env, output{c.Output}, revision.Config)
	}
	return printOne(env, output{c.Output}, revisionColumns, revision.Revision)
}

type revisionDiffCommand struct {
	namedDevice
	paging
	From int64 `arg:"" help:"Number of the revision before."`
	To   int64 `arg:"" help:"Number of the revision after."`
	output
	Colour string `help:"auto, always or never; auto: on a terminal. With NO_COLOR set there is never any." default:"auto" enum:"auto,always,never"`
}

// Run shows a difference.
func (c *revisionDiffCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	device, err := c.find(ctx, server)
	if err != nil {
		return err
	}
	diff, err := server.CompareRevisions(ctx, device.DeviceID, c.From, c.To)
	if err != nil {
		return err
	}
	if !c.forPeople() {
		return c.print(env, diff, keysOf(diff)...)
	}
	if len(diff.Changes) == 0 {
		_, err := fmt.Fprintln(env.Out, "They are the same.")
		return err
	}
	p := newPainter(ctx, server, env.Out, c.Colour)
	p.all = true
	for _, change := range diff.Changes {
		p.change(api.PlannedChange{Key: change.Key, From: change.From, To: change.To})
	}
	return p.err
}

// keysOf are the keys that differ.
func keysOf(diff api.RevisionDiff) (keys []string) {
	for _, change := range diff.Changes {
		keys = append(keys, change.Key)
	}
	return keys
}

// revisionRestoreCommand takes consents from the command line only, as apply does.
type revisionRestoreCommand struct {
	namedDevice
	output
	messaging
	Number  int64    `arg:"" help:"Number of the revision."`
	Section *string  `env:"-" help:"options, gui, folders, ... or a key below, as folders.photos; without it, everything." placeholder:"KEY"`
	Digest  *string  `env:"-" help:"Of the plan that an earlier restore showed; needed with --consent." placeholder:"DIGEST"`
	Consent []string `env:"-" sep:"none" help:"Key of a held change that may be made; may be repeated." placeholder:"KEY"`
	DryRun  bool     `name:"dry-run" env:"-" help:"Show the plan, and change nothing."`
	Yes     bool     `short:"y" env:"-" help:"Do not ask, nor show first what it changes."`
}

// Run shows what the restore changes, asks, and restores exactly that. While a change is held nothing is sent, and the
// plan says what waits.
func (c *revisionRestoreCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	device, err := c.find(ctx, server)
	if err != nil {
		return err
	}
	if c.DryRun || !c.Yes {
		seen, err := server.RestoreRevision(ctx, device.DeviceID, c.Number, api.Restore{Section: c.Section, Preview: true})
		if err != nil {
			return err
		}
		if c.DryRun {
			return c.preview(ctx, env, server, seen)
		}
		if err := c.ask(ctx, env, server, device, seen); err != nil {
			return err
		}
		if c.Digest == nil {
			c.Digest = &seen.Plan.Digest
		}
	}
	done, err := server.RestoreRevision(ctx, device.DeviceID, c.Number, api.Restore{Section: c.Section, Digest: c.Digest,
		Consent: c.Consent})
	if err != nil {
		return err
	}
	return c.show(ctx, env, server, done)
}

// preview prints what a restore would change.
func (c *revisionRestoreCommand) preview(ctx context.Context, env *environment, server *client.Client,
	seen api.Restored) error {
	if err := c.changes(ctx, env, server, seen); err != nil {
		return err
	}
	return c.done(env, c.Device, seen, printable(seen.Reason))
}

// ask shows what a restore changes, and asks whether to do it.
func (c *revisionRestoreCommand) ask(ctx context.Context, env *environment, server *client.Client, device api.Device,
	seen api.Restored) error {
	if err := c.changes(ctx, env, server, seen); err != nil {
		return err
	}
	what := "the configuration"
	if c.Section != nil && *c.Section != "" {
		what = printable(*c.Section)
	}
	return confirm(env, fmt.Sprintf("Bring %s of %s back to revision %d (%s)?", what, named(device), c.Number,
		counted(len(seen.Plan.Changes), "change")))
}

// changes prints the plan of a restore, and what is not restored.
func (c *revisionRestoreCommand) changes(ctx context.Context, env *environment, server *client.Client,
	done api.Restored) error {
	p := newPainter(ctx, server, c.texts(env), "auto")
	for _, change := range done.Plan.Changes {
		p.change(change)
	}
	if len(done.Left) > 0 {
		p.line(plain, "Not restored:")
		for _, change := range done.Left {
			p.change(change)
		}
	}
	return p.err
}

func (c *revisionRestoreCommand) show(ctx context.Context, env *environment, server *client.Client,
	done api.Restored) error {
	if err := c.changes(ctx, env, server, done); err != nil {
		return err
	}
	held := slices.ContainsFunc(done.Plan.Changes, waitsForPerson)
	switch {
	case held && !done.Done:
		return &fleet.Error{Code: fleet.CodeConflict, Message: printable(done.Reason),
			Hint: fmt.Sprintf("%s The plan's digest is %s: give it with --digest, and each held key with --consent.",
				printable(done.Next), done.Plan.Digest)}
	case len(done.Plan.Changes) > 0 && !done.Done:
		return &fleet.Error{Code: fleet.CodeConflict, Message: printable(done.Reason), Hint: printable(done.Next)}
	}
	return c.done(env, c.Device, done, printable(done.Reason))
}
