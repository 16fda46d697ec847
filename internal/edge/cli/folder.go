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

type folderCommand struct {
	Share     folderShareCommand     `cmd:"" help:"Share a folder among devices with a tag: where, who, in which role; first the plan is shown."`
	List      folderListCommand      `cmd:"" help:"List the folders of the fleet: how they stand, on how many devices, their size and what is missing."`
	Get       folderGetCommand       `cmd:"" help:"Show how a folder stands in the fleet and on each device, and why."`
	Watch     folderWatchCommand     `cmd:"" help:"Show how a folder stands again whenever that changes, until Ctrl-C."`
	Failed    folderFailedCommand    `cmd:"" help:"List the files that daemons could not sync, with their reasons."`
	Conflicts folderConflictsCommand `cmd:"" help:"List the files that were changed on two devices at once: how many, where, and the newest first."`
	History   folderHistoryCommand   `cmd:"" help:"List the figures of a folder over the last day or month, where they changed."`
	Who       folderWhoCommand       `cmd:"" help:"Show who has a folder, who is connected with whom, and who lacks what."`
	Copies    folderCopiesCommand    `cmd:"" help:"Show on which devices all data of a folder is proven to be. The daemons are asked."`
	Pause     folderOrder            `cmd:"" help:"Pause a folder on the devices that have it: nothing of it is scanned or synced there."`
	Resume    folderOrder            `cmd:"" help:"Resume a folder that is paused."`
	Rescan    folderOrder            `cmd:"" help:"Have daemons compare a folder with the disk."`
	Override  folderOrder            `cmd:"" help:"Have one device's files of a send-only folder replace those of all others; first it is shown how many. There is no way back."`
	Revert    folderOrder            `cmd:"" help:"Undo what was changed or added on devices where a folder is receive-only; first it is shown how much. There is no way back."`
	OneSided  folderOneSidedCommand  `cmd:"" name:"one-sided" help:"List the shares that only one side has: nothing is exchanged by them."`
}

var folderNoun = noun[api.FolderOverview]{
	all: (*client.Client).FolderOverviews,
	columns: columns[api.FolderOverview]{titles: []string{"FOLDER", "LABEL", "STATE", "DEVICES", "SIZE", "TO GO"},
		row: func(f api.FolderOverview) []string {
			return []string{f.Folder, f.Label, folderWords(f.State), foldersIn(f.Devices), fleet.ByteText(f.GlobalBytes),
				lackOnDevices(f.NeedBytes, f.Devices["all"], f.NeedUnknown)}
		},
		name: func(f api.FolderOverview) string { return f.Folder },
		figures: map[string]func(api.FolderOverview) int64{
			"state":      func(f api.FolderOverview) int64 { return int64(badness(f.State)) },
			"devices":    func(f api.FolderOverview) int64 { return int64(f.Devices["all"]) },
			"size":       func(f api.FolderOverview) int64 { return f.GlobalBytes },
			"to-go":      func(f api.FolderOverview) int64 { return f.NeedBytes },
			"need-bytes": func(f api.FolderOverview) int64 { return f.NeedBytes },
		}},
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

// folderVerbs are the verbs of `muster folder` that list something. They differ only in these data.
var folderVerbs = folderCommand{
	List:     folderListCommand{watchedList: watchedListOf(folderNoun)},
	OneSided: folderOneSidedCommand{watchedList: watchedListOf(oneSidedShareNoun)},
	Pause:    folderOrder{spec: client.OrderSpec{Type: client.OrderPause}},
	Resume:   folderOrder{spec: client.OrderSpec{Type: client.OrderResume}},
	Rescan:   folderOrder{spec: client.OrderSpec{Type: client.OrderRescan}},
	Override: folderOrder{spec: client.OrderSpec{Type: client.OrderOverride}},
	Revert:   folderOrder{spec: client.OrderSpec{Type: client.OrderRevert}},
}

type folderListCommand struct {
	watchedList[api.FolderOverview]
	Search  string   `env:"-" short:"q" help:"Only folders with this text in ID or label." placeholder:"TEXT"`
	State   []string `env:"-" help:"Only folders that are in this state on a device, as stopped or behind; may be repeated." placeholder:"STATE"`
	Behind  bool     `env:"-" help:"Only folders of which something is missing on a device."`
	Stopped bool     `env:"-" help:"Only folders that a daemon stopped."`
}

// badness is larger for a worse state. A state of a later server is the worst.
func badness(state string) int {
	if known, err := fleet.ParseFolderState(state); err == nil {
		return int(known)
	}
	return fleet.FolderStateCount
}

// Run lists folders, and sums them up.
func (c *folderListCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	all, err := c.of.all(server, ctx, client.List{Search: c.Search,
		FolderState: folderStatesOf(c.State, c.Behind, c.Stopped)})
	if err != nil {
		return err
	}
	if all, err = inOrder(c.sorting, c.of.columns, all); err != nil {
		return err
	}
	shown := c.of.columns
	if c.Stopped && c.forPeople() {
		reasons := stoppedReasons(func(f api.FolderOverview) ([]api.FolderStanding, error) {
			return server.FolderDevices(ctx, f.Folder, client.List{FolderState: []string{fleet.FolderStopped.String()}})
		}, nil)
		shown.titles = append(slices.Clone(shown.titles), "REASON")
		shown.row = func(f api.FolderOverview) []string { return append(c.of.columns.row(f), reasons(f)) }
	}
	if err := printList(env, c.output, shown, all); err != nil || !c.forPeople() {
		return err
	}
	_, err = fmt.Fprintln(env.Out, sumOfFolders(all))
	return err
}

// sumOfFolders is a line about all folders of a list: "3 folders, 1 stopped. Size 4.0 GiB, to go at least 1.0 GiB, not
// known of 1 folder."
func sumOfFolders(all []api.FolderOverview) string {
	states, size, lack, unknown := api.FolderCounts{"all": len(all)}, int64(0), int64(0), 0
	for _, f := range all {
		states[f.State]++
		if f.NeedUnknown > 0 {
			unknown++
		}
		size, lack = fleet.AddBytes(size, f.GlobalBytes), fleet.AddBytes(lack, f.NeedBytes)
	}
	text := counted(len(all), "folder") + strings.TrimPrefix(foldersIn(states), fleet.NumberText(len(all)))
	return text + ". Size " + fleet.ByteText(size) + ", to go " +
		lackOfAll(lack, unknown, "of "+counted(unknown, "folder")) + "."
}

// folderStatesOf are the states that flags ask for. Behind are those in which something is missing of a folder that is
// neither stopped nor paused.
func folderStatesOf(states []string, behind, stopped bool) []string {
	if behind {
		states = append(states, "behind", "stalled", "syncing", "failedItems", "outOfSync")
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
