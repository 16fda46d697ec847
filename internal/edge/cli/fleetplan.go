package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"muster/api"
	"muster/client"
	"muster/internal/core/fleetfiles"
	"muster/internal/fleet"
)

// fleetFlags are the flags for a directory with the fleet as files.
type fleetFlags struct {
	Source string `env:"-" help:"Where the files of a directory come from; without it, what their fleet.hjson says." placeholder:"NAME"`
	Prune  bool   `env:"-" help:"Delete templates of the source that have no file in the directory."`

	PruneMany bool `env:"-" help:"With --prune: delete them although they are more than a tenth of the source's templates."`
}

// isDir reports whether a path is a directory.
func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// errDiffers ends a plan in which something differs.
const errDiffers = exitCode(exitDiffers)

// planDir reads the files and has the server plan them.
func planDir(ctx context.Context, env *environment, server *client.Client, dir string,
	flags fleetFlags, allow allowing) (*fleetDir, api.PlanFleet, api.FleetPlan, error) {
	bar := env.terminalProgress()
	defer bar.end()
	bar.at(0, planSteps, "Reading "+printable(dir))
	d, err := readFleetDir(dir)
	if err != nil {
		return nil, api.PlanFleet{}, api.FleetPlan{}, err
	}
	bar.at(1, planSteps, "Planning "+counted(len(d.templates), "template"))
	body := d.body(flags.Source, flags.Prune)
	body.PruneMany, body.AllowFailing = flags.PruneMany, allow.AllowFailing
	planned, err := server.PlanFleet(ctx, body)
	return d, body, planned, d.inFiles(err)
}

// lines are those of the files of the directory's templates.
func (d *fleetDir) lines() templateLines {
	return linesOf(slices.Collect(maps.Values(d.templates))...)
}

const planSteps = 2

// inFiles turns an error about fields of the request into one about lines of the files.
func (d *fleetDir) inFiles(err error) error {
	var answer *client.Error
	if !errors.As(err, &answer) || fleet.CodeOf(err) != fleet.CodeInvalid || len(answer.Problem.Errors) == 0 {
		return err
	}
	var faults []fleet.Detail
	for _, detail := range answer.Problem.Errors {
		if detail.Field == "" {
			return err
		}
		path, line := d.fileOfField(strings.TrimPrefix(detail.Field, "body."), detail.Line)
		fault := fleetfiles.Fault(path, line, "%s", d.lines().inText(detail.Message))
		if strings.HasSuffix(detail.Field, ".template") {
			fault.Column = detail.Column
		}
		faults = append(faults, fault)
	}
	return &fleet.Error{Code: fleet.CodeInvalid,
		Message: "the server does not take the files: " + d.lines().inText(answer.Problem.Detail),
		Details: faults, Hint: answer.Problem.Hint}
}

// shownPlan is how a plan of files is shown.
type shownPlan struct {
	output string // text, json or markdown
	colour string
	all    bool
	lines  templateLines
}

func (how shownPlan) print(ctx context.Context, env *environment, server *client.Client, p api.FleetPlan) error {
	if how.output == "json" {
		return printValue(env, output{"json"}, p)
	}
	how.lines.inPlan(&p.WhatIfPlan)
	if how.output == "markdown" {
		return printMarkdown(env, p, labels(ctx, server))
	}
	paint := newPainter(ctx, server, env.Out, how.colour)
	paint.all = how.all
	switch {
	case !p.Differs && len(p.Leftovers) == 0:
		paint.line(bold, "The fleet is as the files say.")
	case p.Differs:
		paint.fleetChanges(p.Changes)
		paint.line(plain, "")
		if err := printWhatIf(paint, p.WhatIfPlan); err != nil {
			return err
		}
	}
	paint.unfiled(p)
	for _, text := range p.Asks {
		paint.line(yellow, "Asks: "+paint.named(text)+".")
	}
	for _, b := range p.Broken {
		paint.line(red, "Broken: "+printable(how.lines.inText(brokenText(b))))
	}
	paint.line(faint, "Plan "+p.Digest)
	for _, text := range p.Warnings {
		fmt.Fprintf(env.Err, "Warning: %s\n", printable(text))
	}
	return paint.err
}

