package cli

import (
	"context"
	"fmt"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
)

type deviceAtRiskCommand struct {
	namedDevice
	output
	sorting
	paging
}

// riskWords say for people what is proven elsewhere of a device's data.
var riskWords = map[string]string{"proven": "proven", "agrees": "agrees, but for what is ignored",
	"behind": "was proven earlier", "unproven": "not proven", "none": "no data of its own", "notAsked": "not known"}

// Run asks all daemons that share folders with a device, and shows what would be lost with it.
func (c *deviceAtRiskCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	device, err := c.find(ctx, server)
	if err != nil {
		return err
	}
	risk, err := server.DeviceAtRisk(ctx, device.DeviceID)
	if err != nil {
		return err
	}
	if !c.forPeople() {
		return c.print(env, risk, risk.DeviceID)
	}
	fmt.Fprintln(env.Out, riskSentence(risk))
	if len(risk.Folders) == 0 {
		return nil
	}
	label := labels(ctx, server)
	return printSorted(env, c.output, c.sorting, columns[api.FolderAtRisk]{
		titles: []string{"FOLDER", "DATA ELSEWHERE", "PROVEN UNTIL", "HELD BY", "SIZE", "MISSING, IT SAYS", "WHY"},
		row: func(f api.FolderAtRisk) []string {
			missing := "-"
			if f.Claimed != nil {
				missing = fleet.ByteText(*f.Claimed)
			}
			return []string{f.Folder, riskWords[f.State], shortTime(f.Until), holdersOf(f.HeldBy, label),
				fleet.ByteText(f.Bytes), missing, orDash(f.Reason)}
		},
		name: func(f api.FolderAtRisk) string { return f.Folder },
		figures: map[string]func(api.FolderAtRisk) int64{
			"size":            func(f api.FolderAtRisk) int64 { return f.Bytes },
			"missing-it-says": claimed,
		},
	}, risk.Folders)
}

// claimed is what a device says is missing elsewhere, in bytes; -1: not known.
func claimed(f api.FolderAtRisk) int64 {
	if f.Claimed == nil {
		return -1
	}
	return *f.Claimed
}

// riskSentence says in a sentence in how many folders data of the device is not proven to be elsewhere.
func riskSentence(risk api.DeviceAtRisk) string {
	name := nameOf(risk.DeviceID, risk.Label)
	of := map[string]int{}
	for _, f := range risk.Folders {
		of[f.State]++
	}
	lacking := of["unproven"] + of["behind"]
	switch {
	case len(risk.Folders) == 0:
		return name + " has no folders, or its configuration was not read yet."
	case lacking+of["notAsked"] == 0 && of["agrees"] > 0:
		return fmt.Sprintf("Everything that %s had scanned is on another device, but for what is ignored in %s.", name,
			counted(of["agrees"], "folder"))
	case lacking+of["notAsked"] == 0:
		return fmt.Sprintf("Everything that %s had scanned is proven to be on another device.", name)
	}
	text := fmt.Sprintf("Of %s of %s, %d have data that is not proven to be on another device: of %d only older data is "+
		"proven there, of %d none.", counted(len(risk.Folders), "folder"), name, lacking, of["behind"], of["unproven"])
	if of["notAsked"] > 0 {
		text += fmt.Sprintf(" %d were not asked about.", of["notAsked"])
	}
	return text
}
