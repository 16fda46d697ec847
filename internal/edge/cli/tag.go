package cli

import (
	"context"
	"fmt"
	"time"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
)

type tagCommand struct {
	List      watchedList[string] `cmd:"" help:"List all tags."`
	Delete    tagDeleteCommand    `cmd:"" help:"Take a tag off all devices and templates; first the plan is shown."`
	Restart   tagRestartCommand   `cmd:"" help:"Restart the daemons with a tag, one after the other, ending at the first that does not come back."`
	Rescan    tagRescanCommand    `cmd:"" help:"Have the daemons with a tag compare their folders with the disk."`
	Pause     tagOrder            `cmd:"" help:"Pause the connections of the daemons with a tag."`
	Resume    tagOrder            `cmd:"" help:"Resume the connections of the daemons with a tag. muster resume --tag ends a stop."`
	Upgrade   tagUpgradeCommand   `cmd:"" help:"Upgrade the daemons with a tag, one after the other, ending at the first that does not come back."`
	Vars      tagVarsCommand      `cmd:"" help:"Show the vars that templates read of the devices with a tag, or change some; first the plan is shown."`
	Quiet     tagQuietCommand     `cmd:"" help:"Show how long the devices with a tag may be away before that is trouble, or set it."`
	Protect   tagProtection       `cmd:"" help:"From now on only an admin puts the tag on a device or takes it off."`
	Unprotect tagProtection       `cmd:"" help:"Let operators put the tag on devices and take it off again."`
}

// namedTag is the tag that a command is about.
type namedTag struct {
	connection
	Tag string `arg:"" help:"The tag; nothing needs to carry it yet."`
}

var tagNoun = noun[string]{
	all: (*client.Client).Tags,
	columns: columns[string]{titles: []string{"TAG"}, name: func(tag string) string { return tag },
		row: func(tag string) []string { return []string{tag} }},
}

// tagVerbs are the commands that are described by data alone.
var tagVerbs = tagCommand{
	List:      watchedListOf(tagNoun),
	Restart:   tagRestartCommand{tagOrder: tagOrder{spec: client.OrderSpec{Type: client.OrderRestart}}},
	Rescan:    tagRescanCommand{tagOrder: tagOrder{spec: client.OrderSpec{Type: client.OrderRescan}}},
	Pause:     tagOrder{spec: client.OrderSpec{Type: client.OrderPause}},
	Resume:    tagOrder{spec: client.OrderSpec{Type: client.OrderResume}},
	Upgrade:   tagUpgradeCommand{tagOrder: tagOrder{spec: client.OrderSpec{Type: client.OrderUpgrade}}},
	Protect:   tagProtection{protected: true, done: "only an admin puts it on a device or takes it off now"},
	Unprotect: tagProtection{protected: false, done: "operators put it on devices and take it off"},
}

type tagQuietCommand struct {
	namedTag
	output
	messaging
	After *span `arg:"" optional:"" help:"As 48h or 2d; 0: as usual."`
}

// Run shows how long, and changes it where that is asked for.
func (c *tagQuietCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	quiet, err := server.TagQuiet(ctx, c.Tag)
	if c.After != nil {
		quiet, err = server.PutTagQuiet(ctx, c.Tag, time.Duration(*c.After))
	}
	if err != nil {
		return err
	}
	text := "as long as is usual"
	if quiet > 0 {
		text = quiet.String()
	}
	return c.output.done(env, c.Tag, quietTag{c.Tag, int64(quiet / time.Second)},
		fmt.Sprintf("Devices with the tag %q may be away for %s before that is trouble.", c.Tag, text))
}

// quietTag is what programs read of how long devices with a tag may be away.
type quietTag struct {
	Tag        string `json:"tag"`
	QuietAfter int64  `json:"quietAfter"` // seconds; 0: as usual
}

// tagProtection changes who may put a tag on a device.
type tagProtection struct {
	namedTag
	output
	messaging
	protected bool
	done      string
}

// Run changes it.
func (c *tagProtection) Run(ctx context.Context, env *environment, server *client.Client) error {
	if err := server.ProtectTag(ctx, c.Tag, c.protected); err != nil {
		return err
	}
	return c.output.done(env, c.Tag, protection{c.Tag, c.protected}, fmt.Sprintf("%q: %s.", c.Tag, c.done))
}

// protection is what programs read of who may put a tag on a device.
type protection struct {
	Tag       string `json:"tag"`
	Protected bool   `json:"protected"`
}

type tagDeleteCommand struct {
	connection
	changing
	Tag string `arg:"" help:"The tag."`
}

// Run takes a tag off everything, in one generation.
func (c *tagDeleteCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	devices, err := server.TagDevices(ctx, c.Tag, client.List{Mask: true})
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
	question := fmt.Sprintf("Take the tag %q off %s and %s?", printable(c.Tag), counted(len(devices), "device"),
		counted(len(templates), "template"))
	return c.make(ctx, env, server, api.WhatIf{Tags: &change}, question)
}