var signs = map[string]string{"create": "+", "change": "~", "delete": "-"}

func (p *painter) fleetChanges(changes []api.FleetChange) {
	styles := map[string]string{"create": green, "change": yellow, "delete": red}
	for _, c := range changes {
		name := strings.TrimSuffix(c.Kind+" "+printable(c.Name), " ")
		p.line(styles[c.What], signs[c.What]+" "+p.named(name+": "+c.Text))
	}
}

// unfiled shows the templates that no file has.
func (p *painter) unfiled(plan api.FleetPlan) {
	for _, t := range plan.Leftovers {
		p.line(red, "- template "+unfiledText(t)+": no file of the source has it; to be deleted, with --prune")
	}
	for _, t := range plan.WithoutSource {
		p.line(faint, "  template "+unfiledText(t)+": of no source and in no file; files leave it as it is")
	}
	if plan.PrunesMany {
		p.line(yellow, "Asks: more than a tenth of the source's templates would be deleted. Is the directory complete?")
	}
}

func unfiledText(t api.UnfiledTemplate) string {
	key := t.Key
	if key == "" {
		key = "the whole configuration"
	}
	return printable(fmt.Sprintf("%s (%s at %s)", t.Name, t.Op, key))
}

func brokenText(b api.BrokenAssertion) string {
	of := b.Label
	if of == "" {
		of = b.DeviceID
	}
	parts := []string{b.Name, of, b.Key}
	if b.Source != "" {
		parts = slices.Insert(parts, 0, fmt.Sprintf("source %q", b.Source))
	}
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	return fmt.Sprintf("%s: expected %s, got %s", strings.Join(parts, ": "), b.Expected, b.Got)
}

// How much of a plan is written for a merge request.
const (
	markdownDevices = 50
	markdownChanges = 200
)

// printMarkdown writes a plan for a merge request.
func printMarkdown(env *environment, p api.FleetPlan, label func(fleet.DeviceID) string) error {
	var b strings.Builder
	b.WriteString("## Muster plan\n\n")
	if !p.Differs && len(p.Leftovers) == 0 {
		b.WriteString("The fleet is as the files say.\n")
	}
	for _, t := range p.Leftovers {
		fmt.Fprintf(&b, "- **To be deleted, with `--prune`:** template %s\n", cell(unfiledText(t)))
	}
	if p.PrunesMany {
		b.WriteString("- **Asks:** more than a tenth of the source's templates would be deleted\n")
	}
	for _, broken := range p.Broken {
		fmt.Fprintf(&b, "- **Broken:** %s\n", cell(brokenText(broken)))
	}
	for _, text := range p.Asks {
		fmt.Fprintf(&b, "- **Asks:** %s\n", cell(text))
	}
	if len(p.Changes) > 0 {
		b.WriteString("\n| | What | Change |\n|---|---|---|\n")
		for _, c := range p.Changes {
			fmt.Fprintf(&b, "| %s | %s %s | %s |\n", signs[c.What], c.Kind, cell(c.Name), cell(c.Text))
		}
	}
	if p.Differs {
		t := p.Touched
		fmt.Fprintf(&b, "\n%s, %s, %s. Held: %d, refused: %d, no plan: %d, never read: %d.\n",
			counted(t.Devices, "device"),
			counted(t.Folders, "folder"), counted(t.Keys, "key"), t.Held, t.Refused, t.Failed, t.Unread)
	}
	if len(p.Waves) > 0 {
		fmt.Fprintf(&b, "%s\n", wavesText(p.Waves))
	}
	markdownSentences(&b, p.Summary)
	named := func(text string) string { return fleet.WithNames(text, label) }
	groups := groupsOf(p.Devices)
	for _, g := range groups[:min(len(groups), markdownDevices)] {
		markdownGroup(&b, g, named)
	}
	if more := len(groups) - markdownDevices; more > 0 || p.Truncated {
		b.WriteString("\nThere is more; `muster plan -f DIR` shows all.\n")
	}
	for _, text := range p.Warnings {
		fmt.Fprintf(&b, "\n> Warning: %s\n", cell(text))
	}
	fmt.Fprintf(&b, "\nApply it with `muster apply -f DIR --plan %s`.\n", p.Digest)
	_, err := fmt.Fprint(env.Out, b.String())
	return err
}

