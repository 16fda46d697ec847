package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
)

// applyCommand takes consents from the command line only: one in the environment would hold for every plan.
type applyCommand struct {
	connection
	fleetFlags
	allowing
	messaging
	Device  string   `arg:"" optional:"" help:"Label or ID of a device, or the first letters of its ID."`
	Digest  string   `env:"-" help:"Digest of the plan to apply. Without it, the plan is shown, with the command that applies it." placeholder:"DIGEST"`
	Consent []string `env:"-" sep:"none" help:"Key of a held change that may be made this once; may be repeated." placeholder:"KEY"`
	Remove  []string `env:"-" sep:"none" help:"Key of a folder or device that may go; may be repeated." placeholder:"KEY"`
	All     bool     `short:"v" env:"-" help:"Show the keys and values of a large plan too, and in new folders and devices the fields with the daemon's default value."`
	File    string   `short:"f" env:"-" help:"Directory with the fleet as files: first the plan is shown, then the fleet becomes so, in one generation and one rollout." placeholder:"DIR"`
	Plan    string   `env:"-" help:"Digest of the plan of the directory that you looked at: that one is applied without a question, and no other." placeholder:"DIGEST"`
	Yes     bool     `short:"y" env:"-" help:"Apply a directory without a question."`
	Wait    bool     `env:"-" help:"Wait until Muster has written everything that needs no consent, or until the rollout is over. The exit code is 3 if something waits for a person or a device, or if the rollout did not succeed."`
	Keep    []string `env:"-" sep:"none" help:"Key that is to stay as the daemon has it although no template asks for that any more; may be repeated." placeholder:"KEY"`
	Value   []string `env:"-" sep:"none" help:"Key of a held change, and the name of the value that is to be there instead, one of those that the plan offers; may be repeated." placeholder:"KEY=NAME"`
}

// Run applies the plan that a person was shown, or shows it.
func (c *applyCommand) Run(ctx context.Context, env *environment) error {
	switch {
	case (c.Device == "") == (c.File == ""):
		return &fleet.Error{Code: fleet.CodeInvalid, Message: "what is to be applied?",
			Hint: "Name a device, for its plan, or give --file DIR, for the fleet as files."}
	case c.File != "" && !isDir(c.File):
		return &fleet.Error{Code: fleet.CodeInvalid, Message: c.File + " is no directory",
			Hint: "`muster export DIR` writes one; `muster template put FILE` saves a single template."}
	case c.File != "":
		return c.runDir(ctx, env)
	}
	server, err := c.client()
	if err != nil {
		return err
	}
	device, err := deviceNamed(ctx, server, c.Device)
	if err != nil {
		return err
	}
	if c.Digest == "" {
		state, err := server.DeviceState(ctx, device.DeviceID)
		if err != nil {
			return err
		}
		if len(c.Consent)+len(c.Remove)+len(c.Keep)+len(c.Value) > 0 {
			return &fleet.Error{Code: fleet.CodeInvalid, Message: "an answer needs the digest of the plan that you looked at",
				Hint: fmt.Sprintf("`muster apply %s` shows the plan, and the command that applies it.", quoted(c.Device))}
		}
		return showPlan(ctx, server, device, state, planView{out: env.Out, all: c.All})
	}
	values, err := chosenValues(c.Value)
	if err != nil {
		return err
	}
	digest := c.Digest
	if len(digest) < wholeDigest {
		// An error is one of the plan that is to be applied, too: the server tells it then.
		if now, err := server.DevicePlan(ctx, device.DeviceID); err == nil && beginsDigest(now.Digest, digest) {
			digest = now.Digest
		}
	}
	bar := env.terminalProgress()
	bar.at(0, 1, "Sending the plan to "+named(device)+", and reading it back")
	made, err := server.ApplyPlan(ctx, device.DeviceID, api.ApplyPlan{Digest: &digest, Consent: c.Consent,
		Remove: c.Remove, Keep: c.Keep, Values: values})
	bar.end()
	switch {
	case fleet.CodeOf(err) == fleet.CodeConflict:
		return notApplied(err, c.Device)
	case err != nil:
		return err
	}
	p := newPainter(ctx, server, env.Out, "never")
	p.all = c.All
	err = printApplied(p, device, made)
	if err != nil || !c.Wait {
		return err
	}
	return waitApplied(ctx, env, server, 0, []string{device.DeviceID})
}

// chosenValues are the names of the values that a person chose, by key.
func chosenValues(given []string) (map[string]string, error) {
	values := map[string]string{}
	for _, one := range given {
		at := strings.LastIndex(one, "=")
		if at < 1 || at == len(one)-1 {
			return nil, fleet.Invalidf("--value", "%q is no KEY=NAME: like --value 'gui.password=no password'", one)
		}
		if name, twice := values[one[:at]]; twice && name != one[at+1:] {
			return nil, fleet.Invalidf("--value", "%s has two values: give one", one[:at])
		}
		values[one[:at]] = one[at+1:]
	}
	return values, nil
}

// notApplied says why a plan was not applied: it has changed, or the device cannot or may not be written to.
func notApplied(err error, device string) error {
	var e *fleet.Error
	if !errors.As(err, &e) {
		return err
	}
	return &fleet.Error{Code: e.Code, Message: e.Message + ": nothing was done",
		Hint: fmt.Sprintf("`muster status %s` shows why, and the plan as it is now.", quoted(device))}
}

