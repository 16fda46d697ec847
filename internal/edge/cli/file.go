package cli

import (
	"cmp"
	"context"
	"fmt"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
)

type folderFailedCommand struct {
	connection
	output
	watching
	sorting
	paging
	Folder string `arg:"" help:"ID of the folder, or its label where no other folder has that."`
	Device string `env:"-" help:"All items of this device, whose daemon is asked; else the first items of each device." placeholder:"DEVICE"`
}

// Run lists the items of a folder that daemons could not sync.
func (c *folderFailedCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
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
	all, err := server.FailedItems(ctx, c.Folder, filter)
	if err != nil {
		return err
	}
	if len(all) == 0 && c.forPeople() {
		_, err = fmt.Fprintln(env.Out, "No daemon that can be asked says that an item failed.")
		return err
	}
	label := labels(ctx, server)
	return printSorted(env, c.output, c.sorting, columns[api.FailedItem]{
		titles: []string{"DEVICE", "PATH", "WHY"},
		row: func(i api.FailedItem) []string {
			return []string{nameOf(i.DeviceID, label(fleet.DeviceID(i.DeviceID))), i.Path, i.Text}
		},
		name: func(i api.FailedItem) string { return i.Path },
	}, all)
}

type fileCommand struct {
	connection
	output
	sorting
	paging
	Folder string `arg:"" help:"ID of the folder, or its label where no other folder has that."`
	File   string `arg:"" help:"The file: its path within the folder, with / between the names."`
	Tag    string `env:"-" help:"Only devices with this tag." placeholder:"TAG"`
}

// Run shows whether a file is on each device that has the folder, and why not.
func (c *fileCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	var err error
	if c.Folder, err = folderNamed(ctx, server, c.Folder); err != nil {
		return err
	}
	all, err := server.FileOnDevices(ctx, c.Folder, c.File, client.List{Tag: c.Tag})
	if err != nil {
		return err
	}
	label := labels(ctx, server)
	return printSorted(env, c.output, c.sorting, columns[api.FileOnDevice]{
		titles: []string{"DEVICE", "FILE", "VERSION", "SIZE", "MODIFIED", "HELD BY", "WHY"},
		row: func(f api.FileOnDevice) []string {
			size := "-"
			if f.Version != "" {
				size = fleet.ByteText(f.Size)
			}
			return []string{nameOf(f.DeviceID, f.Label), f.State, orDash(f.Version), size, shortTime(f.Modified),
				holdersOf(f.HeldBy, label), fileReason(f)}
		},
		name: func(f api.FileOnDevice) string { return f.DeviceID },
		figures: map[string]func(api.FileOnDevice) int64{"size": func(f api.FileOnDevice) int64 {
			if f.Version == "" {
				return -1
			}
			return f.Size
		}},
	}, all)
}

// fileReasons are why a file is not on a device, by its state there.
var fileReasons = map[string]string{
	"older": "it has another version than the newest", "missing": "it lacks the file",
	"deleted": "the file was deleted", "ignored": "its ignore patterns leave the file out",
	"unheard": "its daemon knows of no such file",
}

func fileReason(f api.FileOnDevice) string {
	if f.Failed != "" {
		return "it could not sync the file: " + f.Failed
	}
	why := cmp.Or(f.Reason, fileReasons[f.State])
	if (f.State == "missing" || f.State == "older") && len(f.HeldBy) == 0 {
		why += "; no device that has the newest version is connected to it"
	}
	return orDash(why)
}
