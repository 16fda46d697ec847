package cli

import (
	"context"
	"fmt"

	"muster/api"
	"muster/client"
)

type folderCopiesCommand struct {
	connection
	output
	Folder string `arg:"" help:"ID of the folder."`
}

// copyWords are the states of a copy for people.
var copyWords = map[string]string{"proven": "proven", "agrees": "agrees, but for what is ignored",
	"behind": "not proven now", "unproven": "not proven"}

// Run asks the daemons that have a folder, and shows on which of them all its data is proven to be.
func (c *folderCopiesCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	all, err := server.FolderCopies(ctx, c.Folder)
	if err != nil {
		return err
	}
	if !c.forPeople() {
		return c.print(env, all, all.Folder)
	}
	fmt.Fprintf(env.Out, "Copies proven at %s: %d of %d devices hold everything that the others had scanned.\n",
		shortTime(&all.ReadAt), all.Copies, len(all.Devices))
	label := labels(ctx, server)
	return printList(env, c.output, columns[api.FolderCopy]{
		titles: []string{"DEVICE", "COPY", "PROVEN UNTIL", "LACKS DATA OF", "WHY"},
		row: func(f api.FolderCopy) []string {
			state := copyWords[f.State]
			if f.Encrypted {
				state += " (encrypted)"
			}
			return []string{nameOf(f.DeviceID, f.Label), state, shortTime(f.Until), holdersOf(f.Lacks, label),
				orDash(f.Reason)}
		},
		name: func(f api.FolderCopy) string { return nameOf(f.DeviceID, f.Label) },
	}, all.Devices)
}
