package cli

import (
	"context"
	"fmt"
	"strings"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
)

type folderConflictsCommand struct {
	connection
	output
	watching
	sorting
	paging
	Folder string `arg:"" help:"ID of the folder, or its label where no other folder has that."`
	Device string `env:"-" help:"Only files on this device." placeholder:"DEVICE"`
}

// Run lists the conflict files of a folder, and says how many there are on each device.
func (c *folderConflictsCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	var err error
	if c.Folder, err = folderNamed(ctx, server, c.Folder); err != nil {
		return err
	}
	filter := client.List{}
	if c.Device != "" {
		device, err := deviceNamed(ctx, server, c.Device)
		if err != nil {
			return err
		}
		filter.Device = device.DeviceID
	}
	files, err := server.ConflictFiles(ctx, c.Folder, filter)
	if err != nil {
		return err
	}
	label := labels(ctx, server)
	if c.forPeople() {
		if err := c.counts(ctx, env, server, filter.Device, label); err != nil || len(files) == 0 {
			return err
		}
	}
	return printSorted(env, c.output, c.sorting, columns[api.ConflictFile]{
		titles: []string{"FOUND", "FILE", "DEVICES"},
		row: func(f api.ConflictFile) []string {
			return []string{shortTime(&f.At), f.Path, holdersOf(f.Devices, label)}
		},
		name: func(f api.ConflictFile) string { return f.Path },
	}, files)
}

// counts prints how many conflicts each device tells of.
func (c *folderConflictsCommand) counts(ctx context.Context, env *environment, server *client.Client, device string,
	label func(fleet.DeviceID) string) error {
	standings, err := server.FolderDevices(ctx, c.Folder, client.List{})
	if err != nil {
		return err
	}
	none := true
	for _, s := range standings {
		text := conflictCounts(s.Conflicts)
		if text == "" || device != "" && device != s.DeviceID {
			continue
		}
		none = false
		name := nameOf(s.DeviceID, label(fleet.DeviceID(s.DeviceID)))
		if _, err := fmt.Fprintln(env.Out, printable(name+": "+text)); err != nil {
			return err
		}
	}
	if none {
		_, err = fmt.Fprintln(env.Out, "No daemon tells of a conflict. Daemons remember their last 1,000 changes of files "+
			"since their start.")
	}
	return err
}

// conflictCounts is how many conflicts a device tells of; blank where it tells of none.
func conflictCounts(c api.FolderConflicts) string {
	var parts []string
	switch {
	case c.More:
		parts = append(parts, "more than "+fleet.NumberText(c.Files)+" conflict files")
	case c.Files > 0:
		parts = append(parts, counted(c.Files, "conflict file"))
	}
	if c.Counted > 0 {
		parts = append(parts, "its daemon counted "+fleet.NumberText(c.Counted)+" since its start")
	}
	return strings.Join(parts, "; ")
}
