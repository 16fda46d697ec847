package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	"muster/api"
	"muster/client"
	"muster/internal/core/fleetfiles"
	"muster/internal/core/template"
	"muster/internal/fleet"
)

type deviceEditCommand struct {
	namedDevice
	output
	asking
	allowing
	checking
	Label   *string `env:"-" help:"Name for people." placeholder:"TEXT"`
	Address *string `env:"-" help:"Host name or IP of the daemon's API; '' has it discovered." placeholder:"HOST"`
	Port    *int64  `env:"-" help:"Port of the daemon's API." placeholder:"PORT"`
	KeyFile string  `env:"-" help:"File with another API key of the daemon, - for standard input; without it, the stored one stays." placeholder:"FILE"`
	File    string  `short:"f" env:"-" help:"Make the device what this file says, as an editor showed it; first the plan is shown." placeholder:"FILE"`
	Editor  string  `env:"VISUAL,EDITOR" hidden:""`
}

// Help says what happens without flags.
func (deviceEditCommand) Help() string {
	return `Without flags, label, address, tags, vars and settings are opened in $EDITOR. Then the plan is shown,
and the change made after an answer. With flags, the record of the device is changed at once. Where address,
port or key change, the server tries them first, and saves nothing that does not work; --no-check saves anyway.`
}

// Run changes what flags name of a device's record, or opens all of it in an editor.
func (c *deviceEditCommand) Run(ctx context.Context, env *environment) error {
	byFlags := c.Label != nil || c.Address != nil || c.Port != nil || c.KeyFile != ""
	if byFlags && c.File != "" {
		return &fleet.Error{Code: fleet.CodeInvalid,
			Message: "--file and flags for single fields contradict each other",
			Hint:    "Put the fields into the file; --key-file is for a command of its own."}
	}
	server, err := c.client()
	if err != nil {
		return err
	}
	device, err := c.find(ctx, server)
	if err != nil {
		return err
	}
	if !byFlags {
		return c.edit(ctx, env, server, device)
	}
	current, etag, err := server.DeviceETag(ctx, device.DeviceID)
	if err != nil {
		return err
	}
	put := api.PutDevice{APIAddress: c.Address, APIPort: c.Port}
	if c.Label != nil && *c.Label != current.Label {
		if err := c.agreedLabel(ctx, env, server, *c.Label, device.DeviceID); err != nil {
			return err
		}
		put.Label = c.Label
	}
	if c.KeyFile != "" {
		key, err := secretFrom(env, c.KeyFile)
		if err != nil {
			return err
		}
		key = strings.TrimSpace(key)
		put.APIKey = &key
	}
	stored, err := storeRecord(ctx, server, c.checking, current, etag, put)
	if err != nil {
		return err
	}
	return c.done(env, stored.DeviceID, stored, fmt.Sprintf("%s is at %s, port %d.", named(stored),
		orDiscovered(stored.APIAddress), stored.APIPort))
}

// changedBetween returns the error of a write that was refused because the device is not as it was read.
func changedBetween(err error) error {
	if fleet.CodeOf(err) != fleet.CodePrecondition {
		return err
	}
	return &fleet.Error{Code: fleet.CodeConflict, Message: "the device was changed meanwhile: nothing was changed here",
		Hint: "Type the command again."}
}

func orDiscovered(address string) string {
	if address == "" {
		return "whatever address discovery finds"
	}
	return printable(address)
}

// shownDevice is a device as an editor shows it.
type shownDevice struct {
	APIAddress string `json:"apiAddress"`
	APIPort    int64  `json:"apiPort"`
	api.FleetDevice
}

// writtenDevice is the device as a person wrote it. Fields that are left out stay as they are.
type writtenDevice struct {
	APIAddress *string `json:"apiAddress,omitempty"`
	APIPort    *int64  `json:"apiPort,omitempty"`
	api.PlanFleetDevice
}

// editedDevice is a device as the server has it now.
type editedDevice struct {
	api.Device
	rest api.FleetDevice
	etag string
	text string // the text for the editor
}

const editHeader = `# %s
# End the editor to see the plan; nothing is changed before you answer it. What you leave out stays as it is.
# apiAddress: host name or IP of the daemon's API; "" has it discovered.
# mode: on, observe (plan, never write) or paused (not watched: neither read nor write). way: auto, agent or direct.
# The API key is changed with --key-file, the pinned certificate with ` + "`muster device trust`" + `.
`

