package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"muster/internal/fleet"
)

type secretCommand struct {
	List   secretListCommand   `cmd:"" help:"List the names of secrets; their values are never shown."`
	Put    secretPutCommand    `cmd:"" help:"Create or replace a secret that templates use by name."`
	Delete secretDeleteCommand `cmd:"" help:"Forget a secret."`
}

type secretListCommand struct{ connection }

// Run prints one name on each line.
func (c *secretListCommand) Run(ctx context.Context, env *environment) error {
	server, err := c.client()
	if err != nil {
		return err
	}
	secrets, err := server.Secrets(ctx)
	if err != nil {
		return err
	}
	for _, s := range secrets {
		fmt.Fprintln(env.Out, printable(s.Name))
	}
	return nil
}

type secretPutCommand struct {
	connection
	Name string `arg:"" help:"Name, as in secret(\"NAME\")."`
	File string `help:"File with the value, - for standard input; a line end after it does not count. There is no flag for the value itself: others would see it in the list of processes." default:"-" placeholder:"FILE"`
}

// Run stores the value.
func (c *secretPutCommand) Run(ctx context.Context, env *environment) error {
	server, err := c.client()
	if err != nil {
		return err
	}
	value, err := secretFrom(env, c.File)
	if err != nil {
		return err
	}
	created, err := server.PutSecret(ctx, c.Name, value)
	if err != nil {
		return err
	}
	if created {
		fmt.Fprintln(env.Out, "Created.")
	} else {
		fmt.Fprintln(env.Out, "Replaced: it is sent to the devices that use it.")
	}
	return nil
}

type secretDeleteCommand struct {
	connection
	Name string `arg:"" help:"Name of the secret."`
}

// Run forgets the secret.
func (c *secretDeleteCommand) Run(ctx context.Context, env *environment) error {
	server, err := c.client()
	if err != nil {
		return err
	}
	if err := server.DeleteSecret(ctx, c.Name); err != nil {
		return err
	}
	fmt.Fprintln(env.Out, "Deleted.")
	return nil
}

const mostSecretBytes = 64 << 10

// secretFrom reads a secret from a file, or from standard input for "-", without the line end after it.
func secretFrom(env *environment, file string) (string, error) {
	in := env.In
	if file != "-" {
		opened, err := os.Open(file)
		if err != nil {
			return "", unreadable(err)
		}
		defer func() { _ = opened.Close() }()
		in = opened
	}
	text, err := io.ReadAll(io.LimitReader(in, mostSecretBytes+1))
	if err != nil {
		return "", unreadable(err)
	}
	value := strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r")
	switch {
	case value == "":
		return "", &fleet.Error{Code: fleet.CodeInvalid, Message: "the secret is empty", Hint: "Name a file that holds it, or - and pipe it in."}
	case len(text) > mostSecretBytes:
		return "", &fleet.Error{Code: fleet.CodeTooLarge, Message: fmt.Sprintf("the secret is larger than %d KiB", mostSecretBytes>>10), Hint: "Look whether it is the right file."}
	}
	return value, nil
}
