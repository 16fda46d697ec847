package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"strings"

	"muster/api"
	"muster/client"
)

type deviceListCommand struct {
	connection
	output
	watching
	Search  string   `env:"-" short:"q" help:"Only devices with this text in label, ID or address." placeholder:"TEXT"`
	Tag     []string `env:"-" sep:"none" help:"Only devices with this tag; may be repeated: with all of them." placeholder:"TAG"`
	State   []string `env:"-" help:"Only devices with this connection or configuration, as online or held; may be repeated." placeholder:"STATE"`
	Version []string `env:"-" help:"Only devices with this version of Syncthing, as v2.1.3; may be repeated." placeholder:"VERSION"`
	OS      []string `env:"-" name:"os" help:"Only devices with this system, as linux; may be repeated." placeholder:"OS"`
	Waiting []string `env:"-" help:"Only devices that wait for a person: any, none, or a cause as pinMismatch; may be repeated." placeholder:"CAUSE"`
	Sort    string   `env:"-" help:"Order: label, since, lastSeen, version, needBytes, configuration and others; with - the other way round." placeholder:"ORDER"`
	Limit   int      `env:"-" help:"At most so many devices." placeholder:"N"`
}

// Run prints one line for each device that the filters pick.
func (c *deviceListCommand) Run(ctx context.Context, env *environment) error {
	server, err := c.client()
	if err != nil {
		return err
	}
	all, err := server.Inventory(ctx, client.InventoryQuery{Search: c.Search, Tags: c.Tag, States: c.State,
		Versions: c.Version, OS: c.OS, Waiting: c.Waiting, Sort: c.Sort, Limit: c.Limit})
	if err != nil {
		return err
	}
	if !c.forPeople() {
		return printList(env, c.output, columns[api.InventoryDevice]{
			name: func(d api.InventoryDevice) string { return cmp.Or(d.Label, d.DeviceID) }}, all.Devices)
	}
	if err := printInventory(env.Out, all.Devices); err != nil {
		return err
	}
	what := counted(all.Matched, "device")
	if all.Matched < all.Total {
		what = fmt.Sprintf("%d of %s", all.Matched, counted(all.Total, "device"))
	}
	if len(all.Devices) < all.Matched {
		what += fmt.Sprintf(", the first %d shown", len(all.Devices))
	}
	_, err = fmt.Fprintln(env.Out, what+".")
	return err
}

func printInventory(out io.Writer, devices []api.InventoryDevice) error {
	if len(devices) == 0 {
		return nil
	}
	table := newTable(out)
	fmt.Fprintln(table, "DEVICE\tCONNECTION\tCONFIGURATION\tVERSION\tSYSTEM\tFOLDERS\tTO GO\tTAGS")
	for _, d := range devices {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", nameOf(api.DeviceEffect{DeviceID: d.DeviceID, Label: d.Label}),
			d.Connection, d.Configuration, orDash(d.Version), orDash(d.OS), foldersIn(d.Folders), bytesIn(d.NeedBytes),
			orDash(strings.Join(d.Tags, ", ")))
	}
	return table.Flush()
}

// orDash is a text of a daemon, as a table shows it.
func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return printable(text)
}

// foldersIn is how the folders of a device stand: "12, 3 out of sync".
func foldersIn(f api.InventoryFolders) string {
	parts := []string{fmt.Sprint(f.All)}
	for _, part := range []struct {
		count int
		what  string
	}{{f.InError, "in error"}, {f.OutOfSync, "out of sync"}, {f.Unknown, "unknown"}} {
		if part.count > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.count, part.what))
		}
	}
	return strings.Join(parts, ", ")
}

// bytesIn is a number of bytes as people read it: "1.5 GiB".
func bytesIn(n int64) string {
	if n < 1024 {
		return fmt.Sprintf("%d B", max(n, 0))
	}
	exponent := min(int(math.Log2(float64(n))/10), 6)
	return fmt.Sprintf("%.1f %ciB", float64(n)/math.Pow(1024, float64(exponent)), "KMGTPE"[exponent-1])
}
