package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"muster/api"
	"muster/client"
	"muster/internal/core/template"
	"muster/internal/fleet"
)

type secretCommand struct {
	List   secretListCommand   `cmd:"" help:"List secrets, and the keys and tags that they are for; their values are never shown."`
	Put    secretPutCommand    `cmd:"" help:"Create or replace a secret that templates use by name."`
	Allow  secretAllowCommand  `cmd:"" help:"Add to the keys and tags that a secret is for, or replace them."`
	Delete secretDeleteCommand `cmd:"" help:"Forget a secret."`
}

var secretNoun = noun[api.Secret]{
	all:     unfiltered((*client.Client).Secrets),
	columns: columns[api.Secret]{name: func(s api.Secret) string { return s.Name }},
	about:   scopeOf,
}

type secretListCommand struct {
	connection
	output
	sorting
	paging
}

// Run prints one secret on each line.
func (c *secretListCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	secrets, err := server.Secrets(ctx)
	if err != nil {
		return err
	}
	if secrets, err = inOrder(c.sorting, secretNoun.columns, secrets); err != nil {
		return err
	}
	if !c.forPeople() {
		return printList(env, c.output, secretNoun.columns, secrets)
	}
	for _, s := range secrets {
		printSecret(env.Out, s)
	}
	return nil
}

func printSecret(out io.Writer, s api.Secret) {
	fmt.Fprintf(out, "%s  %s\n", printable(s.Name), printable(scopeOf(s)))
	if s.Altered {
		fmt.Fprintln(out, "  Changed in the database: it is given out no more. Delete it and put it again.")
	}
}

// scopeOf says where a secret may go.
func scopeOf(s api.Secret) string {
	if len(s.Keys)+len(s.Tags) == 0 {
		return "(only in templates that an admin saved)"
	}
	keys, devices := "every secret field", "every device"
	if len(s.Keys) > 0 {
		keys = strings.Join(s.Keys, ", ")
	}
	if len(s.Tags) > 0 {
		devices = "devices tagged " + strings.Join(s.Tags, ", ")
	}
	return keys + " on " + devices
}

type secretPutCommand struct {
	connection
	output
	messaging
	Name string   `arg:"" help:"Name, as in secret(\"NAME\")."`
	File string   `short:"f" help:"File with the value, - for standard input; a line end after it does not count. There is no flag for the value itself: others would see it in the list of processes." default:"-" placeholder:"FILE"`
	Key  []string `env:"-" help:"Key that the secret is for, such as 'folders.*.devices.*.encryptionPassword' or gui.password. Repeatable; replaces the list." placeholder:"KEY" sep:"none"`
	Tag  []string `env:"-" help:"Tag of the devices that the secret is for. Repeatable; replaces the list. Without keys and tags only templates that an admin saved may use the secret." placeholder:"TAG" sep:"none"`
}

// Run stores the value.
func (c *secretPutCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	value, err := secretFrom(env, c.File)
	if err != nil {
		return err
	}
	secret, created, err := server.PutSecret(ctx, c.Name, api.PutSecret{Value: &value, Keys: c.Key, Tags: c.Tag})
	if err != nil {
		return err
	}
	if !c.forPeople() {
		return c.print(env, secret, secret.Name)
	}
	if created {
		fmt.Fprintln(env.Out, "Created:")
	} else {
		fmt.Fprintln(env.Out, "Replaced; it is sent to the devices that use it:")
	}
	printSecret(env.Out, secret)
	return nil
}

type secretAllowCommand struct {
	connection
	output
	asking
	Name    string   `arg:"" help:"Name of the secret."`
	Key     []string `env:"-" help:"Key that the secret is for, such as 'folders.*.devices.*.encryptionPassword' or gui.password. Repeatable." placeholder:"KEY" sep:"none"`
	Tag     []string `env:"-" help:"Tag of the devices that the secret is for. Repeatable." placeholder:"TAG" sep:"none"`
	Replace bool     `help:"Replace both lists instead of adding to them, after a question; without --key and --tag that empties them."`
}

// Run changes the lists. The value stays.
func (c *secretAllowCommand) Run(ctx context.Context, env *environment) error {
	if len(c.Key)+len(c.Tag) == 0 && !c.Replace {
		return &fleet.Error{Code: fleet.CodeInvalid, Message: "say what the secret is for",
			Hint: "Type --key KEY, --tag TAG or both."}
	}
	server, err := c.client()
	if err != nil {
		return err
	}
	now, err := secretNamed(ctx, server, c.Name)
	if err != nil {
		return err
	}
	keys, tags := slices.Concat(now.Keys, c.Key), slices.Concat(now.Tags, c.Tag)
	if c.Replace {
		if err := c.consented(env, narrowed(now)); err != nil {
			return err
		}
		keys, tags = append([]string{}, c.Key...), append([]string{}, c.Tag...)
	}
	secret, _, err := server.PutSecret(ctx, c.Name, api.PutSecret{Keys: keys, Tags: tags})
	if err != nil {
		return err
	}
	if !c.forPeople() {
		return c.print(env, secret, secret.Name)
	}
	printSecret(env.Out, secret)
	return nil
}

