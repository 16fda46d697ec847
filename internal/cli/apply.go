package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
)

// applyCommand's answers are given on the command line only: a consent in the environment would be one to every plan.
type applyCommand struct {
	connection
	Device  string   `arg:"" help:"Label or ID of a device, or the first letters of its ID."`
	Digest  string   `env:"-" help:"Of the plan that you looked at; without it, the plan is shown with the command that applies it." placeholder:"DIGEST"`
	Consent []string `env:"-" sep:"none" help:"Key of a held change that may be made this once; may be repeated." placeholder:"KEY"`
	Keep    []string `env:"-" sep:"none" help:"Key that is to stay as the daemon has it although no template asks for that any more; may be repeated." placeholder:"KEY"`
}

// Run applies the plan that somebody looked at, or shows it.
func (c *applyCommand) Run(ctx context.Context, env *environment) error {
	server, err := c.client()
	if err != nil {
		return err
	}
	device, err := deviceNamed(ctx, server, c.Device)
	if err != nil {
		return err
	}
	if c.Digest == "" {
		if len(c.Consent)+len(c.Keep) > 0 {
			return &fleet.Error{Code: fleet.CodeInvalid, Message: "an answer needs the digest of the plan that you looked at",
				Hint: fmt.Sprintf("`muster apply %s` shows the plan, and the command that applies it.", quoted(c.Device))}
		}
		return showPlan(ctx, env.Out, server, device)
	}
	made, err := server.ApplyPlan(ctx, device.DeviceID, api.ApplyPlan{Digest: &c.Digest, Consent: c.Consent, Keep: c.Keep})
	if err != nil {
		return err
	}
	return printApplied(env.Out, device, made)
}

// showPlan prints what would be changed on a device, and the command that does it.
func showPlan(ctx context.Context, out io.Writer, server *client.Client, device api.Device) error {
	made, err := server.DevicePlan(ctx, device.DeviceID)
	switch {
	case fleet.CodeOf(err) == fleet.CodeNotFound: // never read; the state says why
		return nil
	case err != nil:
		return err
	case len(made.Changes) == 0:
		_, err := fmt.Fprintln(out, "Nothing is to be changed.")
		return err
	}
	p := &painter{w: out}
	command := "muster apply " + device.DeviceID + " --digest " + made.Digest
	does, keeps := false, false
	for _, change := range made.Changes {
		p.change(change)
		keeps = keeps || change.Returns
		switch change.Class {
		case "held":
			command += " --consent " + quoted(change.Key)
			does = true
		case "free", "implied":
			does = true
		}
	}
	if does {
		p.line(plain, "To have it done, all of it:")
		p.line(plain, "  "+command)
	}
	if does && keeps {
		p.line(plain, "What no template asks for any more stays with --keep in the place of --consent.")
	}
	return p.err
}

// printApplied says what was done and what was not.
func printApplied(out io.Writer, device api.Device, made api.AppliedPlan) error {
	p := &painter{w: out}
	for _, part := range []struct {
		title   string
		changes []api.PlannedChange
	}{{"Done and read back:", made.Applied}, {"Not done:", made.Waiting}} {
		if len(part.changes) > 0 {
			p.line(plain, part.title)
		}
		for _, change := range part.changes {
			p.change(change)
		}
	}
	var state strings.Builder
	printState(&state, device, made.DeviceState)
	p.line(plain, strings.TrimSuffix(state.String(), "\n"))
	return p.err
}
