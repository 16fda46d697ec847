package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"muster/api"
	"muster/client"
	"muster/internal/core/fleetfiles"
	"muster/internal/core/form"
	"muster/internal/fleet"
)

type folderShareCommand struct {
	connection
	changing
	Label         string   `arg:"" help:"Name of the folder; a template with that label is changed."`
	Path          []string `env:"-" sep:"none" help:"Where: ~/Team, or windows=D:\\Team on one system; {name} is the var of that name. May be repeated." placeholder:"PATH"`
	Tag           []string `env:"-" sep:"none" help:"Devices with this tag send and receive; may be repeated." placeholder:"TAG"`
	SendOnly      []string `env:"-" sep:"none" help:"Devices with this tag send only." placeholder:"TAG"`
	ReceiveOnly   []string `env:"-" sep:"none" help:"Devices with this tag receive only." placeholder:"TAG"`
	Encrypted     []string `env:"-" sep:"none" help:"Devices with this tag get the folder encrypted; needs --encrypted-with." placeholder:"TAG"`
	EncryptedWith string   `env:"-" help:"The secret with the password for --encrypted." placeholder:"SECRET"`
	Hub           []string `env:"-" sep:"none" help:"Devices with this tag share with all, the others only with them; without it, everyone shares with everyone." placeholder:"TAG"`
	Versioning    string   `env:"-" help:"Keep earlier versions: trashcan:DAYS, simple:NUMBER, staggered:DAYS, or none." placeholder:"HOW"`
	Ignore        []string `env:"-" sep:"none" help:"An ignore pattern; together they replace those of the devices." placeholder:"PATTERN"`
	KeepFree      *int     `env:"-" help:"Percent of the disk to keep free." placeholder:"PERCENT"`
	Folder        string   `env:"-" help:"ID of the folder; without it, one made from the name." placeholder:"FOLDER"`
	Replace       bool     `env:"-" help:"Start anew: what is not given here does not stay as the template has it, also where it was edited by hand."`
	Print         bool     `env:"-" help:"Print the template as a file, and change nothing."`
}

// Help shows three wishes.
func (folderShareCommand) Help() string {
	return `Examples:

  muster folder share Team --path '~/Team' --tag team
  muster folder share Plans --path '~/Plans' --path 'windows=D:\Plans' --tag office --receive-only screens --hub server
  muster folder share Private --path '~/Private' --tag readers --encrypted vault --encrypted-with private-pw --dry-run

It writes an ordinary template: ` + "`muster template get Team`" + ` prints it. On a folder that is shared so already, an option
changes what it names, and all else stays.`
}

