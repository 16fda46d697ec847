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
	paging
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
	p.all = true
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
	p.held(g)
	command := "muster consent " + g.Digest[:min(shortDigest, len(g.Digest))]
	if slices.Contains(g.Answers, string(fleet.AnswerConsent)) {
		p.line(plain, fmt.Sprintf("  To let it go out (role %s): %s", g.Role, command))
	}
	if slices.Contains(g.Answers, string(fleet.AnswerKeep)) {
		p.line(plain, fmt.Sprintf("  To keep what is there: %s --keep", command))
	}
	for _, choice := range g.Choices {
		p.line(plain, fmt.Sprintf("  To choose %q (role %s; %s): %s --value %s", choice.Name, g.Role, choice.Does, command,
			quoted(choice.Name)))
	}
	if len(g.Answers) == 0 {
		p.line(plain, "  No answer lets it go out: change the template.")
	} else if g.Rollout != 0 {
		p.line(
			plain,
			fmt.Sprintf("  With --rollout %d the answer is also for all other members of the rollout, which are not "+
				"shown.", g.Rollout),
		)
	}
}

// held prints all changes of a group, with all devices that it changes and everything that the changes name.
func (p *painter) held(g api.HeldGroup) {
	where := "On " + counted(g.DeviceCount, "device")
	if g.Rollout != 0 {
		where += fmt.Sprintf(" of rollout %d", g.Rollout)
	}
	p.line(bold, where+":")
	p.sentences(g.Summary, "they are below.")
	p.heldChanges(g.Changes, g.Templates)
}

// heldChanges prints held changes, equal ones once with all their devices.
func (p *painter) heldChanges(changes []api.HeldChange, templates []int64) {
	for _, same := range sameChanges(changes) {
		names := make([]string, len(same))
		for i, c := range same {
			names[i] = nameOf(c.DeviceID, c.Label)
		}
		c := same[0]
		p.line(plain, "  "+strings.Join(names, ", "))
		p.change(api.PlannedChange{Key: c.Key, From: c.From, To: c.To, Templates: templates, Class: "held",
			Reason: c.Reason})
		if text := namesText(c.Names); text != "" {
			p.line(faint, "      names "+text)
		}
		if c.Digest == "" {
			p.line(yellow, "      Answer it with `muster apply DEVICE`, which shows it.")
		}
	}
}

// sameChanges groups changes with the same key, values and reason. The groups are ordered by their first change.
func sameChanges(changes []api.HeldChange) (all [][]api.HeldChange) {
	at := map[string]int{}
	for _, c := range changes {
		id := strings.Join([]string{c.Key, string(c.From), string(c.To), c.Reason}, "\x00")
		i, known := at[id]
		if !known {
			i = len(all)
			at[id], all = i, append(all, nil)
		}
		all[i] = append(all[i], c)
	}
	return all
}

// namesText says which devices, folders and paths a change names.
func namesText(n api.ChangeNames) string {
	var parts []string
	for _, d := range n.Devices {
		parts = append(parts, nameOf(d.DeviceID, d.Label))
	}
	for _, folder := range n.Folders {
		parts = append(parts, "folder "+printable(folder))
	}
	for _, path := range n.Paths {
		parts = append(parts, printable(path))
	}
	return strings.Join(parts, ", ")
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
			return []string{g.At.String(), g.By, answerWords(g.Answer, g.Value), nameOf(g.DeviceID, g.Label), g.Key,
				g.State, rollout}
		}}, given)
}

// consentGiveCommand takes its answer from the command line only: one in the environment would hold for everything.
type consentGiveCommand struct {
	connection
	output
	asking
	Digest  string   `arg:"" help:"Digest of the held change, or its first characters, as muster consent list shows it." placeholder:"DIGEST"`
	Keep    bool     `env:"-" xor:"answer" help:"Keep what is there instead."`
	Value   string   `env:"-" xor:"answer" help:"Name of the value that is to be there instead, one of those that muster consent list offers." placeholder:"NAME"`
	Rollout int64    `env:"-" help:"Answer also for equal changes of all other members of this rollout, which are not shown." placeholder:"ID"`
	Device  []string `env:"-" sep:"none" help:"Answer only for this device: label, ID or first letters of the ID; may be repeated." placeholder:"DEVICE"`
	picking
}

