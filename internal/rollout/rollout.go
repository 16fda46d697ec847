// Package rollout decides when a device is planned against a changed template or tag. A change that affects few devices
// is for all of them at once; any other is rolled out in waves, with gates between them that are read from the daemons,
// and can be paused, halted, undone and superseded. state.go is the state machine: values in, values out. The Runner
// drives it. It also restores older configurations of one device. It writes to no daemon by itself: what is admitted is
// brought there by whoever plans, and what is restored goes through plan and guard.
package rollout

import (
	"context"
	"log/slog"
	"time"

	"muster/internal/fleet"
	"muster/internal/plan"
	"muster/internal/template"
)

// Store is what is kept. A write is durable when it returns.
type Store interface {
	Registry(ctx context.Context) (*fleet.Registry, error)
	RegistryAt(ctx context.Context, generation int64) (*fleet.Registry, error)
	// GenerationChanges are those after a generation, ascending.
	GenerationChanges(ctx context.Context, after int64) ([]fleet.GenerationChange, error)
	// Admission says which generation each device is admitted to.
	Admission(ctx context.Context) (*fleet.Admission, error)
	// Rollouts are all, newest first, without members; OpenRollouts are those that are not over, with members.
	Rollouts(ctx context.Context) ([]fleet.Rollout, error)
	OpenRollouts(ctx context.Context) ([]fleet.Rollout, error)
	Rollout(ctx context.Context, id int64) (fleet.Rollout, error)
	// PutRollouts gives the ID of the rollout it created, 0 without one.
	PutRollouts(ctx context.Context, w fleet.RolloutWrite) (created int64, err error)
	// UndoRollout takes the changes of the rollout's generations back in a new generation and puts the rollout with that
	// generation in UndoneBy, in one transaction. It gives the generation.
	UndoRollout(ctx context.Context, r fleet.Rollout) (generation int64, err error)
	// Touched are the devices that something was sent to, or may have been, in one of these generations or later.
	Touched(ctx context.Context, generation int64) (map[fleet.DeviceID]bool, error)
}

// Fleet is the daemons, as far as admission and gates ask for them.
type Fleet interface {
	// Standing is what is known without asking the daemon.
	Standing(id fleet.DeviceID) Standing
	// Plan is what would be changed on a device now, for the generation that it is admitted to.
	Plan(ctx context.Context, id fleet.DeviceID) (plan.Plan, error)
	// Waiting is what the newest plan of a device had that is not sent by itself: held, stopped or refused. It asks nobody.
	Waiting(id fleet.DeviceID) []plan.Wish
	// Apply does what a plan says on behalf of a person; see reconcile.
	Apply(ctx context.Context, id fleet.DeviceID, digest string, consent, keep []string) error
	// Wake has devices looked at, because they were admitted to another generation.
	Wake(ids []fleet.DeviceID)
	// Facts are what templates see of the fleet of a registry.
	Facts(r *fleet.Registry) []template.Facts
}

// Standing is how a device stands without asking its daemon.
type Standing struct {
	Gone          bool // registered no more
	TooOld        bool // to be written to
	Tried         bool // since Muster began to watch it; else nobody knows whether it can be reached
	Online        bool
	Mode          fleet.Mode
	Configuration fleet.Configuration
	Reason        string            // of the configuration's state
	Digest        string            // of the newest configuration that was seen
	Errors        map[string]string // folders in error, with the reason
	Summarised    bool              // every folder of that configuration has a summary
}

// Evaluator runs a template's program.
type Evaluator interface {
	Evaluate(ctx context.Context, text string, in template.Input) (template.Result, error)
}

// Options make a Runner.
type Options struct {
	Store     Store
	Fleet     Fleet
	Evaluator Evaluator
	Log       *slog.Logger

	Soak       time.Duration // between the last member of a wave being good and the next wave; DefaultSoak when 0
	Patience   time.Duration // for one device to come where it should; DefaultPatience when 0
	BlastLimit Limit         // zero: none
	DigestKey  []byte        // keys the digests of consented changes

	// Changed is told when a rollout changed. It must not block.
	Changed func(fleet.Rollout)
	// Step names the steps of a rollout as they are reached, for tests that stop the process there.
	Step func(name string)
}

const (
	DefaultSoak     = 30 * time.Second
	SimulatedSoak   = 1500 * time.Millisecond // for simulated daemons: their folders are up within a second
	DefaultPatience = time.Minute
)

// The steps of a rollout, as Options.Step names them. Waves carry their number, from 1.
const (
	StepBeforeSettle = "rollout: before settle" // a change that becomes a rollout
	StepAfterSettle  = "rollout: after settle"
	StepBeforeStart  = "rollout: before start"
	StepBeforeAdmit  = "rollout: before admit " // and the wave
	StepAfterAdmit   = "rollout: after admit "  // and the wave
	StepBeforeHalt   = "rollout: before halt"
	StepAfterHalt    = "rollout: after halt"
	StepBeforeUndo   = "rollout: before undo"
	StepAfterUndo    = "rollout: after undo"
	StepBeforeEnd    = "rollout: before end"
	StepAfterEnd     = "rollout: after end"
)
