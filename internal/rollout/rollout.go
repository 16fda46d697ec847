// Package rollout decides when a device is planned against a changed template or tag. A change that affects few
// devices is for all of them at once. Any other is rolled out in waves, with gates between them, and can be paused,
// halted, undone and superseded. state.go is the state machine: values in, values out. The Runner drives it. DESIGN.md
// says what is durable and what a crash leaves. The package makes no plans and writes to no daemon: reconcile does,
// for the generation that a device is admitted to.
package rollout

import (
	"context"
	"log/slog"
	"time"

	"muster/internal/fleet"
	"muster/internal/template"
)

// Store is what is kept. A write is durable, and its admission in force, when it returns.
type Store interface {
	Registry(ctx context.Context) (*fleet.Registry, error)
	// Admission says which generation each device is admitted to.
	Admission(ctx context.Context) (*fleet.Admission, error)
	// GenerationChanges are those after a generation, ascending.
	GenerationChanges(ctx context.Context, after int64) ([]fleet.GenerationChange, error)
	// Rollouts are all, newest first, without members. OpenRollouts are those that are not over, with members.
	Rollouts(ctx context.Context) ([]fleet.Rollout, error)
	OpenRollouts(ctx context.Context) ([]fleet.Rollout, error)
	Rollout(ctx context.Context, id int64) (fleet.Rollout, error)
	// PutRollouts gives the IDs of the rollouts that it created.
	PutRollouts(ctx context.Context, w fleet.RolloutWrite) (created []int64, err error)
	UndoStore
}

// UndoStore is what an undo needs of the store.
type UndoStore interface {
	// UndonePreview is the registry as it would be with the changes of the rollout's generations taken back.
	UndonePreview(ctx context.Context, r fleet.Rollout) (*fleet.Registry, error)
	// UndoRollout takes them back in a new generation and makes the write, in one transaction. It answers conflict when
	// the generation would be another one than w.Settled's.
	UndoRollout(ctx context.Context, r fleet.Rollout, w fleet.RolloutWrite) (created []int64, err error)
	// Touched tells whether something was sent to a device, or may have been, in this generation or later.
	Touched(ctx context.Context, id fleet.DeviceID, generation int64) (bool, error)
	// MadeBy are the people who made some generations.
	MadeBy(ctx context.Context, generations []int64) ([]string, error)
}

// Fleet is the devices, as far as admission and gates ask for them. It asks no daemon.
type Fleet interface {
	Standing(id fleet.DeviceID) fleet.Standing
	// Version is that of a daemon; zero where it is not known.
	Version(id fleet.DeviceID) fleet.Version
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

	// between the last member of a wave being good and the next wave; DefaultSoakTime when 0
	SoakTime          time.Duration
	ProgressDeadline  time.Duration // for the next member to get where it should; DefaultProgressDeadline when 0
	Waves             []string      // see ParseWaves; DefaultWaves when nil
	ApprovalThreshold Threshold     // zero: none
	FourEyes          bool          // another person approves than made the change

	// Changed is told when a rollout changed, with its members. It must not block.
	Changed func(fleet.Rollout)
	// Step names the steps of a rollout as they are reached, for tests that stop the process there.
	Step func(name string)
}

const (
	DefaultSoakTime         = 30 * time.Second
	SimulatedSoakTime       = 1500 * time.Millisecond // for simulated daemons: their folders are up within a second
	DefaultProgressDeadline = time.Minute
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
