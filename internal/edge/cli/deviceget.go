package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
)

// deviceView is what is known of a device.
type deviceView struct {
	Device    api.Device          `json:"device"`
	Tags      []string            `json:"tags"`
	State     api.DeviceState     `json:"state"`
	Version   *api.DeviceVersion  `json:"version"` // nil until the daemon was reached
	Templates []api.WhyTemplate   `json:"templates"`
	Waiting   []api.PlannedChange `json:"waiting"` // changes that wait for a person, or are refused
	Skipped   []api.PlannedChange `json:"skipped"`
	Folders   []folderOnDevice    `json:"folders"`
	Problem   string              `json:"problem,omitempty"` // why templates or plan are not known

	Vars map[string]api.EffectiveVar `json:"vars"`
}

// folderOnDevice is a folder of the device's configuration.
type folderOnDevice struct {
	ID     string `json:"id"`
	Label  string `json:"label"`
	Path   string `json:"path"`
	Paused bool   `json:"paused"`
	// Standing is how the folder stands on the device; null: not known.
	Standing *api.FolderStanding `json:"standing"`
}

// Run shows how a device is reached, since when, its software, tags, templates, what waits, and its folders.
func (c *deviceGetCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	device, err := c.find(ctx, server)
	if err != nil {
		return err
	}
	view, err := viewOf(ctx, server, device)
	if err != nil {
		return err
	}
	if !c.forPeople() {
		if view.Device, err = server.Device(ctx, device.DeviceID); err != nil { // The key is masked in device.
			return err
		}
		return c.print(env, view, cmp.Or(device.Label, device.DeviceID))
	}
	return printDevice(env, view, labels(ctx, server))
}

func viewOf(ctx context.Context, server *client.Client, device api.Device) (view deviceView, err error) {
	view = deviceView{Device: device, Waiting: []api.PlannedChange{}, Skipped: []api.PlannedChange{},
		Folders: []folderOnDevice{}}
	if view.Tags, err = server.DeviceTags(ctx, device.DeviceID); err != nil {
		return view, err
	}
	if view.Vars, err = server.EffectiveVars(ctx, device.DeviceID); err != nil {
		return view, err
	}
	if view.State, err = server.DeviceState(ctx, device.DeviceID); err != nil {
		return view, err
	}
	// The version is unknown until the daemon was reached.
	if version, err := server.DeviceVersion(ctx, device.DeviceID); err == nil {
		view.Version = &version
	}
	if view.Templates, err = server.DeviceTemplates(ctx, device.DeviceID); err != nil {
		view.Templates, view.Problem = []api.WhyTemplate{}, fleet.Reason(err)
	}
	plan, err := server.DevicePlan(ctx, device.DeviceID)
	if err != nil {
		view.Problem = fleet.Reason(err)
	}
	for _, change := range plan.Changes {
		switch {
		case waitsForPerson(change), change.Class == "refused":
			view.Waiting = append(view.Waiting, change)
		case change.Class == "skipped":
			view.Skipped = append(view.Skipped, change)
		}
	}
	return view, view.readFolders(ctx, server)
}

// readFolders reads how the folders in the device's configuration stand, if that was ever read.
func (v *deviceView) readFolders(ctx context.Context, server *client.Client) error {
	text, err := server.DeviceConfig(ctx, v.Device.DeviceID)
	if fleet.CodeOf(err) == fleet.CodeNotFound {
		return nil
	}
	if err != nil {
		return err
	}
	var config struct {
		Folders []folderOnDevice `json:"folders"`
	}
	if err := json.Unmarshal(text, &config); err != nil {
		return err
	}
	standings, err := server.DeviceFolders(ctx, v.Device.DeviceID)
	if err != nil {
		return err
	}
	byFolder := map[string]*api.FolderStanding{}
	for i := range standings {
		byFolder[standings[i].Folder] = &standings[i]
	}
	for _, folder := range config.Folders {
		folder.Standing = byFolder[folder.ID]
		v.Folders = append(v.Folders, folder)
	}
	return nil
}

