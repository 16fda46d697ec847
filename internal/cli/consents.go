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

// consentNoun has the commands about answers. muster consent DIGEST is muster consent give DIGEST.
type consentNoun struct {
	List consentsCommand `cmd:"" help:"Show what waits for an answer on any device, or with --given the answers."`
	Give consentCommand  `cmd:"" default:"withargs" help:"Answer what waits, on all devices that have the same change."`
}

type consentsCommand struct {
	connection
	output
	watching
	Given bool `env:"-" help:"Show the newest answers and what became of them."`
}

// Run prints what waits for an answer with the command that gives it, or the answers that were given.
func (c *consentsCommand) Run(ctx context.Context, env *environment) error {
	server, err := c.client()
	if err != nil {
		return err
	}
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
	p := &painter{w: env.Out, colour: coloured("auto", env.Out), label: labels(ctx, server)}
	if len(groups) == 0 {
		p.line(plain, "Nothing waits for an answer. `muster consents --given` shows the answers that were given.")
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
		names[i] = nameOf(api.DeviceEffect{DeviceID: d.DeviceID, Label: d.Label})
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

func (c *consentsCommand) given(ctx context.Context, env *environment, server *client.Client) error {
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
			return []string{g.At.String(), g.By, g.Answer, nameOf(api.DeviceEffect{DeviceID: g.DeviceID, Label: g.Label}), g.Key,
				g.State, rollout}
		}}, given)
}

// consentCommand's answer is given on the command line only: one in the environment would be one to everything.
type consentCommand struct {
	connection
	output
	Digest   string   `arg:"" help:"Of what waits, or its first characters; muster consents shows it." placeholder:"DIGEST"`
	Keep     bool     `env:"-" help:"Keep what is there instead."`
	Rollout  int64    `env:"-" help:"Answer for the members of this rollout, also for those that get the change later." placeholder:"ID"`
	Template int64    `env:"-" help:"Answer only where this template asks for the change." placeholder:"ID"`
	Device   []string `env:"-" sep:"none" help:"Answer only for this device: label, ID or first letters of the ID; may be repeated." placeholder:"DEVICE"`
}

// Run gives the answer and prints what was recorded.
func (c *consentCommand) Run(ctx context.Context, env *environment) error {
	server, err := c.client()
	if err != nil {
		return err
	}
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
	p := &painter{w: env.Out, label: labels(ctx, server)}
	p.line(plain, fmt.Sprintf("Recorded for %s: %s %s.",
		counted(len(answered.Devices), "device"), answered.Answer, p.named(answered.Key)))
	p.line(plain, printable(withCommands(answered.Next)))
	return p.err
}

// whole is the digest that begins with what was given.
func (c *consentCommand) whole(ctx context.Context, server *client.Client) (string, error) {
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
			Hint:    "`muster consents` shows what waits, and the commands that answer it."}
	}
	return "", &fleet.Error{Code: fleet.CodeConflict, Message: counted(len(found), "digest") + " begin with " + c.Digest,
		Hint: "Give more characters: " + strings.Join(found, ", ") + "."}
}
