package cli

import (
	"context"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
)

type folderCommand struct {
	List     folderListCommand     `cmd:"" help:"List the folders of the fleet: how they stand, on how many devices, their size and what is missing."`
	Get      folderGetCommand      `cmd:"" help:"Show how a folder stands in the fleet and on each device, and why."`
	Watch    folderWatchCommand    `cmd:"" help:"Show how a folder stands again whenever that changes, until Ctrl-C."`
	Failed   folderFailedCommand   `cmd:"" help:"List the files that daemons could not sync, with their reasons."`
	Who      folderWhoCommand      `cmd:"" help:"Show who has a folder, who is connected with whom, and who lacks what."`
	OneSided folderOneSidedCommand `cmd:"" name:"one-sided" help:"List the shares that only one side has: nothing is exchanged by them."`
}

var folderNoun = noun[api.FolderOverview]{
	all: (*client.Client).FolderOverviews,
	columns: columns[api.FolderOverview]{titles: []string{"FOLDER", "LABEL", "DEVICES", "SIZE", "TO GO"},
		row: func(f api.FolderOverview) []string {
			return []string{f.Folder, f.Label, foldersIn(f.Devices), fleet.ByteText(f.GlobalBytes), fleet.ByteText(f.NeedBytes)}
		},
		name: func(f api.FolderOverview) string { return f.Folder }},
	about: func(f api.FolderOverview) string { return f.Label },
}

var oneSidedShareNoun = noun[api.OneSidedShare]{
	all: (*client.Client).OneSidedShares,
	columns: columns[api.OneSidedShare]{
		titles: []string{"FOLDER", "LABEL", "SHARED BY", "NOT BY"},
		row: func(s api.OneSidedShare) []string {
			return []string{s.Folder, s.FolderLabel, nameOf(s.DeviceID, s.Label),
				nameOf(s.PeerID, s.PeerLabel)}
		},
		name: func(s api.OneSidedShare) string { return s.Folder }},
}

// folderVerbs are the lists that are described above.
var folderVerbs = folderCommand{
	List:     folderListCommand{watchedList: watchedListOf(folderNoun)},
	OneSided: folderOneSidedCommand{watchedList: watchedListOf(oneSidedShareNoun)},
}

type folderListCommand struct {
	watchedList[api.FolderOverview]
	Search  string   `env:"-" short:"q" help:"Only folders with this text in ID or label." placeholder:"TEXT"`
	State   []string `env:"-" help:"Only folders that are in this state on a device, as stopped or behind; may be repeated." placeholder:"STATE"`
	Behind  bool     `env:"-" help:"Only folders of which something is missing on a device."`
	Stopped bool     `env:"-" help:"Only folders that a daemon stopped."`
}

// Run lists folders.
func (c *folderListCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	return c.list(ctx, env, server, client.List{Search: c.Search,
		FolderState: folderStatesOf(c.State, c.Behind, c.Stopped)})
}

// folderStatesOf are the states that flags ask for.
func folderStatesOf(states []string, behind, stopped bool) []string {
	if behind {
		states = append(states, "behind", "stalled", "syncing")
	}
	if stopped {
		states = append(states, "stopped")
	}
	return states
}

type folderOneSidedCommand struct {
	watchedList[api.OneSidedShare]
	Search string `env:"-" short:"q" help:"Only shares with this text in ID or label of the folder or a device." placeholder:"TEXT"`
	Tag    string `env:"-" help:"Only shares of devices with this tag, on either side." placeholder:"TAG"`
}

// Run lists the shares of all folders that only one side has.
func (c *folderOneSidedCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	return c.list(ctx, env, server, client.List{Search: c.Search, Tag: c.Tag})
}
