// Package reconcile brings one device after another to what its templates ask for. A pass goes from registry and
// observed configuration to the desired one, to a plan, to a recorded intent, to a fresh read, to narrow writes, to a
// read back, to an outcome. The package never writes what a plan does not say, and knows nothing about HTTP, SQL or
// how a daemon is reached.
package reconcile

import (
	"context"
	"log/slog"
	"time"

	"muster/internal/core/plan"
	"muster/internal/core/stconfig"
	"muster/internal/core/template"
	"muster/internal/fleet"
)

// Store is the part of the database that the engine needs. What a call wrote is durable when it returns.
type Store interface {
	Registry(ctx context.Context) (*fleet.Registry, error)
	// Admission tells to which generation each device is admitted.
	Admission(ctx context.Context) (*fleet.Admission, error)
	// ObservedConfig returns the newest configuration that was stored; not_found before the first.
	ObservedConfig(ctx context.Context, id fleet.DeviceID) (fleet.ObservedConfig, error)
	BaseEntries(ctx context.Context, id fleet.DeviceID) ([]fleet.BaseEntry, error)
	// FolderPaths returns all paths at which folders of a device were ever seen.
	FolderPaths(ctx context.Context, id fleet.DeviceID) ([]string, error)
	// LetGoBy returns the role of the person whose change had a template apply to a device no longer, as of a
	// generation. It is "" where that is not known.
	LetGoBy(ctx context.Context, device fleet.DeviceID, template, generation int64) (fleet.Role, error)
	// PutBaseEntries replaces the ownership records of a device.
	PutBaseEntries(ctx context.Context, id fleet.DeviceID, entries []fleet.BaseEntry) error
	IntentStore
	StopStore
	ConsentStore
	RevisionStore
}

// IntentStore keeps intents: what is about to be written to a daemon, and what became of it.
type IntentStore interface {
	// BeginIntent records an intent and replaces the device's ownership records, in one transaction. It gives the
	// intent's ID.
	BeginIntent(ctx context.Context, intent fleet.Intent, entries []fleet.BaseEntry) (int64, error)
	// FinishIntent records what became of an intent, and all that follows from it, in one transaction.
	FinishIntent(ctx context.Context, id int64, e fleet.Ending) error
	// OpenIntents returns the intents without an outcome, oldest first.
	OpenIntents(ctx context.Context) ([]fleet.Intent, error)
}

// Daemon talks to the daemon of a device. Errors carry a fleet.Code: rejected when the daemon answered a write with
// 4xx; unavailable when the call may be tried again.
type Daemon interface {
	// Config reads the configuration now. What it returns becomes the device's observed configuration.
	Config(ctx context.Context, id fleet.DeviceID) (fleet.ObservedConfig, error)
	Ignores(ctx context.Context, id fleet.DeviceID, folder string) ([]string, error)
	// Session opens a session, for several calls in a row. Other callers wait until it is closed. So close it soon, and
	// make no call of Daemon meanwhile.
	Session(ctx context.Context, id fleet.DeviceID) (Session, error)
	// Known returns what is known of the daemon without asking it.
	Known(id fleet.DeviceID) Known
	// TakeConfig gives, once, the configuration that the store was given a moment ago. It is nil when the caller has to
	// read the store.
	TakeConfig(id fleet.DeviceID) *fleet.ObservedConfig
}

// Session is one connection to the daemon of a device. It is for one goroutine.
type Session interface {
	// Config is like Daemon.Config. It also gives the document parsed, where the document is small and was parsed
	// already.
	Config(ctx context.Context) (fleet.ObservedConfig, stconfig.Value, error)
	// Run identifies the run of the daemon (the time from one start to the next); "" where the daemon does not tell it.
	Run(ctx context.Context) (string, error)
	Ignores(ctx context.Context, folder string) ([]string, error)
	SetIgnores(ctx context.Context, folder string, lines []string) error
	// Write sends one write, without repeating it. path begins with /rest/ and is escaped.
	Write(ctx context.Context, method, path string, body []byte) error
	// RestartRequired reports whether a change takes effect only after a restart of the daemon. Restart restarts it.
	RestartRequired(ctx context.Context) (bool, error)
	Restart(ctx context.Context) error
	// Release has the daemon find out its newest release.
	Release(ctx context.Context) (fleet.Release, error)
	DismissPending(ctx context.Context, asks fleet.Pending) error
	Close() // may be called twice
}

