package cli

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
)

type folderHistoryCommand struct {
	connection
	output
	sorting
	paging
	Folder string `arg:"" help:"ID or label of the folder."`
	Span   string `env:"-" help:"How far back: day, by minutes, or month, by hours." default:"day" enum:"day,month"`
}

// Run lists the figures of a folder over time, where they changed.
func (c *folderHistoryCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	folder, err := folderNamed(ctx, server, c.Folder)
	if err != nil {
		return err
	}
	history, err := server.FolderHistory(ctx, folder, c.Span)
	if err != nil {
		return err
	}
	if len(history.Points) == 0 && c.forPeople() {
		_, err := fmt.Fprintln(env.Out, "No figures are kept: they did not change since Muster follows the folder. They are "+
			"kept of the 1,000 folders that changed last.")
		return err
	}
	return printSorted(env, c.output, c.sorting, columns[api.FolderHistoryPoint]{
		titles: []string{"FROM", "UP TO DATE", "OF", "TO GO", "SIZE"},
		row: func(p api.FolderHistoryPoint) []string {
			return []string{shortTime(&p.At), strconv.Itoa(p.UpToDate), counted(p.Devices, "device"),
				fleet.ByteText(p.NeedBytes), fleet.ByteText(p.GlobalBytes)}
		},
		name: func(p api.FolderHistoryPoint) string { return p.At.UTC().Format(time.RFC3339) },
		figures: map[string]func(api.FolderHistoryPoint) int64{
			"to-go": func(p api.FolderHistoryPoint) int64 { return p.NeedBytes },
			"size":  func(p api.FolderHistoryPoint) int64 { return p.GlobalBytes },
		},
	}, history.Points)
}