// secretNamed is the secret that a person means.
func secretNamed(ctx context.Context, server *client.Client, name string) (api.Secret, error) {
	found, err := secretNoun.find(ctx, server, name)
	switch {
	case err != nil:
		return api.Secret{}, err
	case found == nil:
		return api.Secret{}, &fleet.Error{Code: fleet.CodeNotFound, Message: fmt.Sprintf("there is no secret %q", name),
			Hint: "`muster secret list` lists all."}
	}
	return *found, nil
}

type secretDeleteCommand struct {
	removing
	Name string `arg:"" help:"Name of the secret."`
}

// Run forgets the secret.
func (c *secretDeleteCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	if _, err := secretNamed(ctx, server, c.Name); err != nil {
		return err
	}
	use, err := usesOf(ctx, server, c.Name)
	if err != nil {
		return err
	}
	return c.remove(ctx, env, removal{name: c.Name, remove: server.DeleteSecret, change: "deleted", done: "Deleted.",
		question: fmt.Sprintf("Forget the secret %q? %s", printable(c.Name), use.text())})
}

const mostSecretBytes = 64 << 10

// secretFrom reads a secret from a file, or from standard input for "-", without the line end after it.
func secretFrom(env *environment, file string) (string, error) {
	text, err := readInput(env.In, file, mostSecretBytes+1)
	if err != nil {
		return "", err
	}
	value := strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r")
	switch {
	case value == "":
		return "", &fleet.Error{Code: fleet.CodeInvalid, Message: "the secret is empty",
			Hint: "Name a file that holds it, or - and pipe it in."}
	case len(text) > mostSecretBytes:
		return "", &fleet.Error{Code: fleet.CodeTooLarge, Message: fmt.Sprintf("the secret is larger than %d KiB",
			mostSecretBytes>>10), Hint: "Look whether it is the right file."}
	}
	return value, nil
}

// secretUse counts the templates and devices that use a secret.
type secretUse struct {
	templates int
	devices   int      // number of devices to which one of the templates applies
	maybe     []string // templates that compute the name of a secret
}

// usesOf finds the templates that name a secret, and the devices to which they apply. A template that does not
// compile needs none, since it is not evaluated.
func usesOf(ctx context.Context, server *client.Client, name string) (use secretUse, err error) {
	templates, err := server.Templates(ctx, client.List{})
	if err != nil {
		return use, err
	}
	tags, devices := map[string]bool{}, map[string]bool{}
	for _, one := range templates {
		program, err := template.Compile(one.Template)
		if err != nil {
			continue
		}
		names, computes := program.SecretNames()
		if !slices.Contains(names, name) {
			if computes {
				use.maybe = append(use.maybe, cmp.Or(one.Label, strconv.FormatInt(one.ID, 10)))
			}
			continue
		}
		use.templates++
		all, err := server.TemplateTags(ctx, one.ID)
		if err != nil {
			return use, err
		}
		for _, tag := range all {
			tags[tag] = true
		}
	}
	for tag := range tags {
		carriers, err := server.TagDevices(ctx, tag, client.List{Mask: true})
		if err != nil {
			return use, err
		}
		for _, device := range carriers {
			devices[device.DeviceID] = true
		}
	}
	use.devices = len(devices)
	return use, nil
}

// text says what happens to the templates and devices that use the secret when it is deleted.
func (u secretUse) text() string {
	text := "No template names it."
	if u.templates > 0 {
		text = fmt.Sprintf("%s it, for %s: nothing more is sent to them until it is put again or the templates are changed.",
			fleet.Counted(u.templates, "template names", "templates name"), counted(u.devices, "device"))
	}
	switch many := len(u.maybe); {
	case many == 1:
		text += fmt.Sprintf(" The template %q may need it: it computes the name.", printable(u.maybe[0]))
	case many > 1:
		text += fmt.Sprintf(" The template %q and %d more may need it: they compute the name.", printable(u.maybe[0]),
			many-1)
	}
	return text
}

// narrowed is the question before the lists of a secret are replaced.
func narrowed(s api.Secret) string {
	return fmt.Sprintf("Replace what the secret %q is for? It is for %s.", printable(s.Name), printable(scopeOf(s)))
}