func markdownSentences(b *strings.Builder, s api.Summary) {
	for i, one := range s.Sentences {
		if i == 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(b, "- %s", cell(one.Text))
		if one.Devices > 1 {
			fmt.Fprintf(b, " (%s)", cell(labelsText(one.Labels, one.Devices)))
		}
		b.WriteString("\n")
	}
	if s.MoreChanges > 0 {
		fmt.Fprintf(b, "- and %s\n", moreChangesText(s))
	}
	if s.MoreWithoutPlan > 0 {
		fmt.Fprintf(b, "- and %s\n", moreWithoutPlanText(s))
	}
	if s.Removal != "" {
		fmt.Fprintf(b, "\n%s\n", s.Removal)
	}
}

func markdownGroup(b *strings.Builder, g *group, named func(string) string) {
	names := strings.Join(g.names[:min(len(g.names), namedDevices)], ", ")
	if more := len(g.names) - namedDevices; more > 0 {
		names += " and " + fleet.NumberText(more) + " more"
	}
	fmt.Fprintf(b, "\n<details><summary>%s</summary>\n\n", cell(names))
	switch {
	case g.Unread:
		b.WriteString("Its configuration was never read.\n")
	case g.Error != "":
		fmt.Fprintf(b, "No plan: %s\n", cell(named(g.Error)))
	default:
		b.WriteString("| Key | From | To | Class | Reason |\n|---|---|---|---|---|\n")
		for _, c := range g.Changes[:min(len(g.Changes), markdownChanges)] {
			fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", cell(named(c.Key)), code(c.From), code(c.To), c.Class,
				cell(named(c.Reason)))
		}
		for _, c := range g.Dropped {
			fmt.Fprintf(b, "| %s | | | no longer planned | |\n", cell(named(c.Key)))
		}
	}
	b.WriteString("\n</details>\n")
}

// cell escapes a text for a table of Markdown.
func cell(text string) string {
	return strings.NewReplacer("\\", "\\\\", "|", "\\|", "<", "&lt;", ">", "&gt;", "`", "\\`", "*", "\\*", "_", "\\_",
		"[", "\\[", "\ufffd", "?").Replace(printable(text))
}

// code is a value as code in a table of Markdown.
func code(value json.RawMessage) string {
	text := compact(value)
	if text == "" || text == "null" {
		return ""
	}
	if runes := []rune(text); len(runes) > longestValue {
		text = string(runes[:longestValue-1]) + "…"
	}
	return "`` " + strings.NewReplacer("|", "\\|", "`", "'").Replace(text) + " ``"
}

// runDir plans a directory. The exit code tells whether something differs.
func (c *planCommand) runDir(ctx context.Context, env *environment) error {
	server, err := c.client()
	if err != nil {
		return err
	}
	d, _, planned, err := planDir(ctx, env, server, c.File, c.fleetFlags, c.allowing)
	if err != nil {
		return err
	}
	how := shownPlan{c.Output, c.Colour, c.All, d.lines()}
	if c.JSON {
		how.output = "json"
	}
	if err := how.print(ctx, env, server, planned); err != nil {
		return err
	}
	switch {
	case len(planned.Broken) > 0:
		return &fleet.Error{Code: fleet.CodeConflict, Message: "assertions would be broken",
			Hint: "Mend the templates, or the assertions in " + testsDir + "/."}
	case planned.Differs || len(planned.Leftovers) > 0:
		return errDiffers
	}
	return nil
}