// planView is where and how a plan is shown.
type planView struct {
	out io.Writer
	all bool // show the daemon's defaults, too
}

// showPlan prints the stops that concern a device, what would be changed on it, and the command that answers what
// waits for a person. What goes by itself needs no command.
func showPlan(ctx context.Context, server *client.Client, device api.Device, state api.DeviceState,
	view planView) error {
	out := view.out
	stops, err := stopsOfDevice(ctx, server, device.DeviceID)
	if err != nil {
		return err
	}
	printStops(out, "  ", stops)
	made, err := server.DevicePlan(ctx, device.DeviceID)
	switch {
	case fleet.CodeOf(err) == fleet.CodeNotFound: // the device was never read, and its state says why
		return nil
	case fleet.CodeOf(err) == fleet.CodeInvalid: // a template fails, and the state names it
		return noPlan(out, err)
	case err != nil:
		return err
	}
	p := newPainter(ctx, server, out, "never")
	p.all = view.all
	known := state.Connection == string(fleet.Online)
	switch {
	case len(made.Changes) == 0 && known:
		p.line(plain, "Nothing is to be changed.")
	case len(made.Changes) == 0:
		p.line(plain, "Nothing was to be changed when the daemon was last read. What it has now is not known.")
	case !known:
		p.line(plain, "By the configuration that was last read; what the daemon has now is not known:")
	}
	p.sentences(made.Summary, "they are below.")
	for _, change := range made.Changes {
		p.change(change)
	}
	subject, later := "It is", whenWritable(known, len(stops) > 0)
	if p.answers(device, made, later) {
		subject = "What is not held is"
	}
	if slices.ContainsFunc(made.Changes, func(c api.PlannedChange) bool { return c.Consented }) {
		p.line(plain, "What a person consented to is sent once Muster may write to the device.")
	}
	if slices.ContainsFunc(made.Changes, goesByItself) {
		p.line(plain, subject+" sent by itself"+cmp.Or(later, ": nothing has to be done for it")+".")
	}
	return p.err
}

// noPlan says that a template has to be corrected before there is a plan, and where its program failed.
func noPlan(out io.Writer, err error) error {
	fmt.Fprintln(out, "There is no plan until that is corrected.")
	var e *fleet.Error
	if !errors.As(err, &e) {
		return nil
	}
	for line := range strings.Lines(e.Traceback) {
		fmt.Fprintln(out, "  "+printable(strings.TrimRight(line, "\n")))
	}
	return nil
}

func goesByItself(change api.PlannedChange) bool {
	return change.Class == "free" || change.Class == "implied"
}

// whenWritable says when a daemon can be written to, "" when that is now.
func whenWritable(online, stopped bool) string {
	switch {
	case stopped:
		return " once the stops above have ended"
	case !online:
		return " as soon as the daemon can be reached"
	}
	return ""
}

// waitsForPerson reports whether a change is held and nobody consented to it yet.
func waitsForPerson(change api.PlannedChange) bool {
	return change.Class == "held" && !change.Consented
}

// answers prints the command that applies what is held, and tells whether anything is held. A daemon that can be
// written to only later is not written to by any command now.
func (p *painter) answers(device api.Device, made api.Plan, later string) (held bool) {
	short, _, _ := strings.Cut(device.DeviceID, "-")
	command, consents, kept, returns := "muster apply "+short+" --digest "+made.Digest, "", "", false
	var choices []string
	for _, change := range made.Changes {
		if !waitsForPerson(change) {
			continue
		}
		held, returns = true, returns || change.Returns
		if slices.Equal(change.Answers, []string{"keep"}) {
			kept += " --keep " + quoted(change.Key)
		} else {
			consents += " --consent " + quoted(change.Key)
		}
		for _, choice := range change.Choices {
			choices = append(choices, fmt.Sprintf("With --value %s %s.", quoted(change.Key+"="+choice.Name), choice.Does))
		}
	}
	switch {
	case !held:
		return false
	case later != "":
		p.line(plain, "What is held waits for a person, who can consent to it"+later+".")
		return true
	case consents != "":
		p.line(plain, "What is held waits for a person. To have all of it done:")
		p.line(plain, "  "+command+consents+kept)
	default:
		p.line(plain, "What is held waits for a person. To keep what is there:")
		p.line(plain, "  "+command+kept)
	}
	if returns && consents != "" {
		p.line(plain, "What no template asks for any more stays with --keep in the place of --consent.")
	}
	for _, text := range choices {
		p.line(plain, text)
	}
	return true
}

// printApplied says what was done and what was not.
func printApplied(p *painter, device api.Device, made api.AppliedPlan) error {
	done := slices.Clone(made.Applied)
	for i := range done {
		done[i].Choices = nil // They were offered before.
	}
	for _, part := range []struct {
		title   string
		changes []api.PlannedChange
	}{{"Done and read back:", done}, {"Not done:", made.Waiting}} {
		if len(part.changes) > 0 {
			p.line(plain, part.title)
		}
		for _, change := range part.changes {
			p.change(change)
		}
	}
	var state strings.Builder
	printState(&state, device, made.DeviceState, nil)
	p.line(plain, strings.TrimSuffix(state.String(), "\n"))
	return p.err
}
