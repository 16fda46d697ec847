package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
)

// selecting is how a command is told which devices it is for: by name, or by what they have in common.
type selecting struct {
	Devices []string `arg:"" optional:"" name:"device" help:"Labels or IDs of devices, or the first letters of their IDs."`
	picking
}

// picking picks devices by what they have in common.
type picking struct {
	Tag    []string `env:"-" sep:"none" help:"All devices with this tag; may be repeated: with all of them." placeholder:"TAG"`
	Filter []string `env:"-" sep:"none" help:"All devices that a flag of device list picks, as state=held, version=<2, behind or outdated; may be repeated. device list --filter shows which." placeholder:"FIELD=VALUE"`
}

func (p picking) isUsed() bool { return len(p.Tag)+len(p.Filter) > 0 }

// selected are the devices that the command line names or picks. Nothing else may be acted on.
func (s selecting) selected(ctx context.Context, server *client.Client) ([]api.Device, error) {
	return s.selectedBy(ctx, server, deviceNamed)
}

// selectedBy is selected, with the device of each name found by find.
func (s selecting) selectedBy(ctx context.Context, server *client.Client,
	find func(context.Context, *client.Client, string) (api.Device, error)) (devices []api.Device, err error) {
	switch {
	case len(s.Devices) > 0 && s.isUsed():
		return nil, &fleet.Error{Code: fleet.CodeInvalid, Message: "devices are named, and picked by flags as well",
			Hint: "Name devices, or give --tag and --filter."}
	case s.isUsed():
		return s.picked(ctx, server)
	case len(s.Devices) == 0:
		return nil, noDevice()
	}
	for _, name := range s.Devices {
		device, err := find(ctx, server, name)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(devices, func(d api.Device) bool { return d.DeviceID == device.DeviceID }) {
			devices = append(devices, device)
		}
	}
	return devices, nil
}

func noDevice() error {
	return &fleet.Error{Code: fleet.CodeInvalid, Message: "no device is named",
		Hint: "Name devices by label or ID, or pick them by --tag TAG or --filter FIELD=VALUE."}
}

// picked are the devices that the flags pick at this moment.
func (p picking) picked(ctx context.Context, server *client.Client) ([]api.Device, error) {
	query := client.InventoryQuery{Tags: p.Tag}
	if err := addFilters(&query, p.Filter); err != nil {
		return nil, err
	}
	found, err := server.Inventory(ctx, query)
	if err != nil {
		return nil, err
	}
	if len(found.Devices) == 0 {
		const list = "`muster device list` lists all devices with their tags and states."
		return nil, &fleet.Error{Code: fleet.CodeNotFound, Message: "no device is picked: " + p.words(),
			Hint: strings.Join(append(unusedTags(ctx, server, query.Tags), list), "\n")}
	}
	devices := make([]api.Device, len(found.Devices))
	for i, d := range found.Devices {
		devices[i] = api.Device{DeviceID: d.DeviceID, Label: d.Label}
	}
	return devices, nil
}

// unusedTags has a line for each of some tags that no device has. It names the nearest one that a device has.
func unusedTags(ctx context.Context, server *client.Client, tags []string) (lines []string) {
	if len(tags) == 0 {
		return nil
	}
	all, err := server.TagOverviews(ctx)
	if err != nil {
		return nil // The answer is right without these lines.
	}
	var used []string
	for _, tag := range all {
		if tag.Devices > 0 {
			used = append(used, tag.Tag)
		}
	}
	for _, tag := range tags {
		if slices.Contains(used, tag) {
			continue
		}
		line := fmt.Sprintf("no device has the tag %q", tag)
		if near := fleet.Nearest(tag, used); near != "" {
			line += fmt.Sprintf("; did you mean %q?", near)
		}
		lines = append(lines, line)
	}
	return lines
}

// words are the flags as they were given.
func (p picking) words() string {
	var words []string
	for _, tag := range p.Tag {
		words = append(words, "--tag "+quoted(tag))
	}
	for _, filter := range p.Filter {
		words = append(words, "--filter "+quoted(filter))
	}
	return strings.Join(words, " ")
}

// more are the same words for the end of a command, blank without any.
func (p picking) more() string {
	if !p.isUsed() {
		return ""
	}
	return " " + p.words()
}

// selectionListed is how many devices a person reads before a question.
const selectionListed = 100

// show lists the devices that the command is about to act on.
func (p picking) show(env *environment, how output, devices []api.Device) {
	out := how.texts(env)
	for i, d := range devices {
		if i == selectionListed {
			fmt.Fprintf(
				out,
				"  and %s more: `muster device list%s` lists all.\n",
				counted(len(devices)-i, "device"),
				" "+p.words(),
			)
			break
		}
		fmt.Fprintln(out, "  "+named(d))
	}
}

// whom names the devices of a question.
func whom(devices []api.Device) string {
	if len(devices) == 1 {
		return named(devices[0])
	}
	return counted(len(devices), "device") + ", one after the other"
}

