package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"muster/api"
	"muster/client"
	"muster/internal/core/fleetfiles"
	"muster/internal/fleet"
)

type templateCommand struct {
	Form     formCommand             `cmd:"" help:"Say what you want in a form, which writes the template."`
	List     templateListCommand     `cmd:"" help:"List templates in the order in which they apply."`
	Get      templateGetCommand      `cmd:"" help:"Print a template as a file: what put and edit take."`
	Put      templatePutCommand      `cmd:"" help:"Create a template from a file, or replace it; first the plan is shown."`
	Edit     templateEditCommand     `cmd:"" help:"Open a template in $EDITOR, show what would change, and save it."`
	Delete   templateDeleteCommand   `cmd:"" help:"Delete a template, and put back what was there before; first the plan."`
	Tag      templateTagging         `cmd:"" help:"Apply a template to the devices with a tag; first the plan is shown."`
	Untag    templateTagging         `cmd:"" help:"Take a tag off a template; first the plan is shown."`
	Evaluate templateEvaluateCommand `cmd:"" help:"Show what a template gives for a device; changes nothing."`
}

var templateNoun = noun[api.Template]{
	all: (*client.Client).Templates,
	columns: columns[api.Template]{
		titles: []string{"ID", "LABEL", "PRIORITY", "OP", "KEY", "CHANGED"},
		row: func(t api.Template) []string {
			return []string{strconv.FormatInt(t.ID, 10), t.Label, strconv.FormatInt(t.Priority, 10), t.Op, t.Key,
				t.UpdatedAt.Local().Format("2006-01-02 15:04")}
		},
		name:  func(t api.Template) string { return cmp.Or(t.Label, templateID(t)) },
		words: wordsOfTemplates},
	about: func(t api.Template) string { return t.Op + " " + t.Key },
}

func templateID(t api.Template) string { return strconv.FormatInt(t.ID, 10) }

func wordsOfTemplates(all []api.Template) func(api.Template) string {
	return wordsByLabel(all, func(t api.Template) string { return t.Label }, templateID)
}

// templateVerbs are the commands that are described by data alone.
var templateVerbs = templateCommand{
	List:  templateListCommand{watchedList: watchedListOf(templateNoun)},
	Tag:   templateTagging{tagging: tagging{question: "Attach the tag %q to template %d, %q?"}},
	Untag: templateTagging{tagging: tagging{question: "Take the tag %q off template %d, %q?", off: true}},
}

type templateListCommand struct {
	watchedList[api.Template]
	Tag    string `env:"-" help:"Only templates with this tag." placeholder:"TAG"`
	Search string `env:"-" short:"q" help:"Only templates with this text in label or key." placeholder:"TEXT"`
}

// Run lists templates.
func (c *templateListCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	if c.Output == "name" && c.Tag+c.Search != "" { // A template that the filter leaves out may have the same label.
		all, err := server.Templates(ctx, client.List{})
		if err != nil {
			return err
		}
		c.of.words = func([]api.Template) func(api.Template) string { return wordsOfTemplates(all) }
	}
	return c.list(ctx, env, server, client.List{Tag: c.Tag, Search: c.Search})
}

// namedTemplate is the template that a command is about.
type namedTemplate struct {
	connection
	Template string `arg:"" help:"Label or ID of a template."`
}

func (c *namedTemplate) find(ctx context.Context, server *client.Client) (api.Template, error) {
	return templateNamed(ctx, server, c.Template)
}

// templateNamed is the template that a person means.
func templateNamed(ctx context.Context, server *client.Client, name string) (api.Template, error) {
	all, err := server.Templates(ctx, client.List{})
	if err != nil {
		return api.Template{}, err
	}
	found, err := withLabel(all, name)
	switch {
	case err != nil:
		return api.Template{}, err
	case found != nil:
		return *found, nil
	}
	if i := slices.IndexFunc(all, func(t api.Template) bool { return strconv.FormatInt(t.ID, 10) == name }); i >= 0 {
		return all[i], nil
	}
	return api.Template{}, &fleet.Error{Code: fleet.CodeNotFound,
		Message: fmt.Sprintf("no template has the label or ID %q", name), Hint: "`muster template list` lists all."}
}

