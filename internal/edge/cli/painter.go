package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"muster/api"
	"muster/client"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

const (
	longestValue = 60 // characters of JSON that are printed beside the key
	longestLabel = 40 // characters
	namedDevices = 5  // devices of a group that are named
)

// painter prints plans and changes for a person.
type painter struct {
	w        io.Writer
	colour   bool
	all      bool                        // show the daemon's defaults, too
	allNames bool                        // name every device of a group, because the person answers for all of them
	label    func(fleet.DeviceID) string // label of a device, "" if unknown; nil if all are unknown
	err      error                       // the first error of w
}

// newPainter writes to out. colour is auto, always or never.
func newPainter(ctx context.Context, server *client.Client, out io.Writer, colour string) *painter {
	return &painter{w: out, colour: coloured(colour, out), label: labels(ctx, server)}
}

// named puts the names of devices in the place of their IDs.
func (p *painter) named(text string) string {
	return printable(fleet.WithNames(text, func(id fleet.DeviceID) string {
		if p.label == nil {
			return ""
		}
		return p.label(id)
	}))
}

// labels returns the labels of registered devices. They are fetched when the first one is needed. When that fails,
// devices are shown by their IDs.
func labels(ctx context.Context, server *client.Client) func(fleet.DeviceID) string {
	all := sync.OnceValue(func() map[string]string {
		devices, err := server.Devices(ctx, client.List{Mask: true})
		if err != nil {
			return nil
		}
		labels := make(map[string]string, len(devices))
		for _, device := range devices {
			labels[device.DeviceID] = device.Label
		}
		return labels
	})
	return func(id fleet.DeviceID) string { return all()[string(id)] }
}

const (
	plain  = ""
	red    = "31"
	green  = "32"
	yellow = "33"
	bold   = "1"
	faint  = "2"
)

func (p *painter) line(style, text string) {
	if p.colour && style != plain {
		text = "\x1b[" + style + "m" + text + "\x1b[0m"
	}
	if _, err := fmt.Fprintln(p.w, text); err != nil && p.err == nil {
		p.err = err
	}
}

// printWhatIf writes a plan for a person: sentences, then the keys and values, of devices for which the same would
// change together. Those of a large plan are shown only with -v.
func printWhatIf(p *painter, made api.WhatIfPlan) error {
	p.summary(made)
	p.sentences(made.Summary, "-v shows each key.")
	if !p.all && changesIn(made.Devices) > mostUnfolded && len(made.Summary.Sentences) > 0 {
		p.line(faint, "-v shows the keys and values of each device.")
		return p.err
	}
	for _, group := range groupsOf(made.Devices) {
		p.line(plain, "")
		p.group(group)
	}
	return p.err
}

// wavesText says how a change would go out.
func wavesText(sizes []int) string {
	var each []string
	for _, n := range sizes {
		each = append(each, counted(n, "device"))
	}
	return fmt.Sprintf("It would be a rollout in %s: %s.", counted(len(sizes), "wave"), strings.Join(each, ", then "))
}

func (p *painter) summary(made api.WhatIfPlan) {
	t := made.Touched
	if len(made.Devices) == 0 {
		p.line(bold, "No configuration changes.")
		return
	}
	p.line(bold, fmt.Sprintf("%s would change: %s, %s.", counted(t.Devices, "device"), counted(t.Folders, "folder"),
		counted(t.Keys, "key")))
	if len(made.Waves) > 0 {
		p.line(plain, wavesText(made.Waves))
	}
	if made.Approval != "" {
		p.line(yellow, "It would wait for an admin's approval: "+made.Approval+".")
	}
	for _, more := range []struct {
		n     int
		style string
		says  string
	}{
		{t.Held, yellow, "would wait for consent"},
		{t.Refused, red, "would never be made"},
	} {
		if more.n > 0 {
			p.line(more.style, counted(more.n, "change")+" "+more.says+".")
		}
	}
	if t.Failed > 0 {
		p.line(red, "No plan could be made for "+counted(t.Failed, "device")+".")
	}
	if t.Unread > 0 {
		p.line(yellow, counted(t.Unread, "device")+" never answered: nobody knows what would change there.")
	}
	if made.Truncated {
		p.line(yellow, "There are too many changes to show them all.")
	}
}

func counted(n int, what string) string {
	return fleet.Counted(n, what, what+"s")
}

// group is devices for which the same would change.
type group struct {
	api.DeviceEffect
	names []string
}

func groupsOf(devices []api.DeviceEffect) []*group {
	var groups []*group
	alike := map[string]*group{}
	for _, device := range devices {
		same := device
		same.DeviceID, same.Label, same.Changes = "", "", slices.Clone(device.Changes)
		for i := range same.Changes {
			same.Changes[i].Digest = "" // It is of one device.
		}
		text, err := json.Marshal(same)
		if err != nil {
			text = []byte(device.DeviceID)
		}
		g := alike[string(text)]
		if g == nil {
			g = &group{DeviceEffect: device}
			alike[string(text)] = g
			groups = append(groups, g)
		}
		g.names = append(g.names, nameOf(device.DeviceID, device.Label))
	}
	slices.SortStableFunc(groups, func(a, b *group) int { return len(b.names) - len(a.names) })
	return groups
}

