package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
)

// folderStandings shows how a folder stands on each device.
type folderStandings struct {
	connection
	output
	paging
	Folder  string   `arg:"" help:"ID of the folder, or its label where no other folder has that."`
	Search  string   `env:"-" short:"q" help:"Only devices with this text in label, ID or address." placeholder:"TEXT"`
	Tag     string   `env:"-" help:"Only devices with this tag." placeholder:"TAG"`
	State   []string `env:"-" help:"Only devices on which the folder is in this state, as stopped or behind; may be repeated." placeholder:"STATE"`
	Behind  bool     `env:"-" help:"Only devices on which something is missing."`
	Stopped bool     `env:"-" help:"Only devices that stopped the folder."`
	Sort    string   `env:"-" help:"Order: device, state, since, as-of, to-go, rate, failed or connected; with - the other way round, as --sort -state: the worst first." placeholder:"ORDER"`
}

type folderGetCommand struct {
	folderStandings
	watching
}

type folderWatchCommand struct{ folderStandings }

func (folderWatchCommand) watches() bool { return true }

// standingSorts are the orders of a list of devices that have a folder, as commands and as the API call them.
var standingSorts = []namedOrder{{"device", "label"}, {"state", "state"}, {"since", "since"}, {"as-of", "asOf"},
	{"to-go", "needBytes"}, {"rate", "rate"}, {"failed", "failed"}, {"connected", "connected"}}

func (*folderStandings) orders() []string { return wordsOf(standingSorts) }

// Run shows how the folder stands in the fleet and on each device.
func (c *folderStandings) Run(ctx context.Context, env *environment, server *client.Client) error {
	sort, err := orderForServer(standingSorts, c.Sort)
	if err != nil {
		return err
	}
	if c.Folder, err = folderNamed(ctx, server, c.Folder); err != nil {
		return err
	}
	all, err := server.FolderDevices(ctx, c.Folder, client.List{Search: c.Search, Tag: c.Tag, Sort: sort,
		FolderState: folderStatesOf(c.State, c.Behind, c.Stopped)})
	if err != nil {
		return err
	}
	label := labels(ctx, server)
	if c.forPeople() {
		folder, err := server.FleetFolder(ctx, c.Folder)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(env.Out, printable(fleetFolderLine(folder))); err != nil {
			return err
		}
	}
	err = printList(env, c.output, columns[api.FolderStanding]{
		titles: []string{"DEVICE", "STATE", "SINCE", "TO GO", "HELD BY", "RATE", "DONE", "CONNECTED", "AS OF"},
		row: func(f api.FolderStanding) []string {
			return []string{nameOf(f.DeviceID, label(fleet.DeviceID(f.DeviceID))), standingWords(f), shortTime(f.Since),
				lackOf(f), holdersOf(f.HeldBy, label), rateOf(f.Rate),
				doneOf(f.DoneBetween), peersOf(f), shortTime(f.AsOf)}
		},
		name: func(f api.FolderStanding) string { return f.DeviceID },
	}, all)
	if err != nil || !c.forPeople() {
		return err
	}
	return printReasons(env, all, label)
}

// printReasons prints why each device that is not up to date is not, and what to do. Equal reasons come once.
func printReasons(env *environment, all []api.FolderStanding, label func(fleet.DeviceID) string) error {
	type why struct{ cause, state, reason, next string }
	devices, order, first := map[why][]string{}, []why{}, map[why]api.FolderStanding{}
	for _, f := range all {
		var reasons []why
		if f.State != fleet.FolderUpToDate.String() && f.State != fleet.FolderScanning.String() {
			reasons = append(reasons, why{f.State, standingWords(f), f.Reason, f.Next})
		}
		for _, found := range f.Besides {
			reasons = append(reasons, why{found.Cause, folderWords(found.Cause), found.Reason, found.Next})
		}
		for _, key := range reasons {
			if devices[key] == nil {
				order, first[key] = append(order, key), f
			}
			devices[key] = append(devices[key], nameOf(f.DeviceID, label(fleet.DeviceID(f.DeviceID))))
		}
	}
	for _, key := range order {
		names, of := devices[key], first[key]
		if len(names) > 1 {
			of.DeviceID = "" // The command is for all of them.
		}
		if more := len(names) - namedDevices; more > 0 {
			names = append(names[:namedDevices], fleet.NumberText(more)+" more")
		}
		text := fmt.Sprintf("%s, %s: %s", strings.Join(names, ", "), key.state, key.reason)
		if next := nextOf(of, key.cause, key.next); next != "" {
			text += "\n  " + next
		}
		if _, err := fmt.Fprintln(env.Out, printableLines(text)); err != nil {
			return err
		}
	}
	return nil
}

// fleetFolderLine is how a folder stands in the fleet, in a line.
func fleetFolderLine(f api.FleetFolder) string {
	name := f.Folder
	if f.Label != "" && f.Label != f.Folder {
		name += " (" + f.Label + ")"
	}
	text := name + ": " + folderWords(f.State)
	if f.Since != nil {
		text += " since " + shortTime(f.Since)
	}
	return text + ". On devices: " + foldersIn(f.Devices) + ". Size " + fleet.ByteText(f.GlobalBytes) + ", to go " +
		lackOnDevices(f.NeedBytes, f.Devices["all"], f.NeedUnknown) + "."
}

// standingWords is the state of a folder on a device, with what was known last of one that is unknown now.
func standingWords(f api.FolderStanding) string {
	text := folderWords(f.State)
	if f.Last != "" {
		text += " (was " + folderWords(f.Last) + ")"
	}
	if f.Failed > 0 {
		text += " (" + strconv.FormatInt(f.Failed, 10) + ")"
	}
	return text
}

func shortTime(t *api.Time) string {
	if t == nil {
		return "-"
	}
	return t.Local().Format("2006-01-02 15:04:05")
}

// holdersOf names the devices that have what is missing elsewhere.
func holdersOf(ids []string, label func(fleet.DeviceID) string) string {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = nameOf(id, label(fleet.DeviceID(id)))
	}
	return peerNames(names)
}

func rateOf(bytesASecond float64) string {
	if bytesASecond <= 0 {
		return "-"
	}
	return fleet.ByteText(int64(bytesASecond)) + "/s"
}

// doneOf is when nothing is missing any more, as a range.
func doneOf(between []api.Time) string {
	if len(between) != 2 {
		return "-"
	}
	const clock, day = "15:04", "2006-01-02 15:04"
	from, to := between[0].Local(), between[1].Local()
	if from.YearDay() == to.YearDay() && from.Year() == to.Year() && time.Until(to) < 12*time.Hour {
		return from.Format(clock) + " to " + to.Format(clock)
	}
	return from.Format(day) + " to " + to.Format(day)
}

func peersOf(f api.FolderStanding) string {
	if f.State == fleet.FolderUnknown.String() {
		return "-"
	}
	return fmt.Sprintf("%d of %d", f.Peers.Connected, f.Peers.Shared)
}