// Run shows what the answer is for, asks, gives the answer and prints what was recorded.
func (c *consentGiveCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	groups, err := c.meant(ctx, server)
	if err != nil {
		return err
	}
	out := env.Out
	if !c.forPeople() {
		out = env.Err
	}
	p := newPainter(ctx, server, out, "auto")
	p.all = true
	answer := string(fleet.AnswerConsent)
	switch {
	case c.Keep:
		answer = string(fleet.AnswerKeep)
	case c.Value != "":
		answer = "value"
	}
	body := api.AnswerConsents{Digest: &groups[0].Digest, Answer: &answer, Value: c.Value, Rollout: c.Rollout,
		WholeRollout: c.Rollout != 0}
	for _, g := range groups {
		p.held(g)
		for _, change := range g.Changes {
			if change.Digest != "" {
				body.Shown = append(body.Shown, api.ShownChange{DeviceID: change.DeviceID, Digest: change.Digest})
			}
		}
	}
	if len(body.Shown) == 0 {
		return &fleet.Error{Code: fleet.CodeConflict, Message: "these changes are too large to be answered together",
			Hint: "`muster apply DEVICE` shows the plan of one device, with the command that answers."}
	}
	if err := c.consented(env, c.question(len(body.Shown))); err != nil {
		return err
	}
	answered, err := server.AnswerConsents(ctx, body)
	if err != nil {
		return err
	}
	if !c.forPeople() {
		return c.print(env, answered, answered.Key)
	}
	p.answered(answered)
	return p.err
}

// question asks whether the answer is meant.
func (c *consentGiveCommand) question(shown int) string {
	what := "Let " + counted(shown, "change") + " go out"
	switch {
	case c.Keep:
		what = "Keep what is there instead of " + counted(shown, "change")
	case c.Value != "":
		what = fmt.Sprintf("Choose %q in the place of %s", c.Value, counted(shown, "change"))
	}
	if c.Rollout != 0 {
		what += fmt.Sprintf(", and equal ones on all other members of rollout %d, which are not shown", c.Rollout)
	}
	return what + "?"
}

// answerWords are an answer and, where it chooses a value, the name of that value.
func answerWords(answer, value string) string {
	if value == "" {
		return answer
	}
	return fmt.Sprintf("%s %q", answer, value)
}

// answered prints what was recorded, and what waits on.
func (p *painter) answered(a api.AnsweredConsents) {
	p.line(plain, fmt.Sprintf("Recorded for %s: %s %s.", counted(len(a.Devices), "device"),
		answerWords(a.Answer, a.Value), p.named(a.Key)))
	if len(a.Waiting) > 0 {
		names := make([]string, len(a.Waiting))
		for i, w := range a.Waiting {
			names[i] = nameOf(w.DeviceID, w.Label) + " " + p.named(w.Key)
		}
		p.line(yellow, "Still waiting: "+strings.Join(names, ", ")+".")
	}
	p.line(plain, printable(a.Next))
}

// meant are the groups with the given digest, with the changes that the answer is for. There is at least one.
func (c *consentGiveCommand) meant(ctx context.Context, server *client.Client) ([]api.HeldGroup, error) {
	devices, err := c.devices(ctx, server)
	if err != nil {
		return nil, err
	}
	all, err := server.Consents(ctx)
	if err != nil {
		return nil, err
	}
	digest, err := c.whole(all)
	if err != nil {
		return nil, err
	}
	var groups []api.HeldGroup
	for _, g := range all {
		if g.Digest != digest || c.Rollout != 0 && g.Rollout != c.Rollout {
			continue
		}
		if len(devices) > 0 {
			g.Changes = slices.DeleteFunc(g.Changes,
				func(change api.HeldChange) bool { return !slices.Contains(devices, change.DeviceID) })
			g.DeviceCount = countDevices(g.Changes)
		}
		if len(g.Changes) > 0 {
			groups = append(groups, g)
		}
	}
	if len(groups) == 0 {
		message := "no held change has this digest"
		if len(devices) > 0 {
			message = "none of these devices has a held change with this digest"
		}
		return nil, &fleet.Error{Code: fleet.CodeConflict, Message: message,
			Hint: "`muster consent list` shows what waits, and the commands that answer it."}
	}
	return groups, nil
}

// devices are the IDs of the devices that the answer is for; none: it is for all.
func (c *consentGiveCommand) devices(ctx context.Context, server *client.Client) ([]string, error) {
	if c.Rollout != 0 && (len(c.Device) > 0 || c.isUsed()) {
		return nil, fleet.Invalidf("--device", "an answer for a whole rollout is not for some devices only")
	}
	if len(c.Device) == 0 && !c.isUsed() {
		return nil, nil
	}
	devices, err := selecting{Devices: c.Device, picking: c.picking}.selected(ctx, server)
	return idsOf(devices), err
}

// countDevices is how many devices have changes in a list that is sorted by device.
func countDevices(changes []api.HeldChange) int {
	return len(slices.CompactFunc(slices.Clone(changes),
		func(a, b api.HeldChange) bool { return a.DeviceID == b.DeviceID }))
}

// whole is the digest that begins with what was given.
func (c *consentGiveCommand) whole(groups []api.HeldGroup) (string, error) {
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
