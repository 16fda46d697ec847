package cli

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
)

type waitingCommand struct {
	connection
	output
	watching
	paging
}

// Run prints what waits for a person, the worst first, with the commands that solve it.
func (c *waitingCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	waiting, err := server.Waiting(ctx, "")
	if err != nil {
		return err
	}
	if err := withAllDevices(ctx, server, waiting.Groups); err != nil {
		return err
	}
	if c.Output == "csv" {
		return printValue(env, c.output, waitingRows(waiting))
	}
	if !c.forPeople() {
		return c.print(env, waiting, causesOf(waiting)...)
	}
	overview, err := server.OverviewOf(ctx, client.List{})
	if err != nil {
		return err
	}
	p := newPainter(ctx, server, env.Out, "auto")
	if len(waiting.Groups) == 0 {
		p.line(plain, "Nothing waits for a person.")
	}
	for i, g := range waiting.Groups {
		if i > 0 {
			p.line(plain, "")
		}
		p.waits(g)
	}
	if line := youngLine(overview); line != "" {
		p.line(plain, line)
	}
	return p.err
}

// waitingRow is a group in a table for spreadsheets.
type waitingRow struct {
	Severity string    `json:"severity"`
	Cause    string    `json:"cause"`
	Subject  string    `json:"subject"`
	Devices  int       `json:"devices"`
	Since    *api.Time `json:"since"`
	Reason   string    `json:"reason"`
	Next     string    `json:"next"`
}

// waitingRows has a row for each group.
func waitingRows(waiting api.Waiting) []waitingRow {
	rows := make([]waitingRow, len(waiting.Groups))
	for i, g := range waiting.Groups {
		rows[i] = waitingRow{g.Severity, g.Cause, g.Subject, g.DeviceCount, g.Since, g.Reason, g.Next}
	}
	return rows
}

// heldOf are the held changes of a group.
func heldOf(g api.WaitingGroup) (changes []api.HeldChange) {
	for _, d := range g.Devices {
		changes = append(changes, d.Held...)
	}
	return changes
}

// causesOf are the causes for which something waits, each once.
func causesOf(waiting api.Waiting) (causes []string) {
	for _, g := range waiting.Groups {
		if !slices.Contains(causes, g.Cause) {
			causes = append(causes, g.Cause)
		}
	}
	return causes
}

// waits prints a group: what, on which devices, why, and what to type.
func (p *painter) waits(g api.WaitingGroup) {
	title := fmt.Sprintf("%s, %s", g.Severity, g.Cause)
	if g.Subject != "" {
		title += ": " + p.named(g.Subject)
	}
	p.line(bold, title)
	texts := []string{g.Reason, nextOfGroup(g)}
	if held := heldOf(g); len(held) > 0 {
		p.line(plain, "  On "+counted(g.DeviceCount, "device")+":")
		if g.Summary != nil {
			p.sentences(*g.Summary, "they are below.")
		}
		p.heldChanges(held, g.Templates)
		texts = texts[1:] // Each change has its reason.
	} else if g.DeviceCount > 0 {
		p.line(plain, "  On "+counted(g.DeviceCount, "device")+namesOf(g))
	}
	if isTrouble(g) {
		texts = slices.Insert(texts, 1, firstReasons(reasonsOfGroup(g), "")...)
	}
	for _, text := range texts {
		if text != "" {
			p.line(plain, "  "+printable(text))
		}
	}
	for _, action := range g.Actions {
		line := fmt.Sprintf("  %s (role %s): %s", action.Name, action.Role, commandOf(action, g.Devices))
		if action.Each && g.DeviceCount > 1 {
			line += "   and likewise for each of the others"
		}
		p.line(plain, printable(line))
	}
}

// reasonsOfGroup are the reasons of the devices of a group that differ from the reason of the group.
func reasonsOfGroup(g api.WaitingGroup) (lines []string) {
	for _, line := range reasonLines(g.Devices) {
		if !strings.HasSuffix(line, ": "+printable(g.Reason)) {
			lines = append(lines, "  "+line)
		}
	}
	return lines
}

// nextOfGroup is the next step for a group. Its command names the device where the group has one.
func nextOfGroup(g api.WaitingGroup) string {
	if !fleet.WaitCause(g.Cause).OfFolder() {
		return g.Next
	}
	device := ""
	if g.DeviceCount == 1 && len(g.Devices) == 1 {
		device = g.Devices[0].DeviceID
	}
	return withCommand(g.Next, g.Cause, g.Subject, device)
}

func namesOf(g api.WaitingGroup) string {
	if len(g.Devices) == 0 {
		return ""
	}
	var names []string
	for _, d := range g.Devices[:min(len(g.Devices), namedDevices)] {
		names = append(names, nameOf(d.DeviceID, d.Label))
	}
	if more := g.DeviceCount - len(names); more > 0 {
		names = append(names, fleet.NumberText(more)+" more")
	}
	return " (" + strings.Join(names, ", ") + ")"
}

// commandOf is the command of an action for the first device. Placeholders for what only a person knows stay.
func commandOf(action api.WaitingAction, devices []api.WaitingDevice) string {
	command := action.Command
	if len(devices) == 0 {
		return command
	}
	return placeholder.ReplaceAllStringFunc(command, func(found string) string {
		name := found[1 : len(found)-1]
		value, known := devices[0].Values[name]
		if !known {
			return found
		}
		if name == "deviceID" && !strings.HasPrefix(command, "muster enrollment accept") { // It takes no short ID.
			value, _, _ = strings.Cut(value, "-")
		}
		return argument(value)
	})
}

// placeholder is a name in braces. All are replaced in one pass: a value may have braces of its own.
var placeholder = regexp.MustCompile(`\{(\w+)\}`)

// argument is a value as shells take it.
func argument(value string) string {
	if value != "" && strings.IndexFunc(value, func(r rune) bool {
		return !strings.ContainsRune("-_./:,@=+", r) && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) < 0 {
		return value
	}
	return quoted(value)
}
