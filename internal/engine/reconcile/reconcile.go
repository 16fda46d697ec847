// Package reconcile brings the configuration of each device to what its templates ask for. A pass over a device goes
// from the registry and the observed configuration to the desired configuration, a plan, a stored intent, a fresh
// read, narrow writes, a read-back and an outcome. The package writes only what a plan says. It knows nothing about
// HTTP, SQL or how a daemon is reached.
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

// Store is the part of the database that the engine needs. What a call wrote is durable when the call returns.
type Store interface {
	Registry(ctx context.Context) (*fleet.Registry, error)
	// Admission returns to which generation each device is admitted.
	Admission(ctx context.Context) (*fleet.Admission, error)
	// ObservedConfig returns the newest configuration that was stored; not_found before the first.
	ObservedConfig(ctx context.Context, id fleet.DeviceID) (fleet.ObservedConfig, error)
	BaseEntries(ctx context.Context, id fleet.DeviceID) ([]fleet.BaseEntry, error)
	// FolderPaths returns all paths at which folders of a device were ever seen.
	FolderPaths(ctx context.Context, id fleet.DeviceID) ([]string, error)
	// LetGoBy returns the role of the person whose change ended that a template applies to a device, as known at a
	// generation. It returns "" if that is not known.
	LetGoBy(ctx context.Context, device fleet.DeviceID, template, generation int64) (fleet.Role, error)
	// PutBaseEntries replaces the ownership records of a device.
	PutBaseEntries(ctx context.Context, id fleet.DeviceID, entries []fleet.BaseEntry) error
	IntentStore
	StopStore
	ConsentStore
	RevisionStore
}

// IntentStore stores intents. An intent says what is about to be written to a daemon and, later, what became of it.
type IntentStore interface {
	// BeginIntent stores an intent and replaces the device's ownership records, in one transaction. It returns the
	// intent's ID.
	BeginIntent(ctx context.Context, intent fleet.Intent, entries []fleet.BaseEntry) (int64, error)
	// FinishIntent stores the outcome of an intent, and what follows from it, in one transaction.
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
	// Session opens a session, for several calls in a row. Until it is closed, other callers wait for the daemon. So the
	// caller closes it soon, and does not call Daemon meanwhile.
	Session(ctx context.Context, id fleet.DeviceID) (Session, error)
	// Known returns what is known of the daemon without asking it.
	Known(id fleet.DeviceID) Known
	// TakeConfig returns, once, the configuration that the mirror gave to the store a moment ago. If it returns nil, the
	// caller reads the store.
	TakeConfig(id fleet.DeviceID) *fleet.ObservedConfig
}

// Session is one connection to the daemon of a device. It is for one goroutine.
type Session interface {
	// Config is like Daemon.Config. It also returns the parsed document if the document is small and was parsed already;
	// otherwise Absent.
	Config(ctx context.Context) (fleet.ObservedConfig, stconfig.Value, error)
	// Run returns a text that identifies the run of the daemon (the time from one start to the next); "" if the daemon
	// does not report it.
	Run(ctx context.Context) (string, error)
	Ignores(ctx context.Context, folder string) ([]string, error)
	// Summary reads the numbers of a folder, which costs the daemon much.
	Summary(ctx context.Context, folder string) (fleet.FolderSummary, error)
	SetIgnores(ctx context.Context, folder string, lines []string) error
	// Write sends one write, without repeating it. path begins with /rest/ and is escaped.
	Write(ctx context.Context, method, path string, body []byte) error
	// RestartRequired reports whether a change waits for a restart of the daemon to take effect. Restart restarts the
	// daemon.
	RestartRequired(ctx context.Context) (bool, error)
	Restart(ctx context.Context) error
	// Release makes the daemon look up its newest release, and returns it.
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
	// FolderChanged returns when the state of a folder changed last, by the daemon's clock; zero when that is not known.
	FolderChanged func(folder string) time.Time
	// FolderMayBreak reports whether an error of a folder would be a new one, because the folder works now; nil: this is
	// not known of any folder.
	FolderMayBreak func(folder string) bool
	// Unstored is true while the newest configuration is not in the store yet. ConfigObserved is called once it is.
	Unstored bool
}

// Access changes how a daemon is reached. Without an Access, no change of gui.apiKey or of the API's port is sent.
type Access interface {
	// TryAccess checks whether the daemon answers at this port with this API key. It does not store them. It returns nil
	// if the daemon answers, and key_refused if the daemon refuses the key.
	TryAccess(ctx context.Context, id fleet.DeviceID, access fleet.Access) error
	// AdoptAccess replaces the port and API key in the device's record. The change is durable when it returns.
	AdoptAccess(ctx context.Context, id fleet.DeviceID, before, after fleet.Access) error
}

// Evaluator runs a template's program. An error with code invalid is the template's fault. Any other error may pass by
// itself.
type Evaluator interface {
	Evaluate(ctx context.Context, text string, in template.Input) (template.Result, error)
}

// Secrets returns one of Muster's own secrets by its name; not_found if no secret has this name.
type Secrets interface {
	Secret(ctx context.Context, name string) (fleet.StoredSecret, error)
}

// Options are the parts and settings of an Engine, for New.
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
	// Copies returns what is known of the copies of a folder. Nil: no change is held because of copies.
	Copies func(folder string) fleet.FolderCopies

	// IgnoresEvery is how often ignore patterns are read that no change of a folder's state announces. 0 means a minute.
	IgnoresEvery time.Duration

	// Found is called with the findings of each pass over a device. It must not block. Nil: nothing is reported.
	Found func(id fleet.DeviceID, f plan.Findings)
	// Passed is called if a pass over a device had another result than the pass before (see LastPass). It must not block.
	// It may be nil.
	Passed func(id fleet.DeviceID)
	// Step is called at each step of an apply or an order with the step's name, so that tests can stop the process
	// there. It may be nil.
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

// Steps of an order. The first two come with each request to the daemon. The last one comes before the result of the
// order is stored.
const (
	StepBeforeOrder  = "order: before it is told"
	StepAfterOrder   = "order: after it is told"
	StepAfterCarried = "order: carried out"
)
