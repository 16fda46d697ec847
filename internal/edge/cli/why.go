package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"muster/api"
	"muster/client"
)

type whyCommand struct {
	connection
	output
	paging
	Device string `arg:"" help:"Label or ID of a device, or the first letters of its ID."`
	Key    string `arg:"" help:"Dotted key into its configuration, as options.maxSendKbps."`
}

// Run prints where the value of a key comes from.
func (c *whyCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	device, err := deviceNamed(ctx, server, c.Device)
	if err != nil {
		return err
	}
	why, err := server.DeviceWhy(ctx, device.DeviceID, c.Key)
	if err != nil {
		return err
	}
	if !c.forPeople() {
		return c.print(env, why, namesOfTemplates(why)...)
	}
	p := newPainter(ctx, server, env.Out, "auto")
	p.explain(named(device), why)
	return p.err
}

// namesOfTemplates are the templates that make a value, in the order in which they apply.
func namesOfTemplates(why api.Why) (names []string) {
	for _, step := range why.Steps {
		names = append(names, cmp.Or(step.Label, strconv.FormatInt(step.Template, 10)))
	}
	return names
}

// explain prints where a value comes from.
func (p *painter) explain(device string, why api.Why) {
	p.line(bold, fmt.Sprintf("%s on %s: %s", p.named(why.Key), device, valueIn(why.Value)))
	if string(why.Observed) != string(why.Value) {
		p.line(plain, "  The daemon has: "+valueIn(why.Observed))
	}
	if why.Reason != "" {
		p.line(plain, "  "+p.named(sentence(why.Reason)))
	}
	if len(why.Steps) > 0 {
		p.line(plain, "  Without Muster: "+valueIn(why.Base))
	}
	for _, step := range why.Steps {
		p.line(plain, fmt.Sprintf("  template %d %q, priority %d, %s at %s%s: %s", step.Template, printable(step.Label),
			step.Priority, step.Op, orWhole(step.At), lineIn(step), valueIn(step.To)))
		saved := "    by tag " + printable(strings.Join(step.Tags, ", "))
		if step.SavedBy != "" {
			saved += ", last changed by " + printable(step.SavedBy)
		}
		if step.SavedAt != nil {
			saved += ", saved " + step.SavedAt.Local().Format("2006-01-02 15:04:05 MST")
		}
		p.line(plain, saved)
		for _, v := range step.Vars {
			p.line(plain, "    reads the var "+printable(v.Name)+" of "+ownerOfVar(v)+": "+valueIn(v.Value))
		}
	}
	for _, s := range why.Skipped {
		p.line(plain, fmt.Sprintf("  Skipped of template %d, %s: %s", s.Template, p.named(s.Key), printable(s.Reason)))
	}
	for _, text := range why.Conflicts {
		p.line(plain, "  "+printable(text))
	}
}

func ownerOfVar(v api.WhyVar) string {
	if v.Tag == "" {
		return "the device"
	}
	return "tag " + printable(v.Tag)
}

// sentence begins with a capital letter and ends with a full stop.
func sentence(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	if text == "" {
		return ""
	}
	return string(unicode.ToUpper(first)) + strings.TrimSuffix(text[size:], ".") + "."
}

func orWhole(key string) string {
	if key == "" {
		return "the whole configuration"
	}
	return printable(key)
}

func lineIn(step api.WhyStep) string {
	if step.Line == 0 {
		return ""
	}
	return fmt.Sprintf(", line %d", step.Line)
}

// valueIn is a value on one line.
func valueIn(value json.RawMessage) string {
	const most = 200 // characters
	text := []rune(compact(value))
	switch {
	case string(text) == "null" || len(text) == 0:
		return "not there"
	case len(text) > most:
		return string(text[:most-1]) + "…"
	}
	return string(text)
}