func printDevice(env *environment, v deviceView, label func(fleet.DeviceID) string) error {
	printState(env.Out, v.Device, v.State, nil)
	address := v.State.Address
	if address == "" {
		address = "none is known"
	}
	if v.State.FoundBy != "" {
		address += " (" + v.State.FoundBy + ")"
	}
	lines := [][2]string{{"ID", v.Device.DeviceID}, {"Address", address}, {"Tags", strings.Join(v.Tags, ", ")}}
	if v.State.Since != nil {
		lines = append(lines, [2]string{"State since", v.State.Since.Local().Format("2006-01-02 15:04:05")})
	}
	if v.State.LastSeen != nil {
		lines = append(lines, [2]string{"Last seen", v.State.LastSeen.Local().Format("2006-01-02 15:04:05")})
	}
	if v.Version != nil {
		lines = append(lines, [2]string{"Syncthing", v.Version.Version + " on " + v.Version.OS + "/" + v.Version.Arch})
	}
	if v.Problem != "" {
		lines = append(lines, [2]string{"Plan", "not known: " + v.Problem})
	}
	for _, line := range lines {
		if _, err := fmt.Fprintf(env.Out, "  %-12s %s\n", line[0]+":", printable(line[1])); err != nil {
			return err
		}
	}
	v.printSections(env, label)
	return nil
}

func (v deviceView) printSections(env *environment, label func(fleet.DeviceID) string) {
	section := func(title string, lines []string) {
		if len(lines) == 0 {
			return
		}
		fmt.Fprintf(env.Out, "  %s\n", title)
		for _, line := range lines {
			fmt.Fprintf(env.Out, "    %s\n", printable(line))
		}
	}
	var vars, templates, waiting, skipped, folders []string
	for _, name := range slices.Sorted(maps.Keys(v.Vars)) {
		vars = append(vars, fmt.Sprintf("%s = %s, of %s", name, compact(v.Vars[name].Value), fromOf(v.Vars[name])))
	}
	for _, t := range v.Templates {
		templates = append(templates, fmt.Sprintf("%d %s: %s %s, priority %d, by %s", t.Template, t.Label, t.Op,
			orWhole(t.At), t.Priority, strings.Join(t.Tags, ", ")))
	}
	for _, change := range v.Waiting {
		waiting = append(waiting, fmt.Sprintf("%s (%s): %s", change.Key, change.Class, change.Reason))
	}
	for _, change := range v.Skipped {
		skipped = append(skipped, fmt.Sprintf("%s: %s", change.Key, change.Reason))
	}
	for _, folder := range v.Folders {
		folders = append(folders, folder.lines(label)...)
	}
	section("Vars:", vars)
	section("Templates, in the order in which they apply:", templates)
	section("Waits (`muster apply "+fleet.DeviceID(v.Device.DeviceID).Short()+"` answers):", waiting)
	section("Skipped:", skipped)
	section("Folders:", folders)
}

// lines say how the folder stands: its state, then how far it is, then what is wrong besides.
func (f folderOnDevice) lines(label func(fleet.DeviceID) string) []string {
	name := f.ID
	if f.Label != "" && f.Label != f.ID {
		name += " (" + f.Label + ")"
	}
	if f.Standing == nil {
		return []string{name + ": unknown, in " + f.Path}
	}
	text := name + ": " + standingWords(*f.Standing)
	if f.Standing.State != fleet.FolderUpToDate.String() {
		text += ": " + f.Standing.Reason
	}
	text += ", in " + f.Path
	if f.Standing.Next != "" {
		text += ". " + nextOf(*f.Standing, f.Standing.State, f.Standing.Next)
	}
	lines := []string{text}
	if progress := progressOf(*f.Standing, label); progress != "" {
		lines = append(lines, "  "+progress)
	}
	for _, besides := range besidesOf(*f.Standing) {
		lines = append(lines, "  "+besides)
	}
	return lines
}
