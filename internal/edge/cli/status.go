package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
)

type statusCommand struct {
	connection
	output
	watching
	paging
	Device string `arg:"" optional:"" help:"Label or ID of a device, or the first letters of its ID; without one, the whole fleet is shown."`

	Tag           string   `env:"-" help:"Only devices with this tag." placeholder:"TAG"`
	Search        string   `env:"-" short:"q" help:"Only devices with this text in label, ID or address." placeholder:"TEXT"`
	Connection    []string `env:"-" help:"Only devices with this connection, as online; may be repeated." placeholder:"STATE"`
	Configuration []string `env:"-" help:"Only devices with this configuration, as held; may be repeated." placeholder:"STATE"`

	All bool `env:"-" help:"List all devices, also those with which all is well."`
}

// Run prints the state and the plan of one device, or the devices of the fleet that need attention.
func (c *statusCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	if c.Device == "" {
		if c.Output == "csv" {
			return &fleet.Error{Code: fleet.CodeInvalid, Message: "the status of the fleet is no table for spreadsheets",
				Hint: "Use -o json, which has all of it, or `muster waiting -o csv`."}
		}
		return c.fleet(ctx, env, server)
	}
	device, err := deviceNamed(ctx, server, c.Device)
	if err != nil {
		return err
	}
	state, err := server.DeviceState(ctx, device.DeviceID)
	if err != nil {
		return err
	}
	folders, err := server.DeviceFolders(ctx, device.DeviceID)
	if err != nil {
		return err
	}
	for i := range folders {
		folders[i].Connection = state.Connection
	}
	trouble := slices.ContainsFunc(folders, func(f api.FolderStanding) bool {
		return f.Trouble || slices.ContainsFunc(f.Besides, func(found api.FolderFinding) bool { return found.Trouble })
	})
	if !c.forPeople() {
		return errors.Join(c.print(env, state, cmp.Or(device.Label, device.DeviceID)), waits(trouble || needsLook(state)))
	}
	printState(env.Out, device, state, folders)
	printFolderTrouble(env.Out, folders)
	if err := showPlan(ctx, server, device, state, planView{out: env.Out}); err != nil {
		return err
	}
	return waits(trouble || needsLook(state))
}

// printFolderTrouble prints the folders of a device that a person should look at.
func printFolderTrouble(out io.Writer, folders []api.FolderStanding) {
	for _, f := range folders {
		if f.Trouble {
			fmt.Fprintf(out, "  folder %s: %s\n    %s\n    %s\n", printable(f.Folder), folderWords(cmp.Or(f.Last, f.State)),
				printable(f.Reason), printable(nextOf(f, f.State, f.Next)))
		}
		for _, found := range f.Besides {
			if found.Trouble {
				fmt.Fprintf(out, "  folder %s: %s\n    %s\n    %s\n", printable(f.Folder), folderWords(found.Cause),
					printable(found.Reason), printable(nextOf(f, found.Cause, found.Next)))
			}
		}
	}
}

