package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
)

// shortDigest is how many characters of a digest are shown. More are asked for where two digests begin so.
const shortDigest = 12

// consentCommand has the commands about answers. muster consent DIGEST is muster consent give DIGEST.
type consentCommand struct {
	List consentListCommand `cmd:"" help:"Show what waits for an answer on any device, or with --given the answers."`
	Give consentGiveCommand `cmd:"" default:"withargs" help:"Answer what waits, on all devices that have the same change."`
}

var heldNoun = noun[api.HeldGroup]{
	all: unfiltered((*client.Client).Consents),
	columns: columns[api.HeldGroup]{
		name: func(g api.HeldGroup) string { return g.Digest[:min(shortDigest, len(g.Digest))] },
	},
	about: func(g api.HeldGroup) string { return g.Key },
}

type consentListCommand struct {
	connection
	output
	watching
	Given bool `env:"-" help:"Show the newest answers and what became of them."`
}

// Run prints what waits for an answer with the command that gives it, or the answers that were given.
func (c *consentListCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	if c.Given {
		return c.given(ctx, env, server)
	}
	groups, err := server.Consents(ctx)
	if err != nil {
		return err
	}
	if !c.forPeople() {
		digest := func(g api.HeldGroup) string { return g.Digest }
		return printList(env, c.output, columns[api.HeldGroup]{name: digest}, groups)
	}
	p := newPainter(ctx, server, env.Out, "auto")
	if len(groups) == 0 {
		p.line(plain, "Nothing waits for an answer. `muster consent list --given` shows the answers that were given.")
	}
	for i, g := range groups {
		if i > 0 {
			p.line(plain, "")
		}
		p.question(g)
	}
	return p.err
}

// question prints equal held changes, and the commands that answer them.
func (p *painter) question(g api.HeldGroup) {
	names := make([]string, len(g.Devices))
	for i, d := range g.Devices {
		names[i] = nameOf(d.DeviceID, d.Label)
	}
	where := "On " + counted(len(names), "device")
	if len(names) > namedDevices {
		names = append(names[:namedDevices:namedDevices], fmt.Sprintf("%d more", len(names)-namedDevices))
	}
	where += " (" + strings.Join(names, ", ") + ")"
	if g.Rollout != 0 {
		where += fmt.Sprintf(" of rollout %d", g.Rollout)
	}
	p.line(bold, where+":")
	p.change(api.PlannedChange{Key: g.Key, From: g.From, To: g.To, Templates: g.Templates, Class: "held",
		Reason: g.Reason})
	command := "muster consent " + g.Digest[:min(shortDigest, len(g.Digest))]
	if g.Rollout != 0 {
		command += fmt.Sprintf(" --rollout %d", g.Rollout)
	}
	if slices.Contains(g.Answers, string(fleet.AnswerConsent)) {
		p.line(plain, fmt.Sprintf("  To let it go out (role %s): %s", g.Role, command))
	}
	if slices.Contains(g.Answers, string(fleet.AnswerKeep)) {
		p.line(plain, fmt.Sprintf("  To keep what is there: %s --keep", command))
	}
	if len(g.Answers) == 0 {
		p.line(plain, "  No answer lets it go out: change the template.")
	}
}

func (c *consentListCommand) given(ctx context.Context, env *environment, server *client.Client) error {
	given, err := server.GivenConsents(ctx)
	if err != nil {
		return err
	}
	return printList(env, c.output, columns[api.GivenConsent]{
		titles: []string{"GIVEN", "BY", "ANSWER", "DEVICE", "KEY", "STATE", "ROLLOUT"},
		name:   func(g api.GivenConsent) string { return g.Key },
		row: func(g api.GivenConsent) []string {
			rollout := "-"
			if g.Rollout != 0 {
				rollout = fmt.Sprint(g.Rollout)
			}
			return []string{g.At.String(), g.By, g.Answer, nameOf(g.DeviceID, g.Label), g.Key,
				g.State, rollout}
		}}, given)
}

// consentGiveCommand takes its answer from the command line only: one in the environment would hold for everything.
type consentGiveCommand struct {
	connection
	output
	Digest   string   `arg:"" help:"Digest of the held change, or its first characters, as muster consent list shows it." placeholder:"DIGEST"`
	Keep     bool     `env:"-" help:"Keep what is there instead."`
	Rollout  int64    `env:"-" help:"Answer for the members of this rollout, also for those that get the change later." placeholder:"ID"`
	Template int64    `env:"-" help:"Answer only where this template asks for the change." placeholder:"ID"`
	Device   []string `env:"-" sep:"none" help:"Answer only for this device: label, ID or first letters of the ID; may be repeated." placeholder:"DEVICE"`
}

// Run gives the answer and prints what was recorded.
func (c *consentGiveCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	digest, err := c.whole(ctx, server)
	if err != nil {
		return err
	}
	answer := string(fleet.AnswerConsent)
	if c.Keep {
		answer = string(fleet.AnswerKeep)
	}
	body := api.AnswerConsents{Digest: &digest, Answer: &answer, Rollout: c.Rollout, Template: c.Template}
	for _, name := range c.Device {
		device, err := deviceNamed(ctx, server, name)
		if err != nil {
			return err
		}
		body.Devices = append(body.Devices, device.DeviceID)
	}
	answered, err := server.AnswerConsents(ctx, body)
	if err != nil {
		return err
	}
	if !c.forPeople() {
		return c.print(env, answered, answered.Key)
	}
	p := newPainter(ctx, server, env.Out, "never")
	p.line(plain, fmt.Sprintf("Recorded for %s: %s %s.",
		counted(len(answered.Devices), "device"), answered.Answer, p.named(answered.Key)))
	p.line(plain, printable(withCommands(answered.Next)))
	return p.err
}

// whole is the digest that begins with what was given.
func (c *consentGiveCommand) whole(ctx context.Context, server *client.Client) (string, error) {
	groups, err := server.Consents(ctx)
	if err != nil {
		return "", err
	}
	var found []string
	for _, g := range groups {
		if strings.HasPrefix(g.Digest, cmp.Or(c.Digest, "-")) && !slices.Contains(found, g.Digest) {
			found = append(found, g.Digest)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return "", &fleet.Error{Code: fleet.CodeConflict,
			Message: "nothing that waits now has a digest that begins with " + c.Digest,
			Hint:    "`muster consent list` shows what waits, and the commands that answer it."}
	}
	return "", &fleet.Error{Code: fleet.CodeConflict, Message: counted(len(found), "digest") + " begin with " + c.Digest,
		Hint: "Give more characters: " + strings.Join(found, ", ") + "."}
}
