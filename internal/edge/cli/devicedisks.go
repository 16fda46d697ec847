package cli

import (
	"context"
	"fmt"
	"strings"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
)

type deviceDisksCommand struct {
	namedDevice
	output
	watching
	sorting
	paging
}

// Run lists the disks that a daemon uses, as its agent tells them.
func (c *deviceDisksCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	device, err := c.find(ctx, server)
	if err != nil {
		return err
	}
	all, err := server.DeviceDisks(ctx, device.DeviceID)
	if err != nil {
		return err
	}
	if len(all) == 0 && c.forPeople() {
		fmt.Fprintln(env.Err, "No agent of this device has told of its disks: daemons themselves do not.")
	}
	return printSorted(env, c.output, c.sorting, diskColumns, all)
}

var diskColumns = columns[api.DiskUse]{titles: []string{"USE", "FOLDER", "FREE", "OF", "", "REMARK"},
	row: func(d api.DiskUse) []string {
		free, total, share := "", "", ""
		if d.TotalBytes > 0 {
			free, total = fleet.ByteText(d.FreeBytes), fleet.ByteText(d.TotalBytes)
			share = fmt.Sprintf("%d %%", int(100*float64(d.FreeBytes)/float64(d.TotalBytes)))
		}
		return []string{d.Use, d.Folder, free, total, share, diskRemark(d)}
	},
	name: func(d api.DiskUse) string { return strings.TrimSpace(d.Use + " " + d.Folder) },
	figures: map[string]func(api.DiskUse) int64{
		"free": func(d api.DiskUse) int64 { return diskFigure(d, d.FreeBytes) },
		"of":   func(d api.DiskUse) int64 { return diskFigure(d, d.TotalBytes) },
	},
}

// diskFigure is a figure of a disk, -1 where the agent does not tell of it.
func diskFigure(d api.DiskUse, bytes int64) int64 {
	if d.TotalBytes == 0 {
		return -1
	}
	return bytes
}

func diskRemark(d api.DiskUse) string {
	switch {
	case d.Path == "missing":
		return "the path is missing"
	case d.Marker == "missing":
		return "the folder's marker is missing"
	case d.NearlyFull:
		return "nearly full"
	case d.Use == "folder" && d.Path == "unknown":
		return "the agent does not see it"
	}
	return ""
}
