package cli

import (
	"context"
	"fmt"
	"time"

	"muster/api"
	"muster/internal/fleet"
)

type sealCommand struct {
	Show   sealShowCommand   `cmd:"" help:"Show the IDs of the keys that seal the database."`
	Rotate sealRotateCommand `cmd:"" help:"Seal the database with a new key, while the server serves, and wait until no cell uses the old one."`
}

type sealShowCommand struct{ connection }

// Run prints the keys' IDs.
func (c *sealShowCommand) Run(ctx context.Context, env *environment) error {
	server, err := c.client()
	if err != nil {
		return err
	}
	now, err := server.Seal(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(env.Out, "%s seals\n", now.Key)
	for _, older := range now.Older {
		fmt.Fprintf(env.Out, "%s is being replaced\n", older)
	}
	return rotationTrouble(now)
}

type sealRotateCommand struct{ connection }

// rotationPoll is the time between two questions how far a rotation is.
const rotationPoll = time.Second

// Run begins a rotation and waits for its end. Where the command is interrupted, the server completes the rotation.
func (c *sealRotateCommand) Run(ctx context.Context, env *environment) error {
	server, err := c.client()
	if err != nil {
		return err
	}
	now, err := server.RotateSeal(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(env.Out, "Key %s seals from now on. Everything is sealed anew ...\n", now.Key)
	for len(now.Older) > 0 {
		if err := rotationTrouble(now); err != nil {
			return err
		}
		select {
		case <-time.After(rotationPoll):
		case <-ctx.Done():
			return ctx.Err()
		}
		if now, err = server.Seal(ctx); err != nil {
			return err
		}
	}
	fmt.Fprintln(env.Out, "Done: nothing is sealed with the old key any more. Backups of before hold it; make a new one.")
	return nil
}

func rotationTrouble(now api.Seal) error {
	if now.Trouble == "" {
		return nil
	}
	return &fleet.Error{Code: fleet.CodeUnavailable, Message: "the rotation does not come to its end: " + now.Trouble,
		Hint: "The server goes on trying; its log has more. `muster seal show` says how it stands."}
}
