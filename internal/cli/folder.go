package cli

import (
	"context"
	"strconv"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
)

type folderCommand struct {
	List     folderListCommand     `cmd:"" help:"List the folders of the fleet."`
	Get      folderGetCommand      `cmd:"" help:"Show how far each device is with a folder."`
	OneSided folderOneSidedCommand `cmd:"" name:"one-sided" help:"List the shares that only one side has: nothing is exchanged by them."`
}

type folderListCommand struct {
	connection
	output
	watching
	Search string `env:"-" short:"q" help:"Only folders with this text in ID or label." placeholder:"TEXT"`
}

// Run lists folders.
func (c *folderListCommand) Run(ctx context.Context, env *environment) error {
	server, err := c.client()
	if err != nil {
		return err
	}
	all, err := server.Folders(ctx, client.List{Search: c.Search})
	if err != nil {
		return err
	}
	return printList(env, c.output, columns[api.Folder]{titles: []string{"FOLDER", "LABEL"},
		row:  func(f api.Folder) []string { return []string{f.Folder, f.Label} },
		name: func(f api.Folder) string { return f.Folder }}, all)
}

type folderGetCommand struct {
	connection
	output
	watching
	Folder string `arg:"" help:"ID of the folder."`
}

// Run shows the numbers of a folder on each device.
func (c *folderGetCommand) Run(ctx context.Context, env *environment) error {
	server, err := c.client()
	if err != nil {
		return err
	}
	all, err := server.FolderSummaries(ctx, c.Folder)
	if err != nil {
		return err
	}
	label := labels(ctx, server)
	return printList(env, c.output, columns[api.FolderSummary]{
		titles: []string{"DEVICE", "DONE", "FILES", "BYTES", "TO GO", "TOLD AT"},
		row: func(s api.FolderSummary) []string {
			name := nameOf(api.DeviceEffect{DeviceID: s.Device, Label: label(fleet.DeviceID(s.Device))})
			return []string{name, completion(s), strconv.FormatInt(s.LocalFiles, 10), size(s.LocalBytes), size(s.NeedBytes),
				s.UpdatedAt.Local().Format("2006-01-02 15:04:05")}
		},
		name: func(s api.FolderSummary) string { return s.Device },
	}, all)
}

type folderOneSidedCommand struct {
	connection
	output
	watching
	Search string `env:"-" short:"q" help:"Only shares with this text in ID or label of the folder or a device." placeholder:"TEXT"`
	Tag    string `env:"-" help:"Only shares of devices with this tag, on either side." placeholder:"TAG"`
}

// Run lists the shares of all folders that only one side has.
func (c *folderOneSidedCommand) Run(ctx context.Context, env *environment) error {
	server, err := c.client()
	if err != nil {
		return err
	}
	all, err := server.OneSidedShares(ctx, client.List{Search: c.Search, Tag: c.Tag})
	if err != nil {
		return err
	}
	return printList(env, c.output, columns[api.OneSidedShare]{
		titles: []string{"FOLDER", "LABEL", "SHARED BY", "NOT BY"},
		row: func(s api.OneSidedShare) []string {
			return []string{s.Folder, s.FolderLabel, nameOf(api.DeviceEffect{DeviceID: s.DeviceID, Label: s.Label}),
				nameOf(api.DeviceEffect{DeviceID: s.PeerID, Label: s.PeerLabel})}
		},
		name: func(s api.OneSidedShare) string { return s.Folder },
	}, all)
}

// completion is how much of a folder a device has, in percent. It is 100 only where nothing is missing.
func completion(s api.FolderSummary) string {
	missing := s.NeedBytes > 0 || s.NeedFiles+s.NeedDeletes+s.NeedDirectories+s.NeedSymlinks > 0
	switch {
	case !missing:
		return "100 %"
	case s.GlobalBytes <= 0:
		return "0 %"
	}
	return strconv.FormatInt(min(99, max(0, 100*(s.GlobalBytes-s.NeedBytes)/s.GlobalBytes)), 10) + " %"
}

// size is a number of bytes with a unit that a person reads.
func size(bytes int64) string {
	const units = "KMGTPE"
	if bytes < 1024 {
		return strconv.FormatInt(bytes, 10) + " B"
	}
	value, unit := float64(bytes)/1024, 0
	for value >= 1024 && unit < len(units)-1 {
		value, unit = value/1024, unit+1
	}
	return strconv.FormatFloat(value, 'f', 1, 64) + " " + units[unit:unit+1] + "iB"
}
