package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/hjson/hjson-go/v4"

	"muster/api"
	"muster/client"
	"muster/internal/core/fleetfiles"
	"muster/internal/fleet"
)

// maxPlanFile is what the server takes as a body, in bytes.
const maxPlanFile = 4 << 20

type planCommand struct {
	connection
	fleetFlags
	allowing
	paging
	File   string `short:"f" help:"Directory with the fleet as files; or a JSON or HJSON file with what might change: templates {new, changed, deleted} and tags {added, removed}; - is standard input." required:"" placeholder:"FILE"`
	Output string `short:"o" env:"-" help:"For a directory: text, json, or markdown for a merge request." default:"text" enum:"text,json,markdown"`
	JSON   bool   `name:"json" help:"Print the server's answer instead of a text."`
	All    bool   `short:"v" env:"-" help:"Show the keys and values of a large plan too, and in new folders and devices the fields with the daemon's default value."`
	Colour string `help:"auto, always or never; auto: on a terminal. With NO_COLOR set there is never any." default:"auto" enum:"auto,always,never"`
}

// Help shows a file and the exit codes.
func (planCommand) Help() string {
	return `Example of a FILE:

  {
    templates: {
      new: [{op: "set", key: "options.natEnabled", template: "false", tags: ["laptops"]}]
      changed: [{id: 3, priority: 20}]
      deleted: [4]
    }
    tags: {
      added: [{tag: "laptops", device: "P56IOI7-..."}]
      removed: [{tag: "old", template: 3}]
    }
  }

Nothing is changed. The exit code is 5 when something differs, 3 when the server refuses it. For a file that is a device
or the list of templates; for a directory, as ` + "`muster export`" +
		` writes it, whatever Muster keeps, and the last line names
the plan: ` + "`muster apply -f DIR --plan DIGEST`" + ` applies that one and no other.`
}

// Run asks the server what the file would do, and prints it.
func (c *planCommand) Run(ctx context.Context, env *environment) error {
	if isDir(c.File) {
		return c.runDir(ctx, env)
	}
	body, err := readWhatIf(c.File, env.In)
	if err != nil {
		return err
	}
	body.AllowFailing = body.AllowFailing || c.AllowFailing
	server, err := c.client()
	if err != nil {
		return err
	}
	made, err := server.WhatIf(ctx, body)
	if !c.JSON {
		err = namingTemplates(err, body)
	}
	if err != nil {
		return err
	}
	if c.JSON {
		out := json.NewEncoder(env.Out)
		out.SetIndent("", "  ")
		return errors.Join(out.Encode(made), differs(made, body))
	}
	p := newPainter(ctx, server, env.Out, c.Colour)
	p.all = c.All
	if err := printWhatIf(p, made); err != nil {
		return err
	}
	for _, text := range made.Warnings {
		fmt.Fprintf(env.Err, "Warning: %s\n", printable(text))
	}
	if err := warnOfTags(ctx, env, server, body); err != nil {
		return err
	}
	return differs(made, body)
}

// differs ends a plan with the exit code for what differs, if a device or the list of templates would be another.
func differs(made api.WhatIfPlan, body api.WhatIf) error {
	if len(made.Devices) > 0 || len(made.NewTemplates) > 0 || body.Templates != nil && len(body.Templates.Deleted) > 0 {
		return errDiffers
	}
	return nil
}

// warnOfTags names the tags of new templates that no device carries: most often they are mistyped.
func warnOfTags(ctx context.Context, env *environment, server *client.Client, body api.WhatIf) error {
	if body.Templates == nil {
		return nil
	}
	known := map[string]bool{}
	if body.Tags != nil {
		for _, added := range body.Tags.Added {
			if added.Tag != nil {
				known[*added.Tag] = true
			}
		}
	}
	for _, template := range body.Templates.New {
		for _, tag := range template.Tags {
			if known[tag] {
				continue
			}
			known[tag] = true
			if err := warnOfTag(ctx, env, server, tag); err != nil {
				return err
			}
		}
	}
	return nil
}

func warnOfTag(ctx context.Context, env *environment, server *client.Client, tag string) error {
	carriers, err := server.TagDevices(ctx, tag, client.List{Mask: true})
	if err == nil && len(carriers) == 0 {
		fmt.Fprintf(env.Err, "Warning: no device carries the tag %q.\n", tag)
	}
	return err
}

