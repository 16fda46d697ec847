package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
)

type rolloutCommand struct {
	List    watchedList[api.Rollout] `cmd:"" help:"List rollouts, newest first."`
	Show    rolloutShowCommand       `cmd:"" help:"Show how a rollout stands, and who of its devices is not through."`
	Watch   rolloutWatchCommand      `cmd:"" help:"Follow a rollout until it has ended or was halted."`
	Pause   rolloutVerb              `cmd:"" help:"Admit no further wave until it is resumed."`
	Resume  rolloutVerb              `cmd:"" help:"Go on with a paused rollout, or in spite of what halted it."`
	Halt    rolloutVerb              `cmd:"" help:"Halt a rollout; what was admitted stays so."`
	Undo    rolloutUndoCommand       `cmd:"" help:"Take the change back, in templates and tags and where it was sent."`
	Approve rolloutVerb              `cmd:"" help:"Let a rollout over many devices begin."`
	Waves   rolloutWavesCommand      `cmd:"" help:"Make the waves anew that are not admitted yet."`
}

var rolloutNoun = noun[api.Rollout]{
	all: (*client.Client).Rollouts,
	columns: columns[api.Rollout]{
		titles: []string{"ID", "STATUS", "WAVE", "CREATED", "CAUSE"},
		name:   func(r api.Rollout) string { return strconv.FormatInt(r.ID, 10) },
		row: func(r api.Rollout) []string {
			return []string{strconv.FormatInt(r.ID, 10), r.Status, waveOf(r), r.CreatedAt.String(), r.Cause}
		}},
	about: func(r api.Rollout) string { return r.Status + ", " + r.Cause },
}

// rolloutVerbs are the commands that are described by data alone.
var rolloutVerbs = rolloutCommand{
	List:    watchedListOf(rolloutNoun),
	Pause:   rolloutVerb{request: (*client.Client).PauseRollout},
	Resume:  rolloutVerb{request: (*client.Client).ResumeRollout},
	Halt:    rolloutVerb{request: (*client.Client).HaltRollout},
	Approve: rolloutVerb{request: (*client.Client).ApproveRollout},
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
	output
	ID rolloutNumber `arg:"" help:"Number of the rollout; muster rollout list shows them."`
}

// rolloutNumber is the number of a rollout on the command line.
type rolloutNumber int64

// UnmarshalText reads the number.
func (n *rolloutNumber) UnmarshalText(text []byte) error {
	number, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		return fmt.Errorf("%q is no number of a rollout; `muster rollout list` shows them", text)
	}
	*n = rolloutNumber(number)
	return nil
}

type rolloutShowCommand struct {
	rolloutOf
	watching
	paging
	All bool `env:"-" help:"List all devices, also those that are through or not admitted yet."`
}

// Run prints the rollout and its devices.
func (c *rolloutShowCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	shown, err := server.Rollout(ctx, int64(c.ID))
	if err != nil {
		return err
	}
	if err := c.show(env, shown, c.All); err != nil || !c.forPeople() || c.watches() ||
		fleet.RolloutStatus(shown.Status).Over() {
		return err
	}
	return printRest(ctx, env, server, int64(c.ID))
}

// printRest prints what the devices of a rollout still get, in the server's sentences.
func printRest(ctx context.Context, env *environment, server *client.Client, id int64) error {
	rest, err := server.RolloutRest(ctx, id)
	if err != nil {
		fmt.Fprintf(env.Out, "What its devices still get is not known: %s.\n", printable(fleet.Reason(err)))
		return nil //nolint:nilerr // The rollout itself was shown.
	}
	if len(rest.Summary.Sentences) == 0 {
		return nil
	}
	fmt.Fprintln(env.Out, "Still to come:")
	newPainter(ctx, server, env.Out, "auto").sentences(rest.Summary, "`muster status DEVICE` shows those of one device.")
	if rest.Left > 0 {
		fmt.Fprintf(env.Out, "%s more are not planned here.\n", counted(rest.Left, "device"))
	}
	return nil
}

// rolloutVerb is a command that sends one request about a rollout, and prints the rollout as it is then.
type rolloutVerb struct {
	rolloutOf
	messaging
	request func(*client.Client, context.Context, int64) (api.RolloutDetail, error)
}

// Run sends the request.
func (c *rolloutVerb) Run(ctx context.Context, env *environment, server *client.Client) error {
	return c.steer(ctx, env, server, c.request)
}

