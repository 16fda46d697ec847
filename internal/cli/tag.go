package cli

import (
	"context"
	"fmt"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
)

type tagCommand struct {
	List      tagListCommand      `cmd:"" help:"List all tags."`
	Delete    tagDeleteCommand    `cmd:"" help:"Take a tag off all devices and templates; first the plan is shown."`
	Restart   tagRestartCommand   `cmd:"" help:"Restart the daemons with a tag, one after the other, ending at the first that does not come back."`
	Rescan    tagRescanCommand    `cmd:"" help:"Have the daemons with a tag compare their folders with the disk."`
	Pause     tagPauseCommand     `cmd:"" help:"Pause the connections of the daemons with a tag."`
	Resume    tagResumeCommand    `cmd:"" help:"Resume the connections of the daemons with a tag. muster resume --tag ends a stop."`
	Upgrade   tagUpgradeCommand   `cmd:"" help:"Upgrade the daemons with a tag, one after the other, ending at the first that does not come back."`
	Vars      tagVarsCommand      `cmd:"" help:"Show the vars that templates read of the devices with a tag, or change some; first the plan is shown."`
	Protect   tagProtectCommand   `cmd:"" help:"From now on only an admin puts the tag on a device or takes it off."`
	Unprotect tagUnprotectCommand `cmd:"" help:"Let operators put the tag on devices and take it off again."`
}

// namedTag is the tag that a command is about.
type namedTag struct {
	connection
	Tag string `arg:"" help:"The tag; nothing needs to carry it yet."`
}

// protecting changes who may put a tag on a device.
type protecting struct {
	namedTag
	output
}

func (c *protecting) protect(ctx context.Context, env *environment, protected bool, done string) error {
	server, err := c.client()
	if err != nil {
		return err
	}
	if err := server.ProtectTag(ctx, c.Tag, protected); err != nil {
		return err
	}
	return c.done(env, c.Tag, protection{c.Tag, protected}, fmt.Sprintf("%q: %s.", c.Tag, done))
}

// protection is who may put a tag on a device.
type protection struct {
	Tag       string `json:"tag"`
	Protected bool   `json:"protected"`
}

type tagProtectCommand struct{ protecting }

func (c *tagProtectCommand) Run(ctx context.Context, env *environment) error {
	return c.protect(ctx, env, true, "only an admin puts it on a device or takes it off now")
}

type tagUnprotectCommand struct{ protecting }

func (c *tagUnprotectCommand) Run(ctx context.Context, env *environment) error {
	return c.protect(ctx, env, false, "operators put it on devices and take it off")
}

type tagListCommand struct {
	connection
	output
	watching
}

// Run lists tags.
func (c *tagListCommand) Run(ctx context.Context, env *environment) error {
	server, err := c.client()
	if err != nil {
		return err
	}
	all, err := server.Tags(ctx, client.List{})
	if err != nil {
		return err
	}
	same := func(tag string) string { return tag }
	return printList(env, c.output, columns[string]{titles: []string{"TAG"}, name: same,
		row: func(tag string) []string { return []string{tag} }}, all)
}

type tagDeleteCommand struct {
	connection
	changing
	Tag string `arg:"" help:"The tag."`
}

// Run takes a tag off everything, in one generation.
func (c *tagDeleteCommand) Run(ctx context.Context, env *environment) error {
	server, err := c.client()
	if err != nil {
		return err
	}
	devices, err := server.TagDevices(ctx, c.Tag, client.List{})
	if err != nil {
		return err
	}
	templates, err := server.TagTemplates(ctx, c.Tag, client.List{})
	if err != nil {
		return err
	}
	if len(devices)+len(templates) == 0 {
		return &fleet.Error{Code: fleet.CodeNotFound, Message: fmt.Sprintf("nothing carries the tag %q", c.Tag),
			Hint: "`muster tag list` lists all."}
	}
	var change api.WhatIfTags
	for _, device := range devices {
		change.Removed = append(change.Removed, api.WhatIfTag{Tag: &c.Tag, Device: &device.DeviceID})
	}
	for _, template := range templates {
		change.Removed = append(change.Removed, api.WhatIfTag{Tag: &c.Tag, Template: &template.ID})
	}
	question := fmt.Sprintf("Take the tag %q off %d devices and %d templates?", printable(c.Tag), len(devices),
		len(templates))
	return c.make(ctx, env, server, api.WhatIf{Tags: &change}, question)
}
