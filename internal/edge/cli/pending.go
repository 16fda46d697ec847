package cli

import (
	"cmp"
	"context"
	"fmt"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
)

type pendingCommand struct {
	List    watchedList[api.Pending] `cmd:"" help:"List devices and folders that ask managed daemons to be let in."`
	Accept  pendingAcceptCommand     `cmd:"" help:"Let it in: add the device, or share the folder with whoever offers it."`
	Dismiss pendingDismissCommand    `cmd:"" help:"Have the daemon forget it; whoever asks may ask again."`
}

var pendingNoun = noun[api.Pending]{
	all: (*client.Client).Pending,
	columns: columns[api.Pending]{
		titles: []string{"ID", "ASKED", "KIND", "WHAT", "FROM", "SINCE", "NOT LET IN"},
		name:   func(p api.Pending) string { return p.ID },
		row: func(p api.Pending) []string {
			what := p.Name
			if p.Kind == "folder" {
				what = fmt.Sprintf("%s (%s)", p.Folder, p.FolderLabel)
			}
			return []string{p.ID, p.Label, p.Kind, what, cmp.Or(p.FromLabel, p.From), fmt.Sprint(p.Since),
				cmp.Or(p.Revoked, "-")}
		}},
	about: func(p api.Pending) string { return p.Kind + " " + cmp.Or(p.Name, p.Folder) },
}

// pendingVerbs are the commands that are described by data alone.
var pendingVerbs = pendingCommand{List: watchedListOf(pendingNoun)}

type pendingAcceptCommand struct {
	connection
	output
	messaging
	ID    string `arg:"" help:"As muster pending list shows it."`
	Name  string `help:"What the daemon shall call the device, or the folder's label; what whoever asks says when missing." placeholder:"NAME"`
	Path  string `help:"Where the daemon shall keep the folder; needed unless it has the folder already." placeholder:"PATH"`
	Key   string `name:"register-key" help:"File with the device's API key, - for standard input: registers the device here too." placeholder:"FILE"`
	Where string `name:"register-address" help:"Host name or IP of the registered device; missing means discovery." placeholder:"HOST"`
	Port  int64  `name:"register-port" help:"Port of its API." default:"8384" placeholder:"PORT"`
	Pin   string `env:"-" help:"Fingerprint of the registered device's API certificate, pinned before the first contact: sha256:HEX, or as openssl prints it." placeholder:"HEX"`
}

// Run lets it in, and answers when the daemon was read back.
func (c *pendingAcceptCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	how := api.AcceptPending{Name: given(c.Name), Label: given(c.Name), Path: given(c.Path)}
	register, err := c.register(env)
	if err != nil {
		return err
	}
	how.Register = register
	if err := server.AcceptPending(ctx, c.ID, how); err != nil {
		return err
	}
	return c.done(env, c.ID, changed{c.ID, "accepted"}, "Let in.")
}

// register is the device that is to be registered as well, nil if none is.
func (c *pendingAcceptCommand) register(env *environment) (*api.RegisterPending, error) {
	if c.Key == "" && c.Pin != "" {
		return nil, &fleet.Error{Code: fleet.CodeInvalid, Message: "a pin is that of a device that is registered",
			Hint: "Add --register-key FILE, or leave --pin out."}
	}
	if c.Key == "" {
		return nil, nil //nolint:nilnil // there is nothing to register
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
	removing
	ID string `arg:"" help:"As muster pending list shows it."`
}

// Run has the daemon forget it.
func (c *pendingDismissCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	found, err := pendingNoun.find(ctx, server, c.ID)
	if err != nil {
		return err
	}
	r := removal{name: c.ID, remove: server.DismissPending, change: "dismissed", done: "Dismissed."}
	if found != nil {
		r.question = dismissal(*found)
	}
	return c.remove(ctx, env, r)
}

// dismissal is the question before a daemon forgets a device or folder.
func dismissal(p api.Pending) string {
	what := fmt.Sprintf("the device %s (%s)", printable(cmp.Or(p.FromLabel, p.Name, p.From)), printable(p.From))
	if p.Kind == "folder" {
		what = fmt.Sprintf("the folder %s that %s offers", printable(p.Folder), printable(cmp.Or(p.FromLabel, p.From)))
	}
	return fmt.Sprintf("Have %s forget %s? It may ask again.", printable(cmp.Or(p.Label, p.DeviceID)), what)
}