// fleet prints the devices that need a person, and how many there are of all.
func (c *statusCommand) fleet(ctx context.Context, env *environment, server *client.Client) error {
	devices, err := server.Devices(ctx, client.List{Mask: true, Tag: c.Tag, Search: c.Search})
	if err != nil {
		return err
	}
	// a state that was asked for is shown also where it is good
	all := c.All || len(c.Connection)+len(c.Configuration) > 0
	states, err := server.States(ctx, client.List{
		Tag: c.Tag, Search: c.Search, Connection: c.Connection, Configuration: c.Configuration,
	})
	if err != nil {
		return err
	}
	if !c.forPeople() {
		return c.values(ctx, env, server, states)
	}
	overview, err := server.OverviewOf(ctx, client.List{Tag: c.Tag, Search: c.Search})
	if err != nil {
		return err
	}
	groups := troubleGroups(ctx, env, server, overview.Trouble)
	labels := make(map[string]string, len(devices))
	for _, device := range devices {
		labels[device.DeviceID] = device.Label
	}
	printTrouble(env.Out, overview.Trouble, groups, labels, connectionOf(states, overview.Mode))
	connections, configurations := map[string]int{}, map[string]int{}
	table, changing := newTable(env.Out), false
	for _, s := range states {
		connections[s.Connection]++
		configurations[s.Configuration]++
		if all || !well(s.DeviceState) {
			name := nameOf(s.DeviceID, labels[s.DeviceID])
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", name, s.Connection, s.Configuration, printable(s.Reason))
			changing = changing || s.Configuration == string(fleet.ConfigHeld) || s.Configuration == string(fleet.ConfigPending)
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	held, err := heldGroups(ctx, env, server, states)
	if err != nil {
		return err
	}
	p := newPainter(ctx, server, env.Out, "auto")
	p.heldInFleet(held)
	if p.err != nil {
		return p.err
	}
	if changing {
		fmt.Fprintln(env.Out, "`muster status DEVICE` has every key that is to change on a device, and what is held of it.")
	}
	fmt.Fprintln(env.Out, counted(len(states), "device")+".")
	if len(states) > 0 {
		fmt.Fprintf(env.Out, "  Connection:    %s\n  Configuration: %s\n", byState(connections), byState(configurations))
	}
	if len(devices) == 0 && c.Tag != "" {
		if err := warnOfTag(ctx, env, server, c.Tag); err != nil {
			return err
		}
	}
	if overview.Folders["all"] > 0 {
		fmt.Fprintf(env.Out, "  Folders:       %s\n", foldersIn(overview.Folders))
	}
	if line := youngLine(overview); line != "" {
		fmt.Fprintln(env.Out, line)
	}
	printOverview(env.Out, overview)
	return waits(needsPerson(states, overview))
}

// fleetStatus is what programs read of the whole fleet.
type fleetStatus struct {
	Devices  []api.ListedState `json:"devices"`
	Held     []api.HeldGroup   `json:"held"`
	Overview api.Overview      `json:"overview"`
}

// values prints the states for programs. As names it prints the devices that need a person.
func (c *statusCommand) values(ctx context.Context, env *environment, server *client.Client,
	states []api.ListedState) error {
	overview, err := server.OverviewOf(ctx, client.List{Tag: c.Tag, Search: c.Search})
	if err != nil {
		return err
	}
	held, err := heldGroups(ctx, env, server, states)
	if err != nil {
		return err
	}
	var names []string
	for _, s := range states {
		if c.All || !well(s.DeviceState) {
			names = append(names, s.DeviceID)
		}
	}
	return errors.Join(c.print(env, fleetStatus{states, held, overview}, names...), waits(needsPerson(states, overview)))
}

// waits ends a command with the exit code for what waits for a person, if something does.
func waits(something bool) error {
	if something {
		return exitCode(exitRefused)
	}
	return nil
}

// needsPerson reports whether a person has to do something. A stop that a person made does not count alone.
func needsPerson(states []api.ListedState, overview api.Overview) bool {
	return len(overview.Trouble) > 0 ||
		slices.ContainsFunc(
			states,
			func(s api.ListedState) bool { return !isAway(s.DeviceState) && needsLook(s.DeviceState) },
		) ||
		overview.Restored != nil || len(overview.Impairments) > 0 || overview.Pending.Devices+overview.Pending.Folders > 0 ||
		slices.ContainsFunc(overview.Rollouts, func(r api.Rollout) bool {
			return r.Status == string(fleet.RolloutHalted) || r.Status == string(fleet.RolloutWaiting)
		}) || slices.ContainsFunc(overview.Receivers, func(r api.Receiver) bool { return r.Trouble != "" })
}

// connectionOf has the connections of devices, by ID. While the fleet is stopped no device takes orders: all are as if
// they were away.
func connectionOf(states []api.ListedState, mode string) map[string]string {
	of := make(map[string]string, len(states))
	for _, s := range states {
		of[s.DeviceID] = s.Connection
		if mode != "" && mode != string(fleet.ModeOn) {
			of[s.DeviceID] = mode
		}
	}
	return of
}

// printTrouble prints what is wrong now with devices and folders, the worst kind first. The groups have the reasons
// of the devices that have a label here.
func printTrouble(out io.Writer, troubles []api.Trouble, groups []api.WaitingGroup, labels map[string]string,
	connections map[string]string) {
	isShown := func(id string) bool { _, is := labels[id]; return is }
	for _, t := range troubles {
		fmt.Fprintf(out, "%s: %s", strings.ToUpper(folderWords(t.Cause)), counted(t.Devices, "device"))
		if t.Since != nil {
			fmt.Fprintf(out, ", since %s", t.Since.Local().Format("2006-01-02 15:04"))
		}
		fmt.Fprintln(out)
		lines, next := reasonsOf(t, groups, isShown)
		if len(lines) < 2 {
			where := nameOf(t.DeviceID, t.Label)
			if t.Folder != "" {
				where += ", folder " + printable(t.Folder)
			}
			lines, next = []string{where + ": " + printable(t.Reason)}, t.Next
			if !isRefused(t.Cause, connections[t.DeviceID]) {
				next = withCommand(next, t.Cause, t.Folder, t.DeviceID)
			}
		}
		for _, line := range append(firstReasons(lines, ": `muster waiting`"), printable(next)) {
			fmt.Fprintln(out, "  "+line)
		}
		fmt.Fprintf(out, "  `muster device list --waiting %s` lists them.\n", t.Cause)
	}
}

// youngLine says on how many devices something is wrong that has not lasted long enough to be listed as trouble. On
// no device it is "".
func youngLine(overview api.Overview) string {
	if overview.Young == 0 {
		return ""
	}
	return "Not listed on " + counted(overview.Young, "device") + ": what has not lasted as long as the settings " +
		"troubleAfter and quietAfter allow. `muster device list --waiting young` lists these devices."
}

// byState is how many devices are in each state: "2 online, 1 unreachable".
func byState(counts map[string]int) string {
	parts := make([]string, 0, len(counts))
	for _, state := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fleet.NumberText(counts[state])+" "+state)
	}
	return strings.Join(parts, ", ")
}

