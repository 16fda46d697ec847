package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/hjson/hjson-go/v4"
	"github.com/mattn/go-isatty"

	"muster/api"
	"muster/internal/fleet"
)

// maxPlanFile is what the server takes as a body, in bytes.
const maxPlanFile = 4 << 20

type planCommand struct {
	connection
	File   string `short:"f" help:"JSON or HJSON file with what might change: templates {new, changed, deleted} and tags {added, removed}; - is standard input." required:"" placeholder:"FILE"`
	JSON   bool   `name:"json" help:"Print the server's answer instead of a text."`
	Colour string `help:"auto, always or never; auto: on a terminal, unless NO_COLOR is set." default:"auto" enum:"auto,always,never"`
}

// Help says what scripts need to know.
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

Nothing is changed. The exit code is 0 whether or not something would differ, 3 when the server refuses the file.`
}

// Run asks the server what the file would do, and prints it.
func (c *planCommand) Run(ctx context.Context, env *environment) error {
	body, err := readWhatIf(c.File, env.In)
	if err != nil {
		return err
	}
	server, err := c.client()
	if err != nil {
		return err
	}
	made, err := server.WhatIf(ctx, body)
	if err != nil {
		return err
	}
	if c.JSON {
		out := json.NewEncoder(env.Out)
		out.SetIndent("", "  ")
		return out.Encode(made)
	}
	return printWhatIf(env.Out, made, coloured(c.Colour, env.Out))
}

func readWhatIf(file string, stdin io.Reader) (body api.WhatIf, err error) {
	from := stdin
	if file != "-" {
		opened, err := os.Open(file)
		if err != nil {
			return body, &fleet.Error{Code: fleet.CodeInvalid, Message: "the file is not readable: " + err.Error(), Hint: "Give -f FILE, or -f - for standard input."}
		}
		defer func() { _ = opened.Close() }()
		from = opened
	}
	text, err := io.ReadAll(io.LimitReader(from, maxPlanFile+1))
	if err != nil {
		return body, fmt.Errorf("read %s: %w", file, err)
	}
	if len(text) > maxPlanFile {
		return body, &fleet.Error{Code: fleet.CodeTooLarge, Message: "the file is larger than 4 MiB", Hint: "Split it."}
	}
	return parseWhatIf(text)
}

// parseWhatIf reads JSON, or else HJSON. A field that is not known is an error here, because it would not reach the server.
func parseWhatIf(text []byte) (body api.WhatIf, err error) {
	if !json.Valid(text) {
		options := hjson.DefaultDecoderOptions()
		options.UseJSONNumber, options.DisallowDuplicateKeys = true, true
		var tree any
		if err := hjson.UnmarshalWithOptions(text, &tree, options); err != nil {
			return body, notAPlan(err)
		}
		if text, err = json.Marshal(tree); err != nil {
			return body, notAPlan(err)
		}
	}
	err = jsonv2.Unmarshal(text, &body, jsonv2.RejectUnknownMembers(true))
	if err != nil {
		return body, notAPlan(err)
	}
	return body, nil
}

func notAPlan(err error) error {
	return &fleet.Error{Code: fleet.CodeInvalid, Message: "the file is no plan: " + err.Error(),
		Hint: "`muster plan --help` shows an example.", Err: err}
}

// coloured tells whether colours help whoever reads.
func coloured(how string, out io.Writer) bool {
	if how != "auto" {
		return how == "always"
	}
	file, isFile := out.(*os.File)
	return isFile && isatty.IsTerminal(file.Fd()) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}