func readWhatIf(file string, stdin io.Reader) (body api.WhatIf, err error) {
	text, err := readInput(stdin, file, maxPlanFile+1)
	switch {
	case err != nil:
		return body, err
	case len(text) > maxPlanFile:
		return body, &fleet.Error{Code: fleet.CodeTooLarge, Message: "the file is larger than 4 MiB", Hint: "Split it."}
	case len(bytes.TrimSpace(text)) == 0:
		return body, notAPlan("it is empty")
	}
	return parseWhatIf(text)
}

// readInput reads a file, or standard input for "-", up to so many bytes.
func readInput(stdin io.Reader, name string, most int64) ([]byte, error) {
	from := stdin
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, unreadable(err)
		}
		defer func() { _ = file.Close() }()
		from = file
	}
	text, err := io.ReadAll(io.LimitReader(from, most))
	if err != nil {
		return nil, unreadable(err)
	}
	return text, nil
}

// unreadable is an error about a file that a flag names; the cause names the file.
func unreadable(err error) error {
	if told := (*fleet.Error)(nil); errors.As(err, &told) {
		return err
	}
	return &fleet.Error{Code: fleet.CodeInvalid, Message: "the file is not readable: " + err.Error(),
		Hint: "Give a file, or - for standard input."}
}

// parseWhatIf reads JSON, or else HJSON. An unknown field is an error here, because it would be dropped and not reach
// the server.
func parseWhatIf(text []byte) (body api.WhatIf, err error) {
	if !json.Valid(text) {
		options := hjson.DefaultDecoderOptions()
		options.UseJSONNumber, options.DisallowDuplicateKeys = true, true
		var tree any
		if err := hjson.UnmarshalWithOptions(text, &tree, options); err != nil {
			return body, notAPlan(err.Error())
		}
		if text, err = json.Marshal(tree); err != nil {
			return body, notAPlan(err.Error())
		}
	}
	err = jsonv2.Unmarshal(text, &body, jsonv2.RejectUnknownMembers(true))
	var semantic *jsonv2.SemanticError
	switch {
	case errors.As(err, &semantic):
		return body, notAPlan(misfit(semantic))
	case err != nil:
		return body, notAPlan(err.Error())
	}
	fillInRemovals(&body)
	return body, nil
}

// fillInRemovals gives the new templates with the op remove and no text the one that removes what their key names, as
// `muster template put` and templates in files get it.
func fillInRemovals(body *api.WhatIf) {
	if body.Templates == nil {
		return
	}
	for i, t := range body.Templates.New {
		removes := t.Op != nil && strings.EqualFold(*t.Op, string(fleet.OpRemove))
		if removes && (t.Template == nil || strings.TrimSpace(*t.Template) == "") {
			text := fleetfiles.RemovalText
			body.Templates.New[i].Template = &text
		}
	}
}

// misfit names the field of the file that is unknown or has the wrong type.
func misfit(e *jsonv2.SemanticError) string {
	where := strings.ReplaceAll(strings.TrimPrefix(string(e.JSONPointer), "/"), "/", ".")
	switch {
	case errors.Is(e, jsonv2.ErrUnknownName):
		return "there is no field " + where
	case where == "":
		return "it is no object"
	}
	return fmt.Sprintf("%s cannot be %s", where, kinds[e.JSONKind])
}

// kinds are the JSON kinds in words.
var kinds = map[jsontext.Kind]string{
	'n': "null", 't': "true", 'f': "false", '"': "a text", '0': "this number", '{': "an object", '[': "a list",
}

func notAPlan(why string) error {
	return &fleet.Error{Code: fleet.CodeInvalid, Message: "the file is no plan: " + why,
		Hint: "`muster plan --help` shows an example."}
}

// coloured reports whether to print in colour. NO_COLOR wins over the flag.
func coloured(how string, out io.Writer) bool {
	if how == "never" || os.Getenv("NO_COLOR") != "" {
		return false
	}
	return how == "always" || terminalOf(out) != nil && os.Getenv("TERM") != "dumb"
}
