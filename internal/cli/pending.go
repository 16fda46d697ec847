package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
)

type pendingCommand struct {
	List    pendingListCommand    `cmd:"" help:"List devices and folders that ask managed daemons to be let in."`
	Accept  pendingAcceptCommand  `cmd:"" help:"Let it in: add the device, or share the folder with whoever offers it."`
	Dismiss pendingDismissCommand `cmd:"" help:"Have the daemon forget it; whoever asks may ask again."`
}

type pendingListCommand struct {
	connection
	output
	watching
}

// Run prints one line for each.
func (c *pendingListCommand) Run(ctx context.Context, env *environment) error {
	server, err := c.client()
	if err != nil {
		return err
	}
	all, err := server.Pending(ctx, client.List{})
	if err != nil {
		return err
	}
	return printList(env, c.output, columns[api.Pending]{
		titles: []string{"ID", "ASKED", "KIND", "WHAT", "FROM", "SINCE"},
		name:   func(p api.Pending) string { return p.ID },
		row: func(p api.Pending) []string {
			what := p.Name
			if p.Kind == "folder" {
				what = fmt.Sprintf("%s (%s)", p.Folder, p.FolderLabel)
			}
			return []string{p.ID, p.Label, p.Kind, what, cmp.Or(p.FromLabel, p.From), fmt.Sprint(p.Since)}
		}}, all)
}

// pendingOne is what a command is about.
type pendingOne struct {
	connection
	output
	ID string `arg:"" help:"As muster pending list shows it."`
}

type pendingAcceptCommand struct {
	pendingOne
	Name  string `help:"What the daemon shall call the device, or the folder's label; what whoever asks says when missing." placeholder:"NAME"`
	Path  string `help:"Where the daemon shall keep the folder; needed unless it has the folder already." placeholder:"PATH"`
	Key   string `name:"register-key" help:"File with the device's API key, - for standard input: registers the device here too." placeholder:"FILE"`
	Where string `name:"register-address" help:"Host name or IP of the registered device; missing means discovery." placeholder:"HOST"`
	Port  int64  `name:"register-port" help:"Port of its API." default:"8384" placeholder:"PORT"`
	Pin   string `env:"-" help:"Fingerprint of the registered device's API certificate, pinned before the first contact: sha256:HEX, or as openssl prints it." placeholder:"HEX"`
}

// Run lets it in, and answers when the daemon was read back.
func (c *pendingAcceptCommand) Run(ctx context.Context, env *environment) error {
	server, err := c.client()
	if err != nil {
		return err
	}
	how := api.AcceptPending{Name: given(c.Name), Label: given(c.Name), Path: given(c.Path)}
	if how.Register, err = c.register(env); err != nil {
		return err
	}
	if err := server.AcceptPending(ctx, c.ID, how); err != nil {
		return err
	}
	return c.done(env, c.ID, changed{c.ID, "accepted"}, "Let in.")
}

// register is the device that is to be registered as well; nil for none.
func (c *pendingAcceptCommand) register(env *environment) (*api.RegisterPending, error) {
	if c.Key == "" && c.Pin != "" {
		return nil, &fleet.Error{Code: fleet.CodeInvalid, Message: "a pin is that of a device that is registered",
			Hint: "Add --register-key FILE, or leave --pin out."}
	}
	if c.Key == "" {
		return nil, nil //nolint:nilnil // nothing to register is no error
	}
	register := &api.RegisterPending{Label: given(c.Name), APIAddress: given(c.Where), APIPort: &c.Port}
	if c.Pin != "" {
		pin, err := fleet.ParsePin(fromOpenSSL(c.Pin))
		if err != nil {
			return nil, err
		}
		register.Pin = &pin
	}
	key, err := secretFrom(env, c.Key)
	if err != nil {
		return nil, err
	}
	register.APIKey = &key
	return register, nil
}

// given is nil for a flag that was left out.
func given(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

type pendingDismissCommand struct {
	pendingOne
	asking
}

// Run has the daemon forget it.
func (c *pendingDismissCommand) Run(ctx context.Context, env *environment) error {
	server, err := c.client()
	if err != nil {
		return err
	}
	all, err := server.Pending(ctx, client.List{})
	if err != nil {
		return err
	}
	// Of an ID that is not there the server says what to do.
	if i := slices.IndexFunc(all, func(p api.Pending) bool { return p.ID == c.ID }); i >= 0 {
		if err := c.consented(env, dismissal(all[i])); err != nil {
			return err
		}
	}
	if err := server.DismissPending(ctx, c.ID); err != nil {
		return err
	}
	return c.done(env, c.ID, changed{c.ID, "dismissed"}, "Dismissed.")
}

// dismissal asks whether a daemon is to forget what asked it.
func dismissal(p api.Pending) string {
	what := fmt.Sprintf("the device %s (%s)", printable(cmp.Or(p.FromLabel, p.Name, p.From)), printable(p.From))
	if p.Kind == "folder" {
		what = fmt.Sprintf("the folder %s that %s offers", printable(p.Folder), printable(cmp.Or(p.FromLabel, p.From)))
	}
	return fmt.Sprintf("Have %s forget %s? It may ask again.", printable(cmp.Or(p.Label, p.DeviceID)), what)
}
