package cli

import (
	"context"
	"fmt"
	"strconv"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
)

type deviceAtRiskCommand struct {
	namedDevice
	output
}

// riskWords say for people what is proven elsewhere of a device's data.
var riskWords = map[string]string{"proven": "proven", "agrees": "agrees, but for what is ignored",
	"behind": "was proven earlier", "unproven": "not proven", "none": "no data of its own"}

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
	return printList(env, c.output, columns[api.FolderAtRisk]{
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
	}, risk.Folders)
}

// riskSentence says in a sentence how many folders have data that is proven to be nowhere else.
func riskSentence(risk api.DeviceAtRisk) string {
	name := nameOf(risk.DeviceID, risk.Label)
	only, older := 0, 0
	for _, f := range risk.Folders {
		switch f.State {
		case "unproven":
			only++
		case "behind":
			older++
		}
	}
	of := " of " + strconv.Itoa(len(risk.Folders))
	switch {
	case len(risk.Folders) == 0:
		return name + " has no folders, or its configuration was not read yet."
	case only+older == 0:
		return "All data of " + name + " is proven to be on other devices."
	case older == 0:
		return fmt.Sprintf("Without %s the data of %d%s folders is proven to be nowhere.", name, only, of)
	case only == 0:
		return fmt.Sprintf("Without %s the newest data of %d%s folders is proven to be nowhere.", name, older, of)
	}
	return fmt.Sprintf(
		"Without %s the data of %d%s folders is proven to be nowhere, and the newest data of %d more.",
		name,
		only,
		of,
		older,
	)
}
