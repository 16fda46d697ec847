package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"muster/api"
	"muster/client"
	"muster/internal/core/fleetfiles"
	"muster/internal/fleet"
)

// maxTemplateFile bounds the bytes of a file with a template: the largest text, and room for the header.
const maxTemplateFile = fleet.MaxTemplateBytes + 64<<10

type templatePutCommand struct {
	connection
	changing
	File     string `arg:"" help:"File with the template, - for standard input; comment lines before the text give label, priority, op, key and tags."`
	Template string `short:"t" env:"-" help:"Label or ID of the template to replace; without it, the one with the label of the file." placeholder:"TEMPLATE"`
}

// Help shows a file.
func (templatePutCommand) Help() string {
	return `Example of a FILE:

  # label: team folder
  # priority: 10
  # op: merge
  # key: folders.team
  # tags: team
  # ---
  {path: "~/team", label: "Team"}

Without a label in the file, the template has the file's name without its ending. Without a line for tags, a template
that is there keeps its tags.`
}

// Run creates or replaces a template.
func (c *templatePutCommand) Run(ctx context.Context, env *environment) error {
	file, err := readTemplateFile(env, c.File)
	if err != nil {
		return err
	}
	server, err := c.client()
	if err != nil {
		return err
	}
	current, err := c.current(ctx, server, file.Label)
	if err != nil {
		return err
	}
	if current == nil {
		question := fmt.Sprintf("Create the template %q?", printable(file.Label))
		return c.makeFrom(ctx, env, server, creating(file.Template), question, file)
	}
	change, err := replacing(ctx, server, *current, file.Template)
	if err != nil {
		return err
	}
	question := fmt.Sprintf("Change template %d, %q?", current.ID, printable(current.Label))
	return c.makeFrom(ctx, env, server, change, question, file)
}

// current is the template that the file replaces, nil if the file makes a new one.
func (c *templatePutCommand) current(ctx context.Context, server *client.Client, label string) (*api.Template, error) {
	if c.Template != "" {
		named, err := templateNamed(ctx, server, c.Template)
		return &named, err
	}
	all, err := server.Templates(ctx, client.List{})
	if err != nil {
		return nil, err
	}
	return withLabel(all, label)
}

// readTemplateFile reads a template from a file. Without a label it has the file's name.
func readTemplateFile(env *environment, name string) (file templateFile, err error) {
	file.path = name
	text, err := readInput(env.In, name, maxTemplateFile+1)
	switch {
	case err != nil:
		return file, err
	case len(text) > maxTemplateFile:
		return file, &fleet.Error{Code: fleet.CodeTooLarge, Message: fleet.TemplateTooLarge,
			Hint: "Split it, or look whether it is the right file."}
	case len(strings.TrimSpace(string(text))) == 0:
		return file, &fleet.Error{Code: fleet.CodeInvalid, Message: "the file is empty",
			Hint: "`muster template put --help` shows an example."}
	}
	if file.Template, err = fleetfiles.ParseTemplate(string(text)); err != nil {
		return file, err
	}
	file.header = strings.Split(string(text), "\n")[:file.HeaderLines]
	if base := filepath.Base(name); file.Label == "" && name != "-" {
		file.Label = strings.TrimSuffix(base, filepath.Ext(base))
	}
	if file.Op == "" {
		file.Op = string(fleet.OpSet)
	}
	return file, nil
}

func creating(f fleetfiles.Template) api.WhatIf {
	return api.WhatIf{Templates: &api.WhatIfTemplates{New: []api.WhatIfNew{{Label: &f.Label, Priority: &f.Priority,
		Op: &f.Op, Key: &f.Key, Template: &f.Text, Tags: f.Tags}}}}
}

// replacing is the change that makes a stored template what a file says.
func replacing(ctx context.Context, server *client.Client, current api.Template,
	f fleetfiles.Template) (change api.WhatIf, err error) {
	change.Templates = &api.WhatIfTemplates{Changed: []api.WhatIfChanged{{ID: &current.ID, Label: &f.Label,
		Priority: &f.Priority, Op: &f.Op, Key: &f.Key, Template: &f.Text}}}
	if f.Tags == nil {
		return change, nil
	}
	tags, err := server.TemplateTags(ctx, current.ID)
	if err != nil {
		return change, err
	}
	change.Tags = &api.WhatIfTags{}
	for _, tag := range f.Tags {
		if !slices.Contains(tags, tag) {
			change.Tags.Added = append(change.Tags.Added, api.WhatIfTag{Tag: &tag, Template: &current.ID})
		}
	}
	for _, tag := range tags {
		if !slices.Contains(f.Tags, tag) {
			change.Tags.Removed = append(change.Tags.Removed, api.WhatIfTag{Tag: &tag, Template: &current.ID})
		}
	}
	return change, nil
}

type templateEditCommand struct {
	namedTemplate
	changing
	Editor string `env:"VISUAL,EDITOR" hidden:""`
}

// Run opens a template in an editor. What was written stays in its file when it cannot be saved.
func (c *templateEditCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	template, err := c.find(ctx, server)
	if err != nil {
		return err
	}
	before, err := fileOf(ctx, server, template)
	if err != nil {
		return err
	}
	path, err := editText(ctx, env, editing{c.Editor, "muster-*.star", before.String()})
	if err != nil || path == "" {
		return err
	}
	if err := c.save(ctx, env, server, template, path); err != nil {
		fmt.Fprintf(env.Err, "What you wrote is in %s: `muster template put %s -t %d` saves it.\n", path, path, template.ID)
		return err
	}
	return os.Remove(path)
}

func (c *templateEditCommand) save(ctx context.Context, env *environment, server *client.Client, template api.Template,
	path string) error {
	file, err := readTemplateFile(env, path)
	if err != nil {
		return err
	}
	change, err := replacing(ctx, server, template, file.Template)
	if err != nil {
		return err
	}
	question := fmt.Sprintf("Change template %d, %q?", template.ID, printable(template.Label))
	return c.makeFrom(ctx, env, server, change, question, file)
}

type templateDeleteCommand struct {
	namedTemplate
	changing
}

// Run deletes a template.
func (c *templateDeleteCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	template, err := c.find(ctx, server)
	if err != nil {
		return err
	}
	change := api.WhatIf{Templates: &api.WhatIfTemplates{Deleted: []int64{template.ID}}}
	return c.make(ctx, env, server, change, fmt.Sprintf("Delete template %d, %q?", template.ID,
		printable(template.Label)))
}

// templateTagging attaches a tag to a template or takes it off.
type templateTagging struct {
	namedTemplate
	changing
	Tag string `arg:"" help:"The tag."`
	tagging
}

// Run shows what that would change, and makes it.
func (c *templateTagging) Run(ctx context.Context, env *environment, server *client.Client) error {
	template, err := c.find(ctx, server)
	if err != nil {
		return err
	}
	change := c.change(api.WhatIfTag{Tag: &c.Tag, Template: &template.ID})
	return c.make(ctx, env, server, change, fmt.Sprintf(c.question, printable(c.Tag), template.ID,
		printable(template.Label)))
}