// Known is what is known of a daemon without asking it.
type Known struct {
	Online       bool
	Started      string // when the daemon started, as the daemon reports it; "" when that is not known
	Address      string // host at which the daemon is reached; "" when that is not known
	ByAgent      bool   // The daemon is reached by its agent.
	AddressFixed bool   // The daemon reports guiAddressOverridden.
	TooOld       bool   // The daemon has no /rest/config.
	Version      fleet.Version
	System       fleet.System
	Digest       string                                    // digest of the newest configuration; "" when that is not known
	NeverRead    bool                                      // No configuration was ever read.
	FolderErrors map[string]string                         // errors of the folders that cannot work, by folder
	FolderRuns   func(folder string, since time.Time) bool // whether a folder was seen without error since, or is gone
	// FolderMayBreak reports whether an error of a folder would be a new one; nil: that is not known of any.
	FolderMayBreak func(folder string) bool
	// The newest configuration is not in the store yet. ConfigObserved is called once it is.
	Unstored bool
}

// Access changes how a daemon is reached. Without an Access, no change of gui.apiKey or of the API's port is sent.
type Access interface {
	// TryAccess reports whether the daemon answers at this port to this API key, without adopting them. It gives
	// nil, or an error: key_refused when the daemon answers and refuses the key.
	TryAccess(ctx context.Context, id fleet.DeviceID, access fleet.Access) error
	// AdoptAccess replaces the port and API key in the device's record. That is durable when it returns.
	AdoptAccess(ctx context.Context, id fleet.DeviceID, before, after fleet.Access) error
}

// Evaluator runs a template's program. An error with code invalid is the template's fault; any other may pass by
// itself.
type Evaluator interface {
	Evaluate(ctx context.Context, text string, in template.Input) (template.Result, error)
}

// Secrets returns Muster's own secret of a name; not_found when there is no such secret.
type Secrets interface {
	Secret(ctx context.Context, name string) (fleet.StoredSecret, error)
}

// Options make an Engine.
type Options struct {
	Store     Store
	Daemon    Daemon
	Evaluator Evaluator
	Secrets   Secrets // nil: there are none
	Access    Access  // nil: neither gui.apiKey nor the port of gui.address is ever changed
	Log       *slog.Logger
	Workers   int    // devices that are worked on at once; 64 when 0
	DigestKey []byte // keys the digests of passwords that were sent
	Memory    Memory // memory for all plans together; nil: not bounded

	// Found is called with what each pass over a device found out. It must not block. Nil: nothing is reported.
	Found func(id fleet.DeviceID, f plan.Findings)
	// Passed is called when a pass over a device had another result than the pass before (see LastPass). It must not
	// block.
	Passed func(id fleet.DeviceID)
	// Step is called at each step of an apply with the step's name, for tests that stop the process there.
	Step func(name string)
}

// ChangeStepPrefix is the prefix of step names while a restore or an amendment runs.
const ChangeStepPrefix = "change: "

// Steps of an apply, as Options.Step names them. The names of writes end with the number of the write, from 1.
const (
	StepBeforeIntent  = "before intent"
	StepAfterIntent   = "after intent"
	StepAfterRead     = "after read"
	StepBeforeWrite   = "before write "
	StepAfterWrite    = "after write "
	StepBeforeVerify  = "before verify"
	StepBeforeOutcome = "before outcome"
)
