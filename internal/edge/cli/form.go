package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
)

type formCommand struct {
	List     formListCommand     `cmd:"" help:"List the forms: what one can want without writing a template."`
	Get      formGetCommand      `cmd:"" help:"Show the fields of a form."`
	Put      formPutCommand      `cmd:"" help:"Fill in a form, which writes a template; first the plan is shown."`
	Settings formSettingsCommand `cmd:"" help:"List the settings of Syncthing, with their defaults."`
}

var formNoun = noun[api.FormKind]{
	all: unfiltered((*client.Client).Forms),
	columns: columns[api.FormKind]{titles: []string{"FORM", "FOR", "WHAT"},
		row:  func(f api.FormKind) []string { return []string{f.Name, f.Title, f.Help} },
		name: func(f api.FormKind) string { return f.Name }},
	about: func(f api.FormKind) string { return f.Title },
}

type formListCommand struct {
	connection
	output
	sorting
	paging
}

func (*formListCommand) orders() []string { return formNoun.orders() }

// Run lists the forms.
func (c *formListCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	forms, err := server.Forms(ctx)
	if err != nil {
		return err
	}
	if err := printSorted(env, c.output, c.sorting, formNoun.columns, forms); err != nil || !c.forPeople() {
		return err
	}
	_, err = fmt.Fprintln(env.Out, "\n`muster template form get FORM` shows the fields of a form. "+
		"`muster folder share LABEL` shares a folder.")
	return err
}

// namedForm is the form that a command is about.
type namedForm struct {
	Form string `arg:"" help:"Name of a form."`
}

func (c namedForm) find(ctx context.Context, server *client.Client) (api.FormKind, error) {
	forms, err := server.Forms(ctx)
	if err != nil {
		return api.FormKind{}, err
	}
	i := slices.IndexFunc(forms, func(f api.FormKind) bool { return f.Name == c.Form })
	if i < 0 {
		return api.FormKind{}, &fleet.Error{Code: fleet.CodeNotFound,
			Message: fmt.Sprintf("there is no form %q", c.Form), Hint: "`muster template form list` lists all."}
	}
	return forms[i], nil
}

type formGetCommand struct {
	connection
	namedForm
	output
}

// Run shows a form.
func (c *formGetCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	kind, err := c.find(ctx, server)
	if err != nil {
		return err
	}
	if !c.forPeople() {
		return c.print(env, kind, kind.Name)
	}
	fmt.Fprintf(env.Out, "%s\n%s\n\n", printable(kind.Title), printable(kind.Help))
	return printList(env, c.output, fieldColumns, kind.Fields)
}

var fieldColumns = columns[api.FormField]{titles: []string{"FIELD", "WHAT", "TAKES"},
	row:  func(f api.FormField) []string { return []string{f.Name, f.Label, takes(f)} },
	name: func(f api.FormField) string { return f.Name }}

// takes describes the values of a field in one line.
func takes(f api.FormField) string {
	var parts []string
	switch f.Type {
	case "choice":
		values := make([]string, len(f.Choices))
		for i, choice := range f.Choices {
			values[i] = choice.Value
		}
		parts = append(parts, strings.Join(values, ", "))
	case "number":
		parts = append(parts, fmt.Sprintf("%d to %d", f.Least, f.Most))
	case "tags", "lines":
		parts = append(parts, "may be repeated")
	}
	if f.Example != "" {
		parts = append(parts, "as in "+f.Example)
	}
	if f.OnlyIf != nil {
		parts = append(parts, "with "+f.OnlyIf.Field+"="+strings.Join(f.OnlyIf.Is, " or "))
	}
	switch {
	case f.Default != "":
		parts = append(parts, "without it "+f.Default)
	case f.Required:
		parts = append(parts, "required")
	}
	return strings.Join(parts, "; ")
}

type formSettingsCommand struct {
	connection
	output
	sorting
	paging
	Search string `env:"-" short:"q" help:"Only settings with this text in key or help." placeholder:"TEXT"`
}

// Run lists the settings.
func (c *formSettingsCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	all, err := server.ConfigSettings(ctx)
	if err != nil {
		return err
	}
	wanted := strings.ToLower(c.Search)
	all = slices.DeleteFunc(all, func(s api.ConfigSetting) bool {
		return !strings.Contains(strings.ToLower(s.Key+" "+s.Help), wanted)
	})
	return printSorted(env, c.output, c.sorting, settingColumns, all)
}

var settingColumns = columns[api.ConfigSetting]{titles: []string{"SETTING", "TYPE", "DEFAULT", "WHAT"},
	row: func(s api.ConfigSetting) []string {
		return []string{s.Key, s.Type, strings.Join(s.Default, ", "), s.Help}
	},
	name: func(s api.ConfigSetting) string { return s.Key }}