// Run writes the template of a folder, shows the plan, and saves it.
func (c *folderShareCommand) Run(ctx context.Context, env *environment) error {
	server, err := c.client()
	if err != nil {
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
	body := api.WriteForm{Form: &api.Form{Share: &api.ShareForm{}}, Label: c.Label}
	question := fmt.Sprintf("Share the folder %q?", printable(c.Label))
	if current != nil {
		body.Template = &current.ID
		question = fmt.Sprintf("Change the template %d, %q?", current.ID, printable(c.Label))
		if body.Form.Share, err = c.before(ctx, server, *current); err != nil {
			return err
		}
	}
	if err := c.fill(body.Form.Share); err != nil {
		return err
	}
	if err := checkSecret(*body.Form.Share); err != nil {
		return err
	}
	written, err := server.WriteForm(ctx, body)
	if err != nil {
		return err
	}
	for _, text := range written.Warnings {
		fmt.Fprintf(env.Err, "Warning: %s\n", printable(text))
	}
	if c.Print {
		priority := int64(0)
		if current != nil {
			priority = current.Priority
		}
		_, err := fmt.Fprint(env.Out, fleetfiles.Template{Label: written.Label, Priority: priority, Op: written.Op,
			Key: written.Key, Tags: written.Tags, Text: written.Template})
		return err
	}
	return c.make(ctx, env, server, written.Change, question)
}

// checkSecret refuses an encrypted folder without a password, and names the flag that is missing.
func checkSecret(share api.ShareForm) error {
	if len(share.Encrypted) == 0 || share.Secret != "" {
		return nil
	}
	return &fleet.Error{Code: fleet.CodeInvalid,
		Message: "a folder is encrypted with a password: --encrypted-with names the secret that holds it",
		Hint:    "`muster secret put NAME` stores it; `muster secret list` lists those that are there."}
}

// before is the form as the template has it.
func (c *folderShareCommand) before(ctx context.Context, server *client.Client,
	current api.Template) (*api.ShareForm, error) {
	if c.Replace {
		return &api.ShareForm{}, nil
	}
	is, err := server.TemplateForm(ctx, current.ID)
	switch {
	case err != nil:
		return nil, err
	case is.Form == nil || is.Form.Share == nil:
		return nil, &fleet.Error{Code: fleet.CodeInvalid,
			Message: fmt.Sprintf("the template %d, %q, is not one that this command writes, or was edited by hand", current.ID,
				printable(current.Label)),
			Hint: fmt.Sprintf("`muster template edit %d` edits its text; --replace writes it anew.", current.ID)}
	}
	return is.Form.Share, nil
}

// fill puts what was given into the form.
func (c *folderShareCommand) fill(share *api.ShareForm) error {
	share.Label = cmp.Or(share.Label, c.Label)
	share.Folder = cmp.Or(c.Folder, share.Folder)
	share.Secret = cmp.Or(c.EncryptedWith, share.Secret)
	for _, one := range []struct {
		into  *[]string
		given []string
	}{{&share.SendReceive, c.Tag}, {&share.SendOnly, c.SendOnly}, {&share.ReceiveOnly, c.ReceiveOnly},
		{&share.Encrypted, c.Encrypted}, {&share.Hubs, c.Hub}, {&share.Ignores, c.Ignore}} {
		if len(one.given) > 0 {
			*one.into = one.given
		}
	}
	if c.KeepFree != nil {
		share.KeepFreePercent = *c.KeepFree
	}
	if len(c.Path) > 0 {
		paths, err := pathsBySystem(c.Path)
		if err != nil {
			return err
		}
		share.Paths = paths
	}
	if c.Versioning == "" {
		return nil
	}
	versioning, err := versioningOf(c.Versioning)
	share.Versioning = versioning
	return err
}

// pathsBySystem reads windows=D:\Team, and ~/Team for every other system. Two paths for the same systems are an error.
func pathsBySystem(given []string) (map[string]string, error) {
	paths := map[string]string{}
	for _, text := range given {
		system, path, found := strings.Cut(text, "=")
		if !found || !slices.Contains(form.Systems, system) {
			system, path = "", text
		}
		if _, isTwice := paths[system]; isTwice {
			return nil, &fleet.Error{Code: fleet.CodeInvalid,
				Message: fmt.Sprintf("--path is given twice for %s", cmp.Or(system, "all systems")),
				Hint:    "Give one path for all systems, and SYSTEM=PATH for each system where it is another."}
		}
		paths[system] = path
	}
	return paths, nil
}

// versioningOf reads trashcan:30, simple:5, staggered:365 and none.
func versioningOf(text string) (*api.VersioningForm, error) {
	kind, number, hasNumber := strings.Cut(text, ":")
	names := map[string]string{"trashcan": "cleanoutDays", "simple": "keep", "staggered": "maxAge"}
	name, known := names[kind]
	count, err := strconv.ParseInt(cmp.Or(number, "0"), 10, 32)
	switch {
	case text == "none":
		return nil, nil //nolint:nilnil // no versioning is a value of the form
	case !known || err != nil || count < 0 || hasNumber && number == "":
		return nil, &fleet.Error{Code: fleet.CodeInvalid, Message: fmt.Sprintf("--versioning is not %q", printable(text)),
			Hint: "Give trashcan:30 (days), simple:5 (versions), staggered:365 (days), or none."}
	case !hasNumber:
		return &api.VersioningForm{Type: kind}, nil
	case kind == "staggered":
		count *= 24 * 60 * 60
	}
	return &api.VersioningForm{Type: kind, Params: map[string]string{name: strconv.FormatInt(count, 10)}}, nil
}