type rolloutUndoCommand struct {
	rolloutOf
	asking
}

// Run shows what the undo changes and removes, asks, and undoes it.
func (c *rolloutUndoCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	now, err := server.Rollout(ctx, int64(c.ID))
	if err != nil {
		return err
	}
	planned, err := server.PlanUndo(ctx, int64(c.ID))
	if err != nil {
		return err
	}
	out := env.Out
	if !c.forPeople() {
		out = env.Err
	}
	p := newPainter(ctx, server, out, "auto")
	p.all, p.allNames = true, true
	if err := printWhatIf(p, planned); err != nil {
		return err
	}
	if answers := len(client.AnsweredByUndo(planned)); answers > 0 {
		p.line(plain, "The undo also consents to "+counted(answers, "held change")+" in this list that no template asks "+
			"for any more. Every other held change waits for an answer of its own.")
	}
	if err := c.consented(env, undoing(now)); err != nil {
		return err
	}
	undone, err := server.UndoRollout(ctx, int64(c.ID), &planned)
	if err != nil {
		return ofOldPlan(err)
	}
	if !c.forPeople() {
		return c.print(env, undone, strconv.FormatInt(undone.ID, 10))
	}
	return printUndone(env.Out, undone)
}

// printUndone writes a rollout that was undone, what failed besides, and what still waits for an answer.
func printUndone(out io.Writer, undone api.UndoneRollout) error {
	if err := printRollout(out, undone.RolloutDetail, false); err != nil {
		return err
	}
	for _, problem := range undone.Problems {
		fmt.Fprintf(out, "The undo is done, but %s.\n", printable(problem))
	}
	if len(undone.Waiting) == 0 {
		return nil
	}
	fmt.Fprintln(
		out,
		"Not answered, because it came or changed after the list was shown, only an admin may answer it, or "+
			"another rollout holds the device; `muster consent list` shows what waits:",
	)
	table := newTable(out)
	for _, held := range undone.Waiting {
		fmt.Fprintf(table, "  %s\t%s\n", nameOf(held.DeviceID, held.Label), printable(held.Key))
	}
	return table.Flush()
}

// undoing is the question before an undo. It names what the undo touches.
func undoing(r api.RolloutDetail) string {
	admitted := 0
	for _, m := range r.Members {
		if m.State != string(fleet.MemberLater) && m.State != string(fleet.MemberAbsent) {
			admitted++
		}
	}
	gives := "It takes"
	if what := undone(r); what != "" {
		gives = fmt.Sprintf("It gives back %s, and takes", what)
	}
	return fmt.Sprintf("Undo rollout %d (%s)? %s what it brought off %s.", r.ID, printable(r.Cause), gives,
		counted(admitted, "device"))
}

// undone says how many templates, taggings and vars an undo gives back.
func undone(r api.RolloutDetail) string {
	var what []string
	for _, of := range []struct {
		count int
		noun  string
	}{{len(r.Templates), "template"}, {len(r.Tags), "tagging"}, {len(r.Vars), "var"}} {
		if of.count > 0 {
			what = append(what, counted(of.count, of.noun))
		}
	}
	if len(what) < 3 {
		return strings.Join(what, " and ")
	}
	return strings.Join(what[:2], ", ") + " and " + what[2]
}

func (c *rolloutOf) steer(ctx context.Context, env *environment, server *client.Client,
	do func(*client.Client, context.Context, int64) (api.RolloutDetail, error)) error {
	now, err := do(server, ctx, int64(c.ID))
	if err != nil {
		return err
	}
	return c.show(env, now, false)
}

// show prints a rollout.
func (c *rolloutOf) show(env *environment, now api.RolloutDetail, all bool) error {
	if !c.forPeople() {
		return c.print(env, now, strconv.FormatInt(now.ID, 10))
	}
	return printRollout(env.Out, now, all)
}

type rolloutWavesCommand struct {
	rolloutOf
	messaging
	Waves string `arg:"" help:"Like 1,10%,rest: numbers of devices, shares of all members, and the rest at the end."`
}

// Run sets the waves.
func (c *rolloutWavesCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	waves := strings.Split(c.Waves, ",")
	return c.steer(
		ctx,
		env,
		server,
		func(server *client.Client, ctx context.Context, id int64) (api.RolloutDetail, error) {
			return server.PutRolloutWaves(ctx, id, waves)
		},
	)
}

