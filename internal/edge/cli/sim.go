package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"muster/internal/fleet"
	"muster/internal/stsim"
)

type simCommand struct {
	Count   int    `help:"Number of daemons." default:"10"`
	Folders int    `help:"Folders of each daemon." default:"2"`
	Seed    uint64 `help:"Names, folders and numbers follow from it; keys are random." default:"1"`
	Agents  string `help:"Have an agent of each daemon connect to this server, which they do not check." placeholder:"HOST:PORT"`
	Key     string `secret:"" help:"Enrol key, with which the server accepts the agents at once. Prefer --key-file." placeholder:"KEY"`
	KeyFile string `help:"File with the enrol key." type:"path" placeholder:"FILE"`
	Shared  bool   `help:"One socket for all addresses, for more daemons than the limit of open files allows."`
}

// simulated is one line of output: where a daemon is and how to reach it.
type simulated struct {
	DeviceID   string `json:"deviceID"`
	Label      string `json:"label"`
	APIAddress string `json:"apiAddress"`
	APIPort    int    `json:"apiPort"`
	APIKey     string `json:"apiKey"`
}

// Run starts the daemons, prints one JSON object a line for each, and keeps them until ctx ends.
func (c *simCommand) Run(ctx context.Context, env *environment) (err error) {
	if c.Count < 1 || c.Folders < 0 {
		return &fleet.Error{Code: fleet.CodeInvalid, Message: fmt.Sprintf("%d daemons with %d folders cannot be simulated",
			c.Count, c.Folders), Hint: "For example --count 10 --folders 2."}
	}
	folders := c.Folders
	if folders == 0 {
		folders = -1 // 0 would mean the default, see stsim.Options
	}
	farm, err := stsim.New(stsim.Options{Count: c.Count, Seed: c.Seed, Folders: folders, Shared: c.Shared,
		EnrollKey: fleet.NewSecret(c.Key)})
	if err != nil {
		return fmt.Errorf("make simulated daemons: %w", err)
	}
	if err := farm.Start(); err != nil {
		return fmt.Errorf("start simulated daemons: %w", err)
	}
	defer func() { err = errors.Join(err, farm.Close()) }()
	lines := json.NewEncoder(env.Out)
	for _, d := range farm.Daemons() {
		if err := lines.Encode(simulated{string(d.ID()), d.Name(), d.Host(), d.Port(), d.APIKey()}); err != nil {
			return err
		}
	}
	if c.Agents != "" {
		_ = farm.RunAgents(ctx, c.Agents)
	}
	<-ctx.Done()
	return nil
}