// readEdited reads what may be edited of a device.
func readEdited(ctx context.Context, server *client.Client, id string) (editedDevice, error) {
	device, etag, err := server.DeviceETag(ctx, id)
	if err != nil {
		return editedDevice{}, err
	}
	now, err := server.Fleet(ctx)
	if err != nil {
		return editedDevice{}, err
	}
	rest := now.Devices[id]
	rest.System = nil // Nobody can edit it.
	var text bytes.Buffer
	fmt.Fprintf(&text, editHeader, printable(named(device)))
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err = encoder.Encode(shownDevice{device.APIAddress, device.APIPort, rest})
	return editedDevice{device, rest, etag, text.String()}, err
}

// edit opens the device in an editor, or takes the file of an earlier edit. What was written stays in its file when it
// is not saved.
func (c *deviceEditCommand) edit(
	ctx context.Context,
	env *environment,
	server *client.Client,
	device api.Device,
) error {
	before, err := readEdited(ctx, server, device.DeviceID)
	if err != nil {
		return err
	}
	if c.File != "" {
		return c.save(ctx, env, server, before, c.File)
	}
	path, err := editText(ctx, env, editing{c.Editor, "muster-*.hjson", before.text})
	if err != nil || path == "" {
		return err
	}
	if err := c.save(ctx, env, server, before, path); err != nil {
		fmt.Fprintf(env.Err,
			"What you wrote is in %s: `muster device edit %s --file %s` shows its plan, and saves it.\n",
			path, fleet.DeviceID(device.DeviceID).Short(), path)
		return err
	}
	return os.Remove(path)
}

// save shows the plan of what a file says, asks, and makes the change. Where the device is not as it was before, a
// person has to see it first.
func (c *deviceEditCommand) save(ctx context.Context, env *environment, server *client.Client, before editedDevice,
	path string) error {
	text, err := readBounded(path)
	if err != nil {
		return unreadable(err)
	}
	var written writtenDevice
	document, faults := fleetfiles.Decode(path, text, &written)
	if len(faults) > 0 {
		return fleetfiles.Faults(faults)
	}
	now, err := readEdited(ctx, server, before.DeviceID)
	switch {
	case err != nil:
		return err
	case now.text != before.text:
		return changedMeanwhile(now, "the device was changed while you edited it")
	}
	change, err := changeOf(written, now)
	if err != nil {
		return err
	}
	place := editedPlace{path, now.DeviceID, document}
	return place.inFile(c.change(ctx, env, server, now, change))
}

func changedMeanwhile(now editedDevice, what string) error {
	return &fleet.Error{Code: fleet.CodePrecondition, Message: what + ": nothing was changed",
		Hint: fmt.Sprintf("`muster device get %s` shows what is there now.", fleet.DeviceID(now.DeviceID).Short())}
}

// deviceChange is what an edit changes: the record by one request, tags, vars and settings by another.
type deviceChange struct {
	record *api.PutDevice // nil: the record stays as it is
	lines  []string       // the changed fields of the record, for people
	fleet  api.PlanFleet
}

// changeOf finds the fields of an edit that differ from the device as it is.
func changeOf(written writtenDevice, now editedDevice) (change deviceChange, err error) {
	put := api.PutDevice{Label: &now.Label, APIAddress: &now.APIAddress, APIPort: &now.APIPort}
	if w := written.APIAddress; w != nil && *w != now.APIAddress {
		put.APIAddress, change.record = w, &put
		change.lines = append(change.lines, fmt.Sprintf("apiAddress: %q to %q", now.APIAddress, *w))
	}
	if w := written.APIPort; w != nil && *w != now.APIPort {
		put.APIPort, change.record = w, &put
		change.lines = append(change.lines, fmt.Sprintf("apiPort: %d to %d", now.APIPort, *w))
	}
	differing, err := differingOf(written.PlanFleetDevice, now)
	if err == nil && differing != nil {
		change.fleet.Devices = map[string]api.PlanFleetDevice{now.DeviceID: *differing}
	}
	return change, err
}

// differingOf are the tags, vars and settings of an edit that differ from the device's, nil if none does.
func differingOf(written api.PlanFleetDevice, now editedDevice) (*api.PlanFleetDevice, error) {
	wants, err := fieldsOf(written)
	if err != nil {
		return nil, err
	}
	delete(wants, "system")
	is, err := fieldsOf(now.rest)
	if err != nil {
		return nil, err
	}
	if settings, named := wants["settings"].(map[string]any); named {
		has, _ := is["settings"].(map[string]any)
		maps.DeleteFunc(settings, func(field string, value any) bool { return reflect.DeepEqual(value, has[field]) })
		if len(settings) == 0 {
			delete(wants, "settings")
		}
	}
	maps.DeleteFunc(wants, func(field string, value any) bool { return reflect.DeepEqual(value, is[field]) })
	if len(wants) == 0 {
		return nil, nil //nolint:nilnil // nothing differs
	}
	text, err := json.Marshal(wants)
	if err != nil {
		return nil, err
	}
	var differing api.PlanFleetDevice
	return &differing, json.Unmarshal(text, &differing)
}

