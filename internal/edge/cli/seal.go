package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
)

type sealCommand struct {
	Show   sealShowCommand   `cmd:"" help:"Show the IDs of the keys that seal the database."`
	Rotate sealRotateCommand `cmd:"" help:"Seal the database with a new key, while the server serves, and wait until no cell uses the old one."`
}

type sealShowCommand struct {
	connection
	output
}

// Run prints the keys' IDs.
func (c *sealShowCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	now, err := server.Seal(ctx)
	if err != nil {
		return err
	}
	if !c.forPeople() {
		return errors.Join(c.print(env, now, append([]string{now.Key}, now.Older...)...), rotationTrouble(now))
	}
	fmt.Fprintf(env.Out, "%s seals\n", now.Key)
	for _, older := range now.Older {
		fmt.Fprintf(env.Out, "%s is being replaced\n", older)
	}
	return rotationTrouble(now)
}

type sealRotateCommand struct {
	connection
	output
	messaging
}

// rotationPoll is the time between two requests for the state of a rotation.
const rotationPoll = time.Second

// Run begins a rotation and waits for its end. Where the command is interrupted, the server completes the rotation.
func (c *sealRotateCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	now, err := server.RotateSeal(ctx)
	if err != nil {
		return err
	}
	if c.forPeople() {
		fmt.Fprintf(env.Out, "Key %s seals from now on. Everything is sealed anew ...\n", now.Key)
	}
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
	return c.done(env, now.Key, now,
		"Done: nothing is sealed with the old key any more. Earlier backups hold it; make a new one.")
}

func rotationTrouble(now api.Seal) error {
	if now.Trouble == "" {
		return nil
	}
	return &fleet.Error{Code: fleet.CodeUnavailable, Message: "the rotation does not come to its end: " + now.Trouble,
		Hint: "The server goes on trying; its log has more. `muster seal show` says how it stands."}
}
