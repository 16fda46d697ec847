package cli

import (
	"context"
	"fmt"
	"slices"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
)

type folderCopiesCommand struct {
	connection
	output
	sorting
	paging
	Folder string `arg:"" help:"ID of the folder, or its label where no other folder has that."`
}

// copyWords are the states of a copy for people.
var copyWords = map[string]string{"proven": "proven", "agrees": "agrees, but for what is ignored",
	"behind": "not proven now", "unproven": "not proven"}

// Run asks the daemons that have a folder, and shows on which of them all its data is proven to be.
func (c *folderCopiesCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	var err error
	if c.Folder, err = folderNamed(ctx, server, c.Folder); err != nil {
		return err
	}
	all, err := server.FolderCopies(ctx, c.Folder)
	if err != nil {
		return err
	}
	if !c.forPeople() {
		return c.print(env, all, all.Folder)
	}
	plain := slices.DeleteFunc(slices.Clone(all.Devices), func(f api.FolderCopy) bool { return f.Encrypted })
	fmt.Fprintf(env.Out, "Copies proven at %s: %s of %s hold everything that the others had scanned.\n",
		shortTime(&all.ReadAt), fleet.NumberText(all.Copies), counted(len(plain), "device"))
	if encrypted := len(all.Devices) - len(plain); encrypted > 0 {
		fmt.Fprintf(env.Out, "%s counted apart.\n", fleet.Counted(encrypted, "encrypted copy is", "encrypted copies are"))
	}
	label := labels(ctx, server)
	for _, line := range islandLines(all, label) {
		fmt.Fprintln(env.Out, line)
	}
	return printSorted(env, c.output, c.sorting, columns[api.FolderCopy]{
		titles: []string{"DEVICE", "COPY", "PROVEN UNTIL", "LACKS DATA OF", "WHY"},
		row: func(f api.FolderCopy) []string {
			state := copyWords[f.State]
			if f.Encrypted {
				state += " (encrypted)"
			}
			return []string{nameOf(f.DeviceID, f.Label), state, shortTime(f.Until), holdersOf(f.Lacks, label),
				orDash(f.Reason)}
		},
		name: func(f api.FolderCopy) string { return f.DeviceID },
	}, all.Devices)
}

// islandLines says between which groups of devices no connection is known, and which devices could have one.
func islandLines(all api.FolderCopies, label func(fleet.DeviceID) string) (lines []string) {
	if len(all.Islands) == 0 {
		return nil
	}
	lines = append(lines, fmt.Sprintf("Muster knows of no connection between these %d groups:", len(all.Islands)))
	for _, group := range all.Islands {
		lines = append(lines, "  "+holdersOf(group.Devices, label))
	}
	for _, cut := range all.Cuts {
		lines = append(lines, fmt.Sprintf("  not connected: %s and %s", holdersOf([]string{cut.Between}, label),
			holdersOf([]string{cut.And}, label)))
	}
	return lines
}
