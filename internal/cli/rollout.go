package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
)

type rolloutCommand struct {
	List    rolloutListCommand    `cmd:"" help:"List rollouts, newest first."`
	Show    rolloutShowCommand    `cmd:"" help:"Show how a rollout stands, and who of its devices is not through."`
	Pause   rolloutPauseCommand   `cmd:"" help:"Admit no further wave until it is resumed."`
	Resume  rolloutResumeCommand  `cmd:"" help:"Go on with a paused rollout, or with a halted one in spite of what halted it."`
	Halt    rolloutHaltCommand    `cmd:"" help:"Halt a rollout; what was admitted stays so."`
	Undo    rolloutUndoCommand    `cmd:"" help:"Make templates and tags what they were before, and take the change back where it was sent."`
	Consent rolloutConsentCommand `cmd:"" help:"Answer what waits for consent, for all devices of the rollout that have the same."`
}

type rolloutListCommand struct{ connection }

// Run prints one line for each rollout.
func (c *rolloutListCommand) Run(ctx context.Context, env *environment) error {
	server, err := c.client()
	if err != nil {
		return err
	}
	rollouts, err := server.Rollouts(ctx, client.List{})
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(env.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tSTATUS\tWAVE\tCREATED\tCAUSE")
	for _, r := range rollouts {
		fmt.Fprintf(table, "%d\t%s\t%s\t%v\t%s\n", r.ID, r.Status, waveOf(r), r.CreatedAt, printable(r.Cause))
	}
	return table.Flush()
}

func waveOf(r api.Rollout) string {
	if len(r.Waves) == 0 {
		return "-"
	}
	return fmt.Sprintf("%d/%d", r.Wave, len(r.Waves))
}

// rolloutOf is the rollout that a command is about.
type rolloutOf struct {
	connection
	ID int64 `arg:"" help:"Number of the rollout; muster rollout list shows them."`
}

type rolloutShowCommand struct {
	rolloutOf
	All bool `help:"List all devices, also those that are through or not admitted yet."`
}

// Run prints the rollout and its devices.
func (c *rolloutShowCommand) Run(ctx context.Context, env *environment) error {
	server, err := c.client()
	if err != nil {
		return err
	}
	shown, err := server.Rollout(ctx, c.ID)
	if err != nil {
		return err
	}
	return printRollout(env.Out, shown, c.All)
}

// Each of these does one thing to a rollout and prints how it stands then.
type (
	rolloutPauseCommand  struct{ rolloutOf }
	rolloutResumeCommand struct{ rolloutOf }
	rolloutHaltCommand   struct{ rolloutOf }
	rolloutUndoCommand   struct{ rolloutOf }
)

// Run pauses it.
func (c *rolloutPauseCommand) Run(ctx context.Context, env *environment) error {
	return c.steer(ctx, env, (*client.Client).PauseRollout)
}

// Run resumes it.
func (c *rolloutResumeCommand) Run(ctx context.Context, env *environment) error {
	return c.steer(ctx, env, (*client.Client).ResumeRollout)
}

// Run halts it.
func (c *rolloutHaltCommand) Run(ctx context.Context, env *environment) error {
	return c.steer(ctx, env, (*client.Client).HaltRollout)
}

// Run undoes it.
func (c *rolloutUndoCommand) Run(ctx context.Context, env *environment) error {
	return c.steer(ctx, env, (*client.Client).UndoRollout)
}

func (c *rolloutOf) steer(ctx context.Context, env *environment, do func(*client.Client, context.Context, int64) (api.RolloutDetail, error)) error {
	server, err := c.client()
	if err != nil {
		return err
	}
	now, err := do(server, ctx, c.ID)
	if err != nil {
		return err
	}
	return printRollout(env.Out, now, false)
}

type rolloutConsentCommand struct {
	rolloutOf
	Digest  string   `env:"-" help:"Of the plan that you looked at; without it, what waits is shown with the command that answers it." placeholder:"DIGEST"`
	Consent []string `env:"-" name:"consent" sep:"none" help:"Key of a held change that may be made; may be repeated." placeholder:"KEY"`
	Keep    []string `env:"-" sep:"none" help:"Key that is to stay as the daemons have it although no template asks for that any more; may be repeated." placeholder:"KEY"`
}

// Run answers what waits, or shows it.
func (c *rolloutConsentCommand) Run(ctx context.Context, env *environment) error {
	answers := len(c.Consent) + len(c.Keep)
	if (c.Digest == "") != (answers == 0) {
		return &fleet.Error{Code: fleet.CodeInvalid, Message: "an answer needs the digest of the plan that you looked at, and keys",
			Hint: fmt.Sprintf("`muster rollout consent %d` shows what waits, and the command that answers it.", c.ID)}
	}
	server, err := c.client()
	if err != nil {
		return err
	}
	if answers == 0 {
		return c.show(ctx, env.Out, server)
	}
	answered, err := server.ConsentRollout(ctx, c.ID, api.ApplyPlan{Digest: &c.Digest, Consent: c.Consent, Keep: c.Keep})
	if err != nil {
		return err
	}
	fmt.Fprintf(env.Out, "Answered for %s; those of later waves follow.\n", counted(len(answered.Devices), "device"))
	return printRollout(env.Out, answered.Rollout, false)
}

// show prints what waits on one of the devices, and how to answer it for all that have the same.
func (c *rolloutConsentCommand) show(ctx context.Context, out io.Writer, server *client.Client) error {
	rollout, err := server.Rollout(ctx, c.ID)
	if err != nil {
		return err
	}
	for _, m := range rollout.Members {
		if m.State != string(fleet.MemberHeld) {
			continue
		}
		made, err := server.DevicePlan(ctx, m.DeviceID)
		if err != nil {
			return err
		}
		p := &painter{w: out, label: labels(ctx, server)}
		p.line(plain, "On "+nameOf(api.DeviceEffect{DeviceID: m.DeviceID, Label: m.Label})+" there waits:")
		command := fmt.Sprintf("muster rollout consent %d --digest %s", c.ID, made.Digest)
		waits := false
		for _, change := range made.Changes {
			if change.Class != "held" {
				continue
			}
			waits = true
			p.change(change)
			command += " --consent " + quoted(change.Key)
		}
		if !waits {
			p.line(plain, "  "+printable(m.Reason))
			return p.err
		}
		p.line(plain, "To let that go out, on every device that has the same:")
		p.line(plain, "  "+command)
		return p.err
	}
	_, err = fmt.Fprintln(out, "None of its devices waits for consent now.")
	return err
}

// quoted is a key as a shell takes it.
func quoted(key string) string {
	return "'" + strings.ReplaceAll(printable(key), "'", `'\''`) + "'"
}

// standing says how a rollout stands and why; a reason that begins with the status is not said twice.
func standing(r api.Rollout) string {
	reason := printable(r.Reason)
	if !strings.HasPrefix(reason, r.Status+" ") && !strings.HasPrefix(reason, r.Status+": ") {
		reason = r.Status + ": " + reason
	}
	return fmt.Sprintf("Rollout %d is %s", r.ID, reason)
}

// printRollout writes a rollout for a person: of its devices those that matter now, unless all are wanted.
func printRollout(out io.Writer, r api.RolloutDetail, all bool) error {
	fmt.Fprintln(out, standing(r.Rollout))
	if r.Next != "" {
		fmt.Fprintln(out, printable(r.Next))
	}
	fmt.Fprintf(out, "Cause: %s (generation %d). Wave: %s.\n", printable(r.Cause), r.Generation, waveOf(r.Rollout))
	if r.Blast != "" {
		fmt.Fprintf(out, "All of it waits for consent: %s.\n", printable(r.Blast))
	}
	counts := map[string]int{}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, m := range r.Members {
		counts[m.State]++
		quiet := m.State == string(fleet.MemberGood) || m.State == string(fleet.MemberLater)
		if all || !quiet {
			fmt.Fprintf(table, "  %s\t%s\twave %d\t%s\n", nameOf(api.DeviceEffect{DeviceID: m.DeviceID, Label: m.Label}), m.State, m.Wave, printable(m.Reason))
		}
	}
	var states []string
	for _, state := range []fleet.MemberState{fleet.MemberGood, fleet.MemberAdmitted, fleet.MemberHeld, fleet.MemberFailed, fleet.MemberLater, fleet.MemberAbsent} {
		if n := counts[string(state)]; n > 0 {
			states = append(states, fmt.Sprintf("%d %s", n, state))
		}
	}
	fmt.Fprintf(out, "%s: %s\n", counted(len(r.Members), "device"), strings.Join(states, ", "))
	return table.Flush()
}