// forEachOf does something with each device, and goes on after a failure. It returns the devices with which it
// succeeded and the texts of the failures. An error with the only device, or an interruption, ends it: the caller
// prints what was done and what failed before (tellFailures), and returns the error.
func forEachOf(ctx context.Context, devices []api.Device, do func(api.Device) error) (done []api.Device,
	failures []string, err error) {
	for _, device := range devices {
		err := do(device)
		switch {
		case err != nil && (len(devices) == 1 || ctx.Err() != nil):
			return done, failures, err
		case err != nil:
			failures = append(failures, named(device)+": "+fleet.Reason(err))
		default:
			done = append(done, device)
		}
	}
	return done, failures, nil
}

// notAll is the error about the devices with which a command failed, nil without one. were is as "were not deleted".
func notAll(failures []string, of int, were string) error {
	if len(failures) == 0 {
		return nil
	}
	return failed(failuresText(failures, of, were))
}

func failuresText(failures []string, of int, were string) string {
	return fmt.Sprintf("%d of %s %s:\n  %s", len(failures), counted(of, "device"), were, strings.Join(failures, "\n  "))
}

// tellFailures prints what failed before an interruption, because the text of an interruption is not printed.
func tellFailures(env *environment, failures []string, of int, were string) {
	if len(failures) > 0 {
		fmt.Fprintln(env.Err, printableLines(failuresText(failures, of, were)))
	}
}

func idsOf(devices []api.Device) (ids []string) {
	for _, d := range devices {
		ids = append(ids, d.DeviceID)
	}
	return ids
}

// filterFields set what the expressions of --filter ask for. Their names are those of the flags of device list.
var filterFields = map[string]func(q *client.InventoryQuery, value string) error{
	"search":       func(q *client.InventoryQuery, value string) error { return once("search", &q.Search, value) },
	"tag":          appending(func(q *client.InventoryQuery) *[]string { return &q.Tags }),
	"state":        appending(func(q *client.InventoryQuery) *[]string { return &q.States }),
	"version":      appending(func(q *client.InventoryQuery) *[]string { return &q.Versions }),
	"os":           appending(func(q *client.InventoryQuery) *[]string { return &q.OS }),
	"waiting":      appending(func(q *client.InventoryQuery) *[]string { return &q.Waiting }),
	"older-than":   olderThan,
	"folder-state": appending(func(q *client.InventoryQuery) *[]string { return &q.FolderStates }),
	"stale":        func(q *client.InventoryQuery, value string) error { return once("stale", &q.Stale, value) },
	"disk-below": func(q *client.InventoryQuery, value string) error {
		percent, err := percentIn(value)
		if err != nil {
			return err
		}
		return once("disk-below", &q.DiskBelow, percent)
	},
}

func appending(field func(*client.InventoryQuery) *[]string) func(*client.InventoryQuery, string) error {
	return func(q *client.InventoryQuery, value string) error {
		*field(q) = append(*field(q), value)
		return nil
	}
}

// olderThan picks devices by the version that theirs is before. Other versions cannot be picked with it: a device with
// any of several versions is picked.
func olderThan(q *client.InventoryQuery, version string) error {
	if len(q.Versions) > 0 {
		return &fleet.Error{Code: fleet.CodeInvalid, Message: "versions are picked twice",
			Hint: "Give --older-than or --version: a device with one of several versions would be picked."}
	}
	if strings.ContainsAny(version, "<>=") {
		return &fleet.Error{Code: fleet.CodeInvalid, Message: fmt.Sprintf("%q is no version", version),
			Hint: "Write a version such as 2.1.0. --version '<2.1.0' picks the same devices."}
	}
	q.Versions = []string{"<" + version}
	return nil
}

// once sets what can be asked for once. A second value would widen what the first one picks.
func once(name string, field *string, value string) error {
	if *field != "" {
		return fleet.Invalidf("filter", "--filter has %s twice", name)
	}
	*field = value
	return nil
}

// addFilters adds the expressions of --filter to a query. A blank value is refused: it would pick every device.
func addFilters(q *client.InventoryQuery, expressions []string) error {
	for _, expression := range expressions {
		name, value, hasValue := strings.Cut(expression, "=")
		set := filterFields[name]
		switch {
		case expression == "outdated":
			q.Outdated = true
		case expression == "behind" || expression == "stopped":
			q.FolderStates = folderStatesOf(q.FolderStates, expression == "behind", expression == "stopped")
		case set == nil || !hasValue:
			return noFilter(expression, name)
		case strings.TrimSpace(value) == "":
			return fleet.Invalidf("filter", "--filter %s is blank", name)
		default:
			if err := set(q, value); err != nil {
				return err
			}
		}
	}
	return nil
}

func noFilter(expression, name string) error {
	names := slices.Sorted(maps.Keys(filterFields))
	hint := "Write FIELD=VALUE, with one of: " + strings.Join(names, ", ") + "; or behind, stopped or outdated."
	if near := fleet.Nearest(name, names); near != "" && near != name {
		hint = fmt.Sprintf("Did you mean %s=? %s", near, hint)
	}
	return &fleet.Error{Code: fleet.CodeInvalid, Message: fmt.Sprintf("%q is no filter", expression), Hint: hint}
}

// percentIn reads a part of a disk, as 10%.
func percentIn(text string) (string, error) {
	digits := strings.TrimSuffix(text, "%")
	if percent, err := strconv.Atoi(digits); err != nil || percent < 1 || percent > 100 {
		return "", fleet.Invalidf("disk-below", "--disk-below %q is no percentage from 1%% to 100%%", text)
	}
	return digits, nil
}
