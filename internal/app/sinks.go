package app

import (
	"context"
	"fmt"
	"path/filepath"

	"muster/internal/engine/sink"
	"muster/internal/fleet"
)

// newSinks makes the runner of the sinks. Sinks of the kind file write into a folder of the home.
func (a *App) newSinks() *sink.Sinks {
	o := sink.Options{Store: a.store, Folder: filepath.Join(a.o.Home, "sinks"), Log: a.log}
	if !a.o.NotifyAllowLocal {
		o.Refuse = refuseLocal
	}
	return sink.New(o)
}

// behindSinks is told of in the status: sinks that take nothing.
func (a *App) behindSinks(ctx context.Context) *fleet.Impairment {
	states, err := a.sinks.States(ctx)
	if err != nil {
		return nil // the database has an impairment of its own
	}
	for _, one := range states {
		if one.Trouble != "" {
			return &fleet.Impairment{Part: fleet.PartSinks,
				Reason: fmt.Sprintf("the sink %q takes nothing, and %s: %s", one.Name,
					fleet.Counted(one.Waiting, "entry waits", "entries wait"), one.Trouble),
				Next: "Mend the receiver, or save the sink again: `muster sink set --help` says how."}
		}
	}
	return nil
}