// quoted quotes a text for a shell.
func quoted(key string) string {
	return "'" + strings.ReplaceAll(printable(key), "'", `'\''`) + "'"
}

// statusLine is the status of a rollout with its reason. A reason that begins with the status is not repeated.
func statusLine(r api.Rollout) string {
	reason := printable(r.Reason)
	if !strings.HasPrefix(reason, r.Status+" ") && !strings.HasPrefix(reason, r.Status+": ") {
		reason = r.Status + ": " + reason
	}
	return fmt.Sprintf("Rollout %d is %s", r.ID, reason)
}

// printRollout writes a rollout for a person. Unless all is set, it leaves out devices that are good or not admitted
// yet.
func printRollout(out io.Writer, r api.RolloutDetail, all bool) error {
	fmt.Fprintln(out, statusLine(r.Rollout))
	if r.Next != "" {
		fmt.Fprintln(out, printable(r.Next))
	}
	fmt.Fprintf(out, "Cause: %s (generation %d). Wave: %s.\n", printable(r.Cause), r.Generation, waveOf(r.Rollout))
	if a := r.Approval; a != nil && a.By != "" {
		fmt.Fprintf(out, "Approved by %s.\n", printable(a.By))
	}
	if r.Undoes != 0 {
		fmt.Fprintf(out, "It takes back rollout %d.\n", r.Undoes)
	}
	printDifference(out, r)
	counts := map[string]int{}
	table := newTable(out)
	for _, m := range r.Members {
		counts[m.State]++
		quiet := m.State == string(fleet.MemberGood) || m.State == string(fleet.MemberLater)
		if all || !quiet {
			fmt.Fprintf(table, "  %s\t%s\twave %d\t%s\n", nameOf(m.DeviceID, m.Label),
				m.State, m.Wave, printable(m.Reason))
		}
	}
	var states []string
	for _, state := range []fleet.MemberState{fleet.MemberGood, fleet.MemberAdmitted, fleet.MemberHeld,
		fleet.MemberFailed, fleet.MemberLater, fleet.MemberAbsent} {
		if n := counts[string(state)]; n > 0 {
			states = append(states, fmt.Sprintf("%d %s", n, state))
		}
	}
	fmt.Fprintf(out, "%s: %s\n", counted(len(r.Members), "device"), strings.Join(states, ", "))
	return table.Flush()
}

// printText writes a text of one line behind what was written, and each line of a longer one below.
func printText(out io.Writer, sign, text string) {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if len(lines) == 1 {
		fmt.Fprintln(out, " "+printable(lines[0]))
		return
	}
	fmt.Fprintln(out)
	for _, line := range lines {
		fmt.Fprintf(out, "  %s   %s\n", sign, printable(strings.TrimRight(line, "\r")))
	}
}

// printDifference writes what a rollout changes of templates, tags and vars.
func printDifference(out io.Writer, r api.RolloutDetail) {
	line := func(sign string, t *api.TemplateText) {
		if t != nil {
			fmt.Fprintf(out, "  %s %s %s, priority %d:", sign, t.Op, printable(cmp.Or(t.Key, "(everything)")), t.Priority)
			printText(out, sign, t.Template)
		}
	}
	for _, t := range r.Templates {
		fmt.Fprintf(out, "Template %d %s\n", t.ID, printable(t.Label))
		if t.Before != nil && t.After != nil && *t.Before == *t.After {
			line(" ", t.After)
			continue
		}
		line("-", t.Before)
		line("+", t.After)
	}
	for _, t := range r.Tags {
		sign, of := "-", fmt.Sprintf("template %d", t.Template)
		if t.Carried {
			sign = "+"
		}
		if t.DeviceID != "" {
			of = "device " + t.DeviceID
		}
		fmt.Fprintf(out, "  %s tag %s of %s\n", sign, printable(t.Tag), of)
	}
	for _, v := range r.Vars {
		of := "tag " + v.Tag
		if v.DeviceID != "" {
			of = "device " + v.DeviceID
		}
		for _, side := range []struct {
			sign  string
			value []byte
		}{{"-", v.Before}, {"+", v.After}} {
			if side.value != nil {
				fmt.Fprintf(out, "  %s var %s = %s of %s\n", side.sign, v.Name, printable(string(side.value)), printable(of))
			}
		}
	}
}