// withLabel finds the template with a label, nil without one. Two templates with the label are an error.
func withLabel(all []api.Template, label string) (found *api.Template, err error) {
	for i, t := range all {
		switch {
		case label == "" || t.Label != label:
		case found != nil:
			return nil, &fleet.Error{Code: fleet.CodeInvalid,
				Message: fmt.Sprintf("templates %d and %d both have the label %q", found.ID, t.ID, label),
				Hint:    "Name the template by its ID, and give one of them another label."}
		default:
			found = &all[i]
		}
	}
	return found, nil
}

type templateGetCommand struct {
	namedTemplate
	watching
	paging
	Output string `short:"o" env:"-" help:"How it is printed." default:"file" enum:"file,table,json,yaml,csv,name"`
}

// Run prints a template.
func (c *templateGetCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	template, err := c.find(ctx, server)
	if err != nil {
		return err
	}
	if c.Output != "file" {
		return printOne(env, output{c.Output}, templateNoun.columns, template)
	}
	file, err := fileOf(ctx, server, template)
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(env.Out, file)
	return err
}

// fileOf is a stored template as a file.
func fileOf(ctx context.Context, server *client.Client, t api.Template) (fleetfiles.Template, error) {
	tags, err := server.TemplateTags(ctx, t.ID)
	return fleetfiles.Template{Label: t.Label, Priority: t.Priority, Op: t.Op, Key: t.Key, Tags: tags,
		Text: t.Template}, err
}

type templateEvaluateCommand struct {
	connection
	paging
	Template string `arg:"" optional:"" help:"Label or ID of a template; or give --file."`
	File     string `short:"f" env:"-" help:"Evaluate this file instead; - is standard input." placeholder:"FILE"`
	Device   string `env:"-" help:"Label or ID of the device; without it, any one." placeholder:"DEVICE"`
	output
}

// Run evaluates a template.
func (c *templateEvaluateCommand) Run(ctx context.Context, env *environment) error {
	if (c.Template == "") == (c.File == "") {
		return &fleet.Error{Code: fleet.CodeInvalid, Message: "which template is meant?",
			Hint: "Name a template, or give --file FILE."}
	}
	server, err := c.client()
	if err != nil {
		return err
	}
	device := ""
	if c.Device != "" {
		named, err := deviceNamed(ctx, server, c.Device)
		if err != nil {
			return err
		}
		device = named.DeviceID
	}
	made, err := c.evaluate(ctx, env, server, device)
	if err != nil {
		return err
	}
	if !c.forPeople() {
		return c.print(env, made, cmp.Or(c.Template, c.File))
	}
	return printEvaluation(env, made)
}

func (c *templateEvaluateCommand) evaluate(ctx context.Context, env *environment, server *client.Client,
	device string) (api.Evaluation, error) {
	if c.Template != "" {
		template, err := templateNamed(ctx, server, c.Template)
		if err != nil {
			return api.Evaluation{}, err
		}
		return server.EvaluateTemplate(ctx, template.ID, device)
	}
	file, err := readTemplateFile(env, c.File)
	if err != nil {
		return api.Evaluation{}, err
	}
	made, err := server.EvaluateNewTemplate(ctx, api.EvaluateTemplate{Label: &file.Label, Priority: &file.Priority,
		Op: &file.Op, Key: &file.Key, Template: &file.Text}, device)
	return made, file.inFile(err)
}

func printEvaluation(env *environment, made api.Evaluation) error {
	for _, line := range made.Output {
		fmt.Fprintln(env.Out, printable(line))
	}
	fmt.Fprintf(env.Out, "%s\n", made.Value)
	for _, change := range made.Changes {
		fmt.Fprintf(env.Out, "%s: %s -> %s\n", printable(change.Key), change.From, change.To)
	}
	for _, text := range made.Warnings {
		fmt.Fprintf(env.Err, "Warning: %s\n", printable(text))
	}
	return nil
}