func countDeleted(p api.FleetPlan) (n int) {
	for _, c := range p.Changes {
		if c.Kind == "template" && c.What == "delete" {
			n++
		}
	}
	return n
}

// runDir applies a directory.
func (c *applyCommand) runDir(ctx context.Context, env *environment) error {
	server, err := c.client()
	if err != nil {
		return err
	}
	d, body, planned, err := planDir(ctx, env, server, c.File, c.fleetFlags, c.allowing)
	if err != nil {
		return err
	}
	how := shownPlan{"text", "auto", c.All, d.lines()}
	switch {
	case c.Plan != "" && !beginsDigest(planned.Digest, c.Plan):
		if err := how.print(ctx, env, server, planned); err != nil {
			return err
		}
		return &fleet.Error{Code: fleet.CodePrecondition,
			Message: "the plan is another by now: files, templates, tags or settings were changed since: nothing was " +
				"changed",
			Hint: fmt.Sprintf("Look at the plan above, and apply it: muster apply -f %s --plan %s", quoted(c.File),
				planned.Digest)}
	case c.Plan == "":
		if err := how.print(ctx, env, server, planned); err != nil {
			return err
		}
	}
	if !planned.Differs && len(planned.Broken) == 0 {
		if c.Plan != "" && len(planned.Leftovers) == 0 {
			fmt.Fprintln(env.Out, "The fleet is as the files say.")
		}
		return nil
	}
	if planned.PrunesMany && !c.PruneMany {
		question := fmt.Sprintf("Delete %s of the source %q, more than a tenth of them?",
			counted(countDeleted(planned), "template"), body.Source)
		if err := ask(env, question, "--prune-many"); err != nil {
			return err
		}
		body.PruneMany = true
	}
	if !c.Yes && c.Plan == "" && len(planned.Broken) == 0 {
		question := fmt.Sprintf("Make %s, for %s?", counted(len(planned.Changes), "change"),
			counted(planned.Touched.Devices, "device"))
		if err := confirm(env, question); err != nil {
			return err
		}
	}
	if env.message == "" {
		server.Message(commitSubject(ctx, c.File))
	}
	bar := env.terminalProgress()
	bar.at(0, 1, "Making "+counted(len(planned.Changes), "change"))
	done, err := server.ApplyFleet(ctx, api.ApplyFleet{PlanFleet: body, Digest: &planned.Digest})
	bar.end()
	switch {
	case fleet.CodeOf(err) == fleet.CodePrecondition:
		return &fleet.Error{Code: fleet.CodePrecondition,
			Message: "something was changed after this plan was made: nothing was changed",
			Hint:    "Type the command again, and answer the plan as it is then."}
	case err != nil:
		return d.inFiles(err)
	}
	for _, text := range planned.Asks {
		fmt.Fprintf(env.Out, "Asks: %s. `muster waiting` shows it.\n", printable(text))
	}
	if !c.Wait {
		_, err = fmt.Fprintln(env.Out, doneIn(ctx, server, done.Generation))
		return err
	}
	if _, err = fmt.Fprintf(env.Out, "Done, in generation %d.\n", done.Generation); err != nil {
		return err
	}
	var devices []string
	for _, device := range planned.Devices {
		devices = append(devices, device.DeviceID)
	}
	return waitApplied(ctx, env, server, done.Generation, devices)
}

const (
	leastDigest = 6  // characters of a digest that name a plan
	wholeDigest = 64 // characters of a digest: a SHA-256 in hexadecimal
)

// beginsDigest reports whether a person means a digest by its beginning.
func beginsDigest(digest, begins string) bool {
	return len(begins) >= leastDigest && strings.HasPrefix(digest, begins)
}
