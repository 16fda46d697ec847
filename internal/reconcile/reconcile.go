// Package reconcile brings one device after another to what its templates ask: registry and observed configuration to
// desired, plan, recorded intent, fresh read, narrow writes, read back, outcome. It never writes what a plan does not
// say, and knows nothing of HTTP, SQL or how a daemon is reached.
package reconcile

import (
	"context"
	"log/slog"
	"time"

	"muster/internal/fleet"
	"muster/internal/memlimit"
	"muster/internal/plan"
	"muster/internal/stconfig"
	"muster/internal/template"
)

// Store is what is kept. Entries and intents are durable when a call returns.
type Store interface {
	Registry(ctx context.Context) (*fleet.Registry, error)
	// Admission says which generation each device is admitted to.
	Admission(ctx context.Context) (*fleet.Admission, error)
	// ObservedConfig is the newest configuration seen; not_found before the first.
	ObservedConfig(ctx context.Context, id fleet.DeviceID) (fleet.ObservedConfig, error)
	BaseEntries(ctx context.Context, id fleet.DeviceID) ([]fleet.BaseEntry, error)
	// FolderPaths are where folders of a device were ever seen.
	FolderPaths(ctx context.Context, id fleet.DeviceID) ([]string, error)
	// PutBaseEntries replaces the entries of a device.
	PutBaseEntries(ctx context.Context, id fleet.DeviceID, entries []fleet.BaseEntry) error
	IntentStore
	StopStore
	ConsentStore
	RevisionStore
}

// IntentStore keeps what is about to be written to daemons, and what became of it.
type IntentStore interface {
	// BeginIntent records an intent and replaces the device's entries in one transaction; it gives the intent's ID.
	BeginIntent(ctx context.Context, intent fleet.Intent, entries []fleet.BaseEntry) (int64, error)
	// FinishIntent records what became of an intent, with all that follows from it in one transaction.
	FinishIntent(ctx context.Context, id int64, e fleet.Ending) error
	// OpenIntents are the intents without outcome, oldest first.
	OpenIntents(ctx context.Context) ([]fleet.Intent, error)
}

// Daemon talks to the daemon of a device. Errors carry a fleet.Code: rejected for a 4xx answer to a write; unavailable
// for what may be tried again.
type Daemon interface {
	// Config reads the configuration now. What it returns becomes the device's observed configuration.
	Config(ctx context.Context, id fleet.DeviceID) (fleet.ObservedConfig, error)
	Ignores(ctx context.Context, id fleet.DeviceID, folder string) ([]string, error)
	// Session is for several calls in a row over one connection. Until it is closed, nothing else waits for long: close
	// it soon, and make no other call meanwhile.
	Session(ctx context.Context, id fleet.DeviceID) (Session, error)
	// Known is what is known of the daemon without asking it.
	Known(id fleet.DeviceID) Known
	// TakeKept gives a configuration that the store was given a moment ago, once; nil when it is to be read from there.
	TakeKept(id fleet.DeviceID) *fleet.ObservedConfig
}

// Session is one connection to the daemon of a device. It is for one goroutine.
type Session interface {
	// Config is as Daemon.Config. The document comes with it where it is small and was parsed already.
	Config(ctx context.Context) (fleet.ObservedConfig, stconfig.Value, error)
	// Run tells the daemon's present run, from one start to the next, from others; "" where the daemon does not say.
	Run(ctx context.Context) (string, error)
	Ignores(ctx context.Context, folder string) ([]string, error)
	SetIgnores(ctx context.Context, folder string, lines []string) error
	// Write sends one write, once; path begins with /rest/ and is escaped.
	Write(ctx context.Context, method, path string, body []byte) error
	// RestartRequired tells whether something takes effect only when the daemon starts anew; Restart has it do so.
	RestartRequired(ctx context.Context) (bool, error)
	Restart(ctx context.Context) error
	// Release has the daemon find out its newest release.
	Release(ctx context.Context) (fleet.Release, error)
	DismissPending(ctx context.Context, asks fleet.Pending) error
	Close() // twice is fine
}

// Known is what is known of a daemon without asking it.
type Known struct {
	Online       bool
	Started      string // when the daemon started, as it reports it; "" when that is not known
	Address      string // host that is used to reach it; "" when none is known
	ByAgent      bool   // it is reached by its agent
	AddressFixed bool   // it reports guiAddressOverridden
	TooOld       bool   // it has no /rest/config
	Version      fleet.Version
	System       fleet.System
	Digest       string                                    // of the newest configuration, "" when that is not known
	NeverRead    bool                                      // no configuration was ever read
	FolderErrors map[string]string                         // of the folders that cannot work
	FolderRuns   func(folder string, since time.Time) bool // it was seen without error after a time, or is gone
	// the newest configuration is not in the store yet; ConfigSeen follows
	Unkept bool
}

// Access changes how a daemon is reached. Without it no change of gui.apiKey or of the API's port is sent.
type Access interface {
	// TryAccess tells whether the daemon answers at a port to an API key, without adopting them: nil, or an error with
	// key_refused when it answers and does not take the key.
	TryAccess(ctx context.Context, id fleet.DeviceID, access fleet.Access) error
	// AdoptAccess makes an access the one in the device's record, in place of another; durable when it returns.
	AdoptAccess(ctx context.Context, id fleet.DeviceID, before, after fleet.Access) error
}

// Evaluator runs a template's program. An error with invalid is the template's fault; any other may pass.
type Evaluator interface {
	Evaluate(ctx context.Context, text string, in template.Input) (template.Result, error)
}

// Secrets gives a secret of Muster's own; not_found when there is none of that name.
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
	Workers   int             // devices worked on at once; 64 when 0
	DigestKey []byte          // keys the digests of passwords that were sent
	Memory    *memlimit.Limit // for all plans together; nil: one of its own

	// Found is told what each pass over a device found out. It must not block. Nil: nothing is reported.
	Found func(id fleet.DeviceID, f plan.Findings)
	// Passed is told when the result of a device's last pass is another one, see LastPass. It must not block.
	Passed func(id fleet.DeviceID)
	// Step names the steps of an apply as they are reached, for tests that stop the process there.
	Step func(name string)
}

// StepsOfChanges begins the names of the steps of a restore or an amendment.
const StepsOfChanges = "change: "

// The steps of an apply, as Options.Step names them. Writes carry their number, from 1.
const (
	StepBeforeIntent  = "before intent"
	StepAfterIntent   = "after intent"
	StepAfterRead     = "after read"
	StepBeforeWrite   = "before write " // and its number
	StepAfterWrite    = "after write "  // and its number
	StepBeforeVerify  = "before verify"
	StepBeforeOutcome = "before outcome"
)