// printOverview prints what concerns the whole fleet and waits for a person.
func printOverview(out io.Writer, overview api.Overview) {
	printRestored(out, overview.Restored)
	printFirstStops(out, "", overview.Stops, overview.StopCount)
	for _, i := range overview.Impairments {
		fmt.Fprintf(out, "%s: %s. %s\n", i.Part, printable(i.Reason), printable(i.Next))
	}
	for _, r := range overview.Rollouts {
		fmt.Fprintln(out, statusLine(r))
	}
	if asks := overview.Pending; asks.Devices+asks.Folders > 0 {
		fmt.Fprintf(out, "To be let in or dismissed: %s, %s (`muster pending list`).\n", counted(asks.Devices, "device"),
			counted(asks.Folders, "folder"))
	}
	for _, r := range overview.Receivers {
		if r.Trouble != "" {
			fmt.Fprintf(out, "%s is not told of problems, %s waiting: %s\n", printable(r.Name), counted(r.Waiting, "message"),
				printable(r.Trouble))
		}
	}
}

// printRestored prints what a resume would change after a restore.
func printRestored(out io.Writer, r *api.OverviewOfRestore) {
	if r == nil {
		return
	}
	unknown := ""
	if r.Unknown > 0 {
		unknown = ", " + fleet.NumberText(r.Unknown) + " not read yet"
	}
	fmt.Fprintf(
		out,
		"Restored from a backup of %v: %s would be changed%s. Nothing is written until an admin types `muster "+
			"resume`.\n",
		r.BackupAt,
		counted(r.Differing, "device"),
		unknown,
	)
}

// isAway reports whether nobody answers for a device. That is trouble once it lasts, and the overview says so then.
func isAway(state api.DeviceState) bool {
	switch fleet.Connection(state.Connection) {
	case fleet.Unreachable, fleet.NotFound, fleet.NeverSeen:
		return state.Configuration == string(fleet.ConfigUnknown)
	}
	return false
}

