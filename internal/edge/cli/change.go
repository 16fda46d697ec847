package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
)

// allowing is the flag that stores what would make devices fail.
type allowing struct {
	AllowFailing bool `group:"Flags of every change:" env:"-" help:"Accept the change even where no plan could be made any more for a device that has one now, and with values of a wrong type or units that daemons read as bytes."`
}

// changing is how a command changes templates and tags: it shows the plan, asks, and makes the change only while
// templates and tags are those of the plan.
type changing struct {
	output
	messaging
	Yes bool `group:"Flags of every change:" short:"y" env:"-" help:"Do not ask."`
	allowing
	DryRun bool   `group:"Flags of every change:" name:"dry-run" env:"-" help:"Show the plan, and change nothing."`
	All    bool   `group:"Flags of every change:" short:"v" env:"-" help:"Show the keys and values of a large plan too, and in new folders and devices the fields with the daemon's default value."`
	Colour string `group:"Flags of every change:" help:"auto, always or never; auto: on a terminal. With NO_COLOR set there is never any." default:"auto" enum:"auto,always,never"`
}

// make shows the plan of a change, asks, and applies it. It adds the number of changed devices to the question.
func (c changing) make(ctx context.Context, env *environment, server *client.Client, change api.WhatIf,
	question string) error {
	change.AllowFailing = c.AllowFailing
	planned, err := server.WhatIf(ctx, change)
	if err == nil {
		err = c.makePlanned(ctx, env, server, change, planned, question)
	}
	if c.forPeople() {
		err = namingTemplates(err, change)
	}
	return err
}

// makeFrom is make for a change that a template's file asks for. What is printed has the lines of the file.
func (c changing) makeFrom(ctx context.Context, env *environment, server *client.Client, change api.WhatIf,
	question string, file templateFile) error {
	change.AllowFailing = c.AllowFailing
	planned, err := server.WhatIf(ctx, change)
	if err != nil {
		return file.inFile(err)
	}
	if c.forPeople() {
		linesOf(file).inPlan(&planned)
	}
	return file.inFile(c.makePlanned(ctx, env, server, change, planned, question))
}

// makeSince is make for a change that was made from what was read. It refuses the change if the generation is not the
// one that was read first, because the change would put back what somebody else changed since.
func (c changing) makeSince(ctx context.Context, env *environment, server *client.Client, before int64,
	change api.WhatIf, question string) error {
	change.AllowFailing = c.AllowFailing
	planned, err := server.WhatIf(ctx, change)
	switch {
	case err != nil:
		return err
	case planned.Generation != before:
		return &fleet.Error{Code: fleet.CodePrecondition,
			Message: "templates, tags, vars or revocations were changed while the vars were read: nothing was changed",
			Hint:    "Type the command again."}
	}
	return c.makePlanned(ctx, env, server, change, planned, question)
}

// generationNow is the present generation. The plan of no change has it.
func generationNow(ctx context.Context, server *client.Client) (int64, error) {
	planned, err := server.WhatIf(ctx, api.WhatIf{})
	return planned.Generation, err
}

// makePlanned shows a plan, asks, and applies it.
func (c changing) makePlanned(ctx context.Context, env *environment, server *client.Client, change api.WhatIf,
	planned api.WhatIfPlan, question string) (err error) {
	p := newPainter(ctx, server, c.texts(env), c.Colour)
	p.all = c.All
	if c.DryRun && !c.forPeople() {
		err = c.print(env, planned, namesIn(planned)...)
	} else {
		err = printWhatIf(p, planned)
	}
	if err != nil {
		return err
	}
	for _, text := range planned.Warnings {
		fmt.Fprintf(env.Err, "Warning: %s\n", printable(text))
	}
	for _, b := range planned.Broken {
		p.line(red, "Broken: "+printable(brokenText(b)))
	}
	if err := warnOfTags(ctx, env, server, change); err != nil {
		return err
	}
	if c.DryRun {
		return c.wouldBeRefused(change, planned)
	}
	if len(planned.Broken) > 0 {
		return &fleet.Error{Code: fleet.CodeConflict,
			Message: "the change would break what is asserted: nothing was changed",
			Hint: "Change something else, or change the assertions in the files of their source and apply them with " +
				"`muster apply -f DIR`. An admin gives them up with `muster source forget SOURCE`."}
	}
	if !c.Yes {
		if planned.Touched.Devices > 0 {
			question += " It changes " + counted(planned.Touched.Devices, "device") + "."
		}
		if err := confirm(env, question); err != nil {
			return err
		}
	}
	change.AllowFailing = c.AllowFailing
	done, err := server.ApplyChanges(ctx, api.ApplyChanges{WhatIf: change, Generation: &planned.Generation})
	switch {
	case err != nil:
		return ofOldPlan(err)
	case done.Generation == planned.Generation:
		return c.done(env, strconv.FormatInt(done.Generation, 10), done, "It is so already: nothing was changed.")
	}
	return c.done(env, strconv.FormatInt(done.Generation, 10), done,
		doneIn(ctx, server, done.Generation))
}

// wouldBeRefused ends a command that only shows a plan with the exit code for a change that the server would refuse. A
// revocation is made although no plan can be made for a device.
func (c changing) wouldBeRefused(change api.WhatIf, planned api.WhatIfPlan) error {
	fails := func(d api.DeviceEffect) bool { return d.Error != "" && !d.FailsNow }
	onlyRevokes := change.Templates == nil && change.Tags == nil && change.Vars == nil
	if len(planned.Broken) > 0 || !c.AllowFailing && !onlyRevokes && slices.ContainsFunc(planned.Devices, fails) {
		return exitCode(exitRefused)
	}
	return nil
}

// namesIn are the devices that a plan changes.
func namesIn(planned api.WhatIfPlan) (names []string) {
	for _, device := range planned.Devices {
		names = append(names, cmp.Or(device.Label, device.DeviceID))
	}
	return names
}

// ofOldPlan says what to do where a change was refused because its plan is no longer the one that a person saw.
func ofOldPlan(err error) error {
	if fleet.CodeOf(err) != fleet.CodePrecondition {
		return err
	}
	return &fleet.Error{Code: fleet.CodePrecondition,
		Message: "templates, tags, vars or revocations were changed after this plan was made: nothing was changed",
		Hint:    "Type the command again, and answer the plan as it is then."}
}