func fieldsOf(value any) (fields map[string]any, err error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return fields, json.Unmarshal(text, &fields)
}

// change shows the plan, asks, and sends what differs.
func (c *deviceEditCommand) change(ctx context.Context, env *environment, server *client.Client, now editedDevice,
	change deviceChange) error {
	if change.record == nil && change.fleet.Devices == nil {
		return c.done(env, now.DeviceID, now.Device, "It is so already: nothing was changed.")
	}
	if label := change.fleet.Devices[now.DeviceID].Label; label != nil {
		if err := c.agreedLabel(ctx, env, server, *label, now.DeviceID); err != nil {
			return err
		}
	}
	if change.record != nil {
		if err := c.check(ctx, server, now.DeviceID, *change.record); err != nil {
			return err
		}
	}
	change.fleet.AllowFailing = c.AllowFailing
	planned, err := c.show(ctx, env, server, now, change)
	if err != nil {
		return err
	}
	if !c.Yes {
		question := fmt.Sprintf("Change %s? It changes %s.", named(now.Device),
			counted(planned.Touched.Devices, "daemon"))
		if err := confirm(env, question); err != nil {
			return err
		}
	}
	stored, text := now.Device, "Done."
	if change.record != nil {
		stored, _, err = server.PutDevice(ctx, now.DeviceID, *change.record, client.IfMatch(now.etag))
		if fleet.CodeOf(err) == fleet.CodePrecondition {
			return changedMeanwhile(now, "the device was changed after this plan was made")
		}
		if err != nil {
			return err
		}
	}
	if change.fleet.Devices != nil {
		done, err := server.ApplyFleet(ctx, api.ApplyFleet{PlanFleet: change.fleet, Digest: &planned.Digest})
		if err != nil {
			return notAllSaved(err, now, change)
		}
		if stored, err = server.Device(ctx, now.DeviceID); err != nil {
			return err
		}
		text = doneIn(ctx, server, done.Generation)
	}
	return c.done(env, now.DeviceID, stored, text)
}

// notAllSaved says which part of the edit was saved before the error.
func notAllSaved(err error, now editedDevice, change deviceChange) error {
	switch {
	case change.record != nil:
		return fmt.Errorf("%s is saved, and the rest is not: %w", strings.Join(change.lines, ", "), err)
	case fleet.CodeOf(err) == fleet.CodePrecondition:
		return changedMeanwhile(now, "templates, tags or the device were changed after this plan was made")
	}
	return err
}

// show prints what an edit changes in Muster and on daemons.
func (c *deviceEditCommand) show(ctx context.Context, env *environment, server *client.Client, now editedDevice,
	change deviceChange) (planned api.FleetPlan, err error) {
	to := *env
	to.Out = c.texts(env)
	p := newPainter(ctx, server, to.Out, "auto")
	for _, line := range change.lines {
		p.line(yellow, fmt.Sprintf("~ device %s: %s", printable(named(now.Device)), printable(line)))
	}
	if p.err != nil || change.fleet.Devices == nil {
		return planned, p.err
	}
	if planned, err = server.PlanFleet(ctx, change.fleet); err != nil {
		return planned, err
	}
	return planned, shownPlan{output: "text", colour: "auto"}.print(ctx, &to, server, planned)
}

// editedPlace is the file that an edit of a device came from.
type editedPlace struct {
	path     string
	id       string // the device ID
	document template.Document
}

// inFile turns an error about fields of the request into one about lines of the file.
func (e editedPlace) inFile(err error) error {
	var answer *client.Error
	if !errors.As(err, &answer) || len(answer.Problem.Errors) == 0 {
		return err
	}
	moved := *answer
	moved.Problem.Errors = slices.Clone(answer.Problem.Errors)
	for i, detail := range moved.Problem.Errors {
		field := strings.TrimPrefix(strings.TrimPrefix(detail.Field, "body."), "devices."+e.id+".")
		if line := e.document.Line(strings.Split(field, ".")...); line > 0 && detail.Field != "" {
			moved.Problem.Errors[i].Field, moved.Problem.Errors[i].Line = e.path, line
		}
	}
	return &moved
}