// well reports whether a device needs no person.
func well(state api.DeviceState) bool {
	switch fleet.Configuration(state.Configuration) {
	case fleet.ConfigInSync, fleet.ConfigUnmanaged:
		return state.Connection == string(fleet.Online) && state.Next == ""
	}
	return false
}

// needsLook reports whether a person should look at a device. A change that the server sends by itself needs nobody.
func needsLook(state api.DeviceState) bool {
	goes := state.Configuration == string(fleet.ConfigPending) || state.Configuration == string(fleet.ConfigApplying)
	return !well(state) && !(goes && state.Connection == string(fleet.Online))
}

// deviceNamed is the device that a person means.
func deviceNamed(ctx context.Context, server *client.Client, name string) (api.Device, error) {
	if id, err := fleet.ParseDeviceID(name); err == nil {
		return server.Device(ctx, string(id))
	}
	all, err := server.Devices(ctx, client.List{Mask: true, Search: name})
	if err != nil {
		return api.Device{}, err
	}
	if named := labelled(all, name, ""); len(named) == 1 {
		return named[0], nil
	}
	all = slices.DeleteFunc(all, func(d api.Device) bool {
		return d.Label != name && !strings.HasPrefix(d.DeviceID, strings.ToUpper(name))
	})
	switch len(all) {
	case 0:
		return api.Device{}, noSuchDevice(ctx, server, name)
	case 1:
		return all[0], nil
	}
	names := make([]string, len(all))
	for i, d := range all {
		names[i] = nameOf(d.DeviceID, d.Label)
	}
	return api.Device{}, &fleet.Error{Code: fleet.CodeInvalid, Message: fmt.Sprintf("%q may be %s", name,
		strings.Join(names, ", ")),
		Hint: "Give the letters before the first hyphen of its ID."}
}

// noSuchDevice is the error about a name that no device has. It names the nearest label.
func noSuchDevice(ctx context.Context, server *client.Client, name string) error {
	hint := "`muster device list` lists all of them."
	all, _ := server.Devices(ctx, client.List{Mask: true}) // Without them the hint is shorter.
	labels := make([]string, len(all))
	for i, d := range all {
		labels[i] = d.Label
	}
	if near := fleet.Nearest(name, labels); near != "" {
		hint = fmt.Sprintf("Did you mean %q? %s", near, hint)
	}
	return &fleet.Error{Code: fleet.CodeNotFound, Hint: hint,
		Message: fmt.Sprintf("no device has the label %q, or an ID that begins so", name)}
}

func printState(out io.Writer, device api.Device, state api.DeviceState, folders []api.FolderStanding) {
	fmt.Fprintf(out, "%s: %s, %s\n", named(device),
		state.Connection, state.Configuration)
	for _, text := range []string{state.Reason, state.Next, state.BroughtBack} {
		if text != "" {
			fmt.Fprintln(out, "  "+printable(text))
		}
	}
	printWorstFolder(out, state.Folders, folders)
}

// printWorstFolder prints how the folders of a device stand. Those in trouble are printed each, with reason and advice.
func printWorstFolder(out io.Writer, worst *api.WorstFolder, folders []api.FolderStanding) {
	if worst == nil {
		return
	}
	text := folderWords(worst.State)
	if worst.State != fleet.FolderUpToDate.String() {
		text += fmt.Sprintf(" (%s: %s)", counted(worst.Count, "folder"), printable(worst.Folder))
	}
	fmt.Fprintf(out, "  folders: %s\n", text)
	if worst.Trouble {
		return
	}
	next := worst.Next
	for _, f := range folders {
		if f.Folder == worst.Folder {
			next = nextOf(f, f.State, next)
		}
	}
	for _, line := range []string{worst.Reason, next} {
		if line != "" {
			fmt.Fprintln(out, "    "+printable(line))
		}
	}
}
