package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
)

type deviceListCommand struct {
	connection
	output
	watching
	paging
	Search    string   `env:"-" short:"q" help:"Only devices with this text in label, ID or address." placeholder:"TEXT"`
	Tag       []string `env:"-" sep:"none" help:"Only devices with this tag; may be repeated: with all of them." placeholder:"TAG"`
	State     []string `env:"-" help:"Only devices with this connection or configuration, as online or held; may be repeated." placeholder:"STATE"`
	Version   []string `env:"-" help:"Only devices with this version of Syncthing, as 2.1.3, or that begins so, as 2.1, or before or after one, as '<2' or '>=2.1'; may be repeated." placeholder:"VERSION"`
	OS        []string `env:"-" name:"os" help:"Only devices with this system, as linux; may be repeated." placeholder:"OS"`
	Waiting   []string `env:"-" help:"Only devices that wait for a person: any, none, trouble (with connection or files), young (trouble if it lasts), or a cause as pinMismatch; may be repeated." placeholder:"CAUSE"`
	Folders   []string `env:"-" name:"folder-state" help:"Only devices with a folder in this state, as stopped or localChanges; may be repeated." placeholder:"STATE"`
	Behind    bool     `env:"-" help:"Only devices with a folder of which something is missing."`
	Stopped   bool     `env:"-" help:"Only devices that stopped a folder."`
	Outdated  bool     `env:"-" help:"Only devices with an older version of Syncthing than the newest that any device runs."`
	OlderThan string   `env:"-" help:"Only devices with a version of Syncthing before this one, as 2.1.0." placeholder:"VERSION"`
	Stale     string   `env:"-" help:"Only devices that are not online and were not seen for so long, as 36h or 7d; one that was never seen counts from its registration." placeholder:"TIME"`
	Disk      string   `env:"-" name:"disk-below" help:"Only devices with a disk of which less is free, as 10%; their agents tell it." placeholder:"PERCENT"`
	Sort      string   `env:"-" help:"Order: a column as --columns names it, or folder-state; with - the other way round, as --sort -to-go." placeholder:"ORDER"`
	Columns   []string `env:"-" help:"Columns to print, with commas between: device, connection, configuration, folders, to-go, tags, version, system, disk-free, since, last-seen, address, waits, id; or all. With -o csv they are the fields of these columns." placeholder:"COLUMN"`
	Filter    []string `env:"-" sep:"none" help:"What the flags above pick, written as for commands that act on devices: state=held, version=<2 or behind; may be repeated." placeholder:"FIELD=VALUE"`
	Limit     int      `env:"-" help:"At most so many devices." placeholder:"N"`
}

// Run prints one line for each device that the filters pick.
func (c *deviceListCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	shown, err := chosenColumns(c.Columns)
	if err != nil {
		return err
	}
	if len(c.Columns) > 0 && !c.forPeople() && c.Output != "csv" {
		return &fleet.Error{Code: fleet.CodeInvalid, Message: "--columns is for tables, and not for -o " + c.Output,
			Hint: "Leave out --columns, or give -o csv."}
	}
	sort, err := orderForServer(inventorySorts, c.Sort)
	if err != nil {
		return err
	}
	query := client.InventoryQuery{Search: c.Search, Tags: c.Tag, States: c.State, Versions: c.Version, OS: c.OS,
		Waiting: c.Waiting, Sort: sort, Limit: c.Limit, Stale: c.Stale, Outdated: c.Outdated,
		FolderStates: folderStatesOf(c.Folders, c.Behind, c.Stopped)}
	if c.Disk != "" {
		percent, err := percentIn(c.Disk)
		if err != nil {
			return err
		}
		query.DiskBelow = percent
	}
	if c.OlderThan != "" {
		if err := olderThan(&query, c.OlderThan); err != nil {
			return err
		}
	}
	if err := addFilters(&query, c.Filter); err != nil {
		return err
	}
	all, err := server.Inventory(ctx, query)
	if err != nil {
		return err
	}
	if all.Matched == 0 {
		for _, text := range unusedTags(ctx, server, query.Tags) {
			fmt.Fprintln(env.Err, text)
		}
	}
	switch c.Output {
	case "json", "yaml", "csv":
		return printValue(env, c.output, all.Devices, fieldsFor(c.Columns, shown)...)
	case "name":
		return printWords(ctx, env, server, all.Devices)
	}
	if c.Stopped && len(c.Columns) == 0 {
		shown = append(shown, deviceColumn{title: "REASON", cell: stoppedReasons(
			func(d api.InventoryDevice) ([]api.FolderStanding, error) {
				return server.DeviceFolders(ctx, d.DeviceID)
			},
			func(f api.FolderStanding) string { return f.Folder })})
	}
	if err := printInventory(env.Out, shown, all.Devices); err != nil {
		return err
	}
	what := counted(all.Matched, "device")
	if all.Matched < all.Total {
		what = fmt.Sprintf("%s of %s", fleet.NumberText(all.Matched), counted(all.Total, "device"))
	}
	if len(all.Devices) < all.Matched {
		what += fmt.Sprintf(", the first %s shown", fleet.NumberText(len(all.Devices)))
	}
	_, err = fmt.Fprintln(env.Out, what+".")
	return err
}

// printWords prints the word of each device that other commands take.
func printWords(ctx context.Context, env *environment, server *client.Client, devices []api.InventoryDevice) error {
	all, err := server.Devices(ctx, client.List{Mask: true})
	if err != nil {
		return err
	}
	word := wordsFor(all)
	for _, d := range devices {
		name := word(d.Label, d.DeviceID)
		if !isBare(name) {
			name = d.DeviceID
		}
		if _, err := fmt.Fprintln(env.Out, name); err != nil {
			return err
		}
	}
	return nil
}

// percentOf is how much of a disk is free, - where that is not known.
func percentOf(free *int) string {
	if free == nil {
		return "-"
	}
	return strconv.Itoa(*free) + " %"
}

// orDash is a text for a cell of a table, - without one.
func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return printable(text)
}

// foldersIn sums up folders, the worst first: "12, 1 stopped, 3 behind".
func foldersIn(f api.FolderCounts) string {
	parts := []string{fleet.NumberText(f["all"])}
	for _, state := range slices.Backward(fleet.FolderStates()) {
		if count := f[state.String()]; count > 0 && state != fleet.FolderUpToDate {
			parts = append(parts, fleet.NumberText(count)+" "+folderWords(state.String()))
		}
	}
	return strings.Join(parts, ", ")
}

// folderWords is the state of a folder as people write it: "up to date".
func folderWords(state string) string {
	var words strings.Builder
	for _, letter := range state {
		if unicode.IsUpper(letter) {
			words.WriteByte(' ')
		}
		words.WriteRune(unicode.ToLower(letter))
	}
	return words.String()
}
