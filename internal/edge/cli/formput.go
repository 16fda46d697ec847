package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"muster/api"
	"muster/client"
	"muster/internal/core/fleetfiles"
	"muster/internal/fleet"
)

type formPutCommand struct {
	connection
	namedForm
	changing
	Label   string   `arg:"" help:"Label of the template; the one with that label is changed."`
	Fields  []string `arg:"" optional:"" name:"field" help:"FIELD=VALUE, which may be repeated; FIELD= empties it."`
	Replace bool     `env:"-" help:"Start anew: only what is given here counts, also where a person edited the text."`
	Print   bool     `env:"-" help:"Print the template as a file, and change nothing."`
}

// Help shows some wishes.
func (formPutCommand) Help() string {
	return `Examples:

  muster template form put limits 'Berlin' tags=site:berlin send='2 MB/s' receive='16 Mbit/s'
  muster template form put versioning 'Old versions' tags=laptops type=simple keep=5
  muster template form put setting 'One folder at a time' tags=small key=options.maxFolderConcurrency value=1

It writes an ordinary template. On a template that this form wrote, a field changes what it names, and all else stays.`
}

// Run writes the template of a form, shows the plan, and saves it.
func (c *formPutCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	kind, err := c.find(ctx, server)
	if err != nil {
		return err
	}
	if err := checkLabel(kind, c.Label); err != nil {
		return err
	}
	all, err := server.Templates(ctx, client.List{})
	if err != nil {
		return err
	}
	current, err := withLabel(all, c.Label)
	if err != nil {
		return err
	}
	body := api.WriteForm{Label: c.Label}
	question, before := fmt.Sprintf("Create the template %q?", printable(c.Label)), map[string][]string{}
	if current != nil {
		body.Template = &current.ID
		question = fmt.Sprintf("Change the template %d, %q?", current.ID, printable(c.Label))
		if before, err = c.before(ctx, server, *current); err != nil {
			return err
		}
	}
	fields, err := filledFields(kind, before, c.Fields)
	if err != nil {
		return err
	}
	body.Form = &api.Form{Filled: &api.FilledForm{Name: c.Form, Fields: fields}}
	written, err := server.WriteForm(ctx, body)
	if err != nil {
		return err
	}
	printFormWarnings(env, written)
	if c.Print {
		return printForm(env, written, current)
	}
	return c.make(ctx, env, server, written.Change, question)
}

func printFormWarnings(env *environment, written api.WrittenForm) {
	for _, text := range written.Warnings {
		fmt.Fprintf(env.Err, "Warning: %s\n", printable(text))
	}
}

// printForm prints the template that a form wrote as a file. It has the priority of the template that it replaces.
func printForm(env *environment, written api.WrittenForm, current *api.Template) error {
	priority := int64(0)
	if current != nil {
		priority = current.Priority
	}
	_, err := fmt.Fprint(env.Out, fleetfiles.Template{Label: written.Label, Priority: priority, Op: written.Op,
		Key: written.Key, Tags: written.Tags, Text: written.Template})
	return err
}

// before are the fields as the template has them.
func (c *formPutCommand) before(ctx context.Context, server *client.Client,
	current api.Template) (map[string][]string, error) {
	if c.Replace {
		return map[string][]string{}, nil
	}
	is, err := server.TemplateForm(ctx, current.ID)
	switch {
	case err != nil:
		return nil, err
	case is.Form == nil || is.Form.Filled == nil || is.Form.Filled.Name != c.Form:
		return nil, &fleet.Error{Code: fleet.CodeInvalid,
			Message: fmt.Sprintf("the template %d, %q, is not one that the form %s writes, or was edited by hand", current.ID,
				printable(current.Label), c.Form),
			Hint: fmt.Sprintf("`muster template edit %d` edits its text; --replace writes it anew.", current.ID)}
	}
	return is.Form.Filled.Fields, nil
}

// checkLabel refuses a field in the place of the label.
func checkLabel(kind api.FormKind, label string) error {
	name, _, found := strings.Cut(label, "=")
	if !found || !isField(kind, name) {
		return nil
	}
	return &fleet.Error{Code: fleet.CodeInvalid, Message: "the label of the template comes before the fields",
		Hint: fmt.Sprintf("Type `muster template form put %s LABEL %s=VALUE`.", kind.Name, name)}
}

func isField(kind api.FormKind, name string) bool {
	return slices.ContainsFunc(kind.Fields, func(f api.FormField) bool { return f.Name == name })
}

// filledFields puts what was given into the fields of a template. A field of the template that does not
// apply any more is left out: versions to keep, where the versioning has become a trash can.
func filledFields(kind api.FormKind, before map[string][]string, given []string) (map[string][]string, error) {
	fields, typed := maps.Clone(before), map[string][]string{}
	for _, text := range given {
		name, value, found := strings.Cut(text, "=")
		if !found || !isField(kind, name) {
			return nil, &fleet.Error{Code: fleet.CodeInvalid,
				Message: fmt.Sprintf("%q is not FIELD=VALUE with a field of the form %s", printable(text), kind.Name),
				Hint:    fmt.Sprintf("`muster template form get %s` shows its fields.", kind.Name)}
		}
		typed[name] = append(typed[name], value)
	}
	maps.Copy(fields, typed)
	for _, field := range kind.Fields {
		if only := field.OnlyIf; only != nil && len(typed[field.Name]) == 0 && !slices.ContainsFunc(fields[only.Field],
			func(value string) bool { return slices.Contains(only.Is, value) }) {
			delete(fields, field.Name)
		}
	}
	return fields, nil
}
