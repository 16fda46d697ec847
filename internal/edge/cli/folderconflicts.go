package cli

import (
	"context"
	"fmt"
	"slices"
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
	Folder string `arg:"" optional:"" help:"ID of the folder, or its label where no other folder has that; without it, the conflicts of all folders are listed."`
	Device string `env:"-" help:"Only files on this device." placeholder:"DEVICE"`
}

// Run lists the conflict files of a folder, and says how many there are on each device.
func (c *folderConflictsCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	filter := client.List{}
	if c.Device != "" {
		device, err := deviceNamed(ctx, server, c.Device)
		if err != nil {
			return err
		}
		filter.Device = device.DeviceID
	}
	if c.Folder == "" {
		return c.everywhere(ctx, env, server, filter)
	}
	var err error
	if c.Folder, err = folderNamed(ctx, server, c.Folder); err != nil {
		return err
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

// conflictIn is a conflict file with its folder.
type conflictIn struct {
	Folder string `json:"folder"`
	api.ConflictFile
}

// everywhere lists the conflict files of all folders.
func (c *folderConflictsCommand) everywhere(ctx context.Context, env *environment, server *client.Client,
	filter client.List) error {
	folders, err := conflictingFolders(ctx, server)
	if err != nil {
		return err
	}
	found := []conflictIn{}
	for _, folder := range folders {
		files, err := server.ConflictFiles(ctx, folder, filter)
		if fleet.CodeOf(err) == fleet.CodeNotFound { // The folder is gone meanwhile.
			continue
		}
		if err != nil {
			return err
		}
		for _, file := range files {
			found = append(found, conflictIn{folder, file})
		}
	}
	if len(found) == 0 && c.forPeople() {
		_, err := fmt.Fprintln(env.Out, "No folder waits because of conflicts.")
		return err
	}
	label := labels(ctx, server)
	return printSorted(env, c.output, c.sorting, columns[conflictIn]{
		titles: []string{"FOLDER", "FOUND", "FILE", "DEVICES"},
		row: func(f conflictIn) []string {
			return []string{f.Folder, shortTime(&f.At), f.Path, holdersOf(f.Devices, label)}
		},
		name: func(f conflictIn) string { return f.Path },
	}, found)
}

// conflictingFolders are the folders of whose conflicts a device tells: as their state, or as trouble besides another.
func conflictingFolders(ctx context.Context, server *client.Client) (folders []string, err error) {
	all, err := server.FolderOverviews(ctx, client.List{FolderState: []string{fleet.FolderConflicts.String()}})
	if err != nil {
		return nil, err
	}
	waiting, err := server.Waiting(ctx, "")
	if err != nil {
		return nil, err
	}
	folders = idsOfFolders(all)
	for _, g := range waiting.Groups {
		if g.Cause == string(fleet.WaitConflicts) {
			folders = append(folders, g.Subject)
		}
	}
	slices.Sort(folders)
	return slices.Compact(folders), nil
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