// nameOf is what a person calls a device: its label and the first letters of its ID.
func nameOf(id, label string) string {
	short, _, _ := strings.Cut(id, "-")
	if label == "" {
		return short
	}
	letters := []rune(printable(label))
	if len(letters) > longestLabel {
		letters = append(letters[:longestLabel-1], '…')
	}
	return string(letters) + " (" + short + ")"
}

func (p *painter) group(g *group) {
	named := namedDevices
	if p.allNames {
		named = len(g.names)
	}
	title := strings.Join(g.names[:min(len(g.names), named)], ", ")
	if more := len(g.names) - named; more > 0 {
		title += " and " + fleet.NumberText(more) + " more"
	}
	if len(g.names) > 1 {
		title = counted(len(g.names), "device") + ": " + title
	}
	p.line(bold, title)
	switch {
	case g.Unread:
		p.line(yellow, "  ? its configuration was never read")
	case g.Error != "":
		p.line(red, "  ! "+p.named(g.Error))
	}
	for _, change := range g.Changes {
		p.change(change)
	}
	for _, change := range g.Dropped {
		p.line(faint, "    no longer planned: "+p.named(change.Key))
	}
}

func (p *painter) change(c api.PlannedChange) {
	key, from, to := p.named(c.Key), compact(c.From), compact(c.To)
	absent := func(value string) bool { return value == "null" || value == "" }
	switch {
	case c.Class == "skipped":
		p.line(faint, "  · "+key)
	case absent(from):
		p.added(key, c)
	case absent(to):
		p.line(red, "  - "+key)
	case len(from)+len(to) <= 2*longestValue:
		p.line(yellow, "  ~ "+key+": "+from+" -> "+to)
	default:
		p.line(yellow, "  ~ "+key)
		p.value(red, "    -", c.From)
		p.value(green, "    +", c.To)
	}
	p.why(c)
}

// why says what a change waits for, and who asks for it.
func (p *painter) why(c api.PlannedChange) {
	var notes []string
	if c.Class != "free" {
		notes = append(notes, c.Class)
	}
	if c.Consented {
		notes = append(notes, "consented")
	}
	if c.Drift {
		notes = append(notes, "drift")
	}
	note := strings.Join(notes, ", ")
	if c.Reason != "" {
		note = strings.TrimPrefix(note+": "+c.Reason, ": ")
	}
	if len(c.Templates) > 0 {
		ids := make([]string, len(c.Templates))
		for i, id := range c.Templates {
			ids[i] = strconv.FormatInt(id, 10)
		}
		note = strings.TrimPrefix(note+" (template "+strings.Join(ids, ", ")+")", " ")
	}
	if note != "" {
		p.line(faint, "      "+p.named(note))
	}
	for _, choice := range c.Choices {
		p.line(faint, fmt.Sprintf("      may be chosen: %q: %s", choice.Name, choice.Does))
	}
}

// value writes a value after what it belongs to: beside it when it is short, else below, indented.
func (p *painter) value(style, before string, value json.RawMessage) {
	if short := compact(value); len(short) <= longestValue {
		p.line(style, before+" "+short)
		return
	}
	var wide bytes.Buffer
	if err := json.Indent(&wide, value, "      ", "  "); err != nil {
		p.line(style, before+" "+printable(string(value)))
		return
	}
	p.line(style, before)
	for line := range strings.Lines(wide.String()) {
		p.line(style, "      "+printable(strings.TrimPrefix(strings.TrimRight(line, "\n"), "      ")))
	}
}

// compact is a value on one line.
func compact(value json.RawMessage) string {
	var small bytes.Buffer
	if err := json.Compact(&small, value); err != nil {
		return printable(string(value))
	}
	return printable(small.String())
}

// printable keeps what daemons and people wrote from moving the cursor, and from looking like another text: each
// character that shows nothing is replaced by one that is seen.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if fleet.HiddenInLine(r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

// added prints a new value. Fields of a new folder or device that equal the daemon's defaults are only counted.
func (p *painter) added(key string, c api.PlannedChange) {
	to, left := c.To, 0
	if !p.all {
		to, left = withoutDefaults(c.Key, c.To)
	}
	p.value(green, "  + "+key, to)
	if left > 0 {
		p.line(faint, fmt.Sprintf("      and %s of the daemon (-v shows all)", counted(left, "default")))
	}
}

// withoutDefaults removes the fields of a new folder or device that equal the daemon's defaults. left counts them.
func withoutDefaults(at string, value json.RawMessage) (shown json.RawMessage, left int) {
	key, err := stconfig.ParseKey(at)
	if err != nil || key.Len() != 2 {
		return value, 0
	}
	defaults := stconfig.Sample().Get("defaults").Get(strings.TrimSuffix(key.At(0).Name, "s"))
	member, err := stconfig.Parse(value)
	if err != nil || !defaults.Exists() {
		return value, 0
	}
	for name, byDefault := range defaults.Members() {
		if has := member.Get(name); has.Exists() && has.Equal(byDefault) {
			member, left = member.Without(name), left+1
		}
	}
	return member.JSON(), left
}
