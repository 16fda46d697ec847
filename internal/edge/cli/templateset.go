package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"muster/client"
	"muster/internal/core/fleetfiles"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

type templateSetCommand struct {
	connection
	changing
	Key      string   `arg:"" help:"Dotted key into the configuration, as options.maxSendKbps."`
	Value    string   `arg:"" help:"The value, as 2000, true or a text. What is JSON is that."`
	Tag      []string `env:"-" sep:"none" required:"" help:"All devices with this tag; may be repeated: with one of them." placeholder:"TAG"`
	Label    string   `env:"-" help:"Label of the template; without it, one made from the key and the tags. A template that has it is changed." placeholder:"TEXT"`
	Priority int64    `env:"-" help:"Priority of a new template: of two templates, the higher one has the last word." default:"0" placeholder:"N"`
}

// Help says what is written.
func (templateSetCommand) Help() string {
	return `It writes an ordinary template with the op set, shows the plan, and saves it after an answer. The same command with
another value changes the template. ` + "`muster template delete LABEL`" + ` brings the earlier values back.`
}

// Run writes a template that sets one value on all devices with a tag.
func (c *templateSetCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	key, err := stconfig.ParseKey(c.Key)
	if err != nil {
		return err
	}
	if key.IsRoot() {
		return &fleet.Error{Code: fleet.CodeInvalid, Message: "the key is blank: it would be the whole configuration",
			Hint: "Name one value, as options.maxSendKbps."}
	}
	text, err := varValue(c.Value)
	if err != nil {
		return err
	}
	file := fleetfiles.Template{Label: cmp.Or(c.Label, key.String()+" on "+strings.Join(c.Tag, ", ")),
		Priority: c.Priority, Op: string(fleet.OpSet), Key: key.String(), Tags: c.Tag, Text: string(text)}
	put := templatePutCommand{connection: c.connection, changing: c.changing}
	current, err := put.current(ctx, server, file.Label)
	if err != nil {
		return err
	}
	if current == nil {
		return c.make(ctx, env, server, creating(file), fmt.Sprintf("Set %s to %s by the new template %q?", file.Key,
			printable(file.Text), printable(file.Label)))
	}
	if current.Key != file.Key || current.Op != file.Op {
		return &fleet.Error{Code: fleet.CodeConflict,
			Message: fmt.Sprintf("template %d, %q, is about something else: %s at %s", current.ID, current.Label, current.Op,
				orWhole(current.Key)),
			Hint: "Give another --label."}
	}
	file.Priority = current.Priority
	change, err := replacing(ctx, server, *current, file)
	if err != nil {
		return err
	}
	return c.make(ctx, env, server, change, fmt.Sprintf("Change template %d, %q, to %s?", current.ID,
		printable(current.Label), printable(file.Text)))
}
