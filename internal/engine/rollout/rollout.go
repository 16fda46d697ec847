// Package rollout decides when a device is planned against a changed template or tag. A change that affects few
// devices is for all of them at once. Any other change is rolled out in waves, with gates between them, and can be
// paused, halted, undone and superseded. state.go is the state machine: values in, values out. The Runner drives it.
// DESIGN.md tells what is durable and what a crash leaves. The package makes no plans and does not write to daemons:
// reconcile does, for the generation to which a device is admitted.
package rollout

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"muster/internal/core/template"
	"muster/internal/fleet"
)

// Store is the part of the database that rollouts need. When a write returns, it is durable and its admission is in
// force.
type Store interface {
	Registry(ctx context.Context) (*fleet.Registry, error)
	// Admission tells to which generation each device is admitted.
	Admission(ctx context.Context) (*fleet.Admission, error)
	// GenerationChanges returns what each generation after this one changed, in ascending order.
	GenerationChanges(ctx context.Context, after int64) ([]fleet.GenerationChange, error)
	// Rollouts returns all rollouts, newest first, without members. OpenRollouts gives those that are not over, with
	// members.
	Rollouts(ctx context.Context) ([]fleet.Rollout, error)
	OpenRollouts(ctx context.Context) ([]fleet.Rollout, error)
	Rollout(ctx context.Context, id int64) (fleet.Rollout, error)
	// PutRollouts returns the IDs of the rollouts that it created.
	PutRollouts(ctx context.Context, w fleet.RolloutWrite) (created []int64, err error)
	UndoStore
	PersonStore
}

// UndoStore is what an undo needs of the store.
type UndoStore interface {
	// Touched reports whether something was sent to a device, or may have been, in this generation or later.
	Touched(ctx context.Context, id fleet.DeviceID, generation int64) (bool, error)
}

// PersonStore is what an approval needs of the store.
type PersonStore interface {
	// MadeBy returns who made these generations, one for each.
	MadeBy(ctx context.Context, generations []int64) ([]fleet.Maker, error)
	// User returns a not-found error if there is no such user.
	User(ctx context.Context, name string) (fleet.User, error)
}

// Changes makes the edits that take rollouts back; see change.Changes.
type Changes interface {
	Apply(ctx context.Context, edit fleet.Edit, basis fleet.Basis) (fleet.Applied, error)
}

// Fleet tells about devices what admission and gates need. It does not ask daemons.
type Fleet interface {
	Standing(id fleet.DeviceID) fleet.Standing
	// Version returns the version of a daemon; zero where it is not known.
	Version(id fleet.DeviceID) fleet.Version
}

// Evaluator runs a template's program.
type Evaluator interface {
	Evaluate(ctx context.Context, text string, in template.Input) (template.Result, error)
}

// Policy is what an administrator sets about rollouts.
type Policy struct {
	// SoakTime passes between the moment at which the last member of a wave is good and the next wave. 0:
	// DefaultSoakTime.
	SoakTime          time.Duration
	ProgressDeadline  time.Duration   // time limit for the next member to become good; DefaultProgressDeadline when 0
	Waves             []string        // see fleet.ParseWaves; fleet.DefaultWaves when nil
	ApprovalThreshold fleet.Threshold // devices beyond which a change needs approval; zero: no change does
	FourEyes          bool            // A person other than the one who made the change has to approve it.
}

// withDefaults returns the policy with defaults in the place of zero values.
func (p Policy) withDefaults() Policy {
	p.SoakTime = cmp.Or(p.SoakTime, DefaultSoakTime)
	p.ProgressDeadline = cmp.Or(p.ProgressDeadline, DefaultProgressDeadline)
	if p.Waves == nil {
		p.Waves = fleet.DefaultWaves
	}
	return p
}

func (p Policy) rules() rules { return rules{p.SoakTime, p.ProgressDeadline} }

// approvalReason returns, for a person, why a rollout over n devices waits for approval.
func (p Policy) approvalReason(n int) string {
	return fmt.Sprintf("this change touches %s, more than the approval threshold of %v (setting approvalThreshold)",
		devices(n), p.ApprovalThreshold)
}

// Options make a Runner.
type Options struct {
	Store     Store
	Changes   Changes
	Fleet     Fleet
	Evaluator Evaluator
	Log       *slog.Logger

	// PolicyNow returns the policy that holds. It is called for each decision, and Runner.Wake after a change. nil: Policy
	// holds all the time.
	PolicyNow func() Policy
	Policy

	// Changed is called with a rollout, with its members, when it has changed. It must not block.
	Changed func(fleet.Rollout)
	// Step is called at each step of a rollout with the step's name, for tests that stop the process there.
	Step func(name string)
}

const (
	DefaultSoakTime         = 30 * time.Second
	SimulatedSoakTime       = 1500 * time.Millisecond // for simulated daemons: their folders are up within a second
	DefaultProgressDeadline = time.Minute
)

// Steps of a rollout, as Options.Step names them. The names about waves end with the number of the wave, from 1.
const (
	StepBeforeSettle = "rollout: before settle" // before a settlement that makes a rollout
	StepAfterSettle  = "rollout: after settle"
	StepBeforeStart  = "rollout: before start"
	StepBeforeAdmit  = "rollout: before admit "
	StepAfterAdmit   = "rollout: after admit "
	StepBeforeHalt   = "rollout: before halt"
	StepAfterHalt    = "rollout: after halt"
	StepBeforeUndo   = "rollout: before undo"
	StepAfterUndo    = "rollout: after undo"
	StepBeforeEnd    = "rollout: before end"
	StepAfterEnd     = "rollout: after end"
)
