// Package app is the whole server. It creates all parts and connects them, starts them in order and stops them in
// reverse order. It is the only package that imports all others. It makes no decisions about devices or templates.
package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"muster/docs"
	"muster/internal/adapter/discovery"
	"muster/internal/adapter/listen"
	"muster/internal/adapter/sandbox"
	"muster/internal/adapter/seal"
	"muster/internal/adapter/signon"
	"muster/internal/adapter/store"
	"muster/internal/adapter/syncthing"
	"muster/internal/adapter/tunnel"
	"muster/internal/edge/auth"
	"muster/internal/edge/httpapi"
	"muster/internal/edge/manual"
	"muster/internal/edge/pages"
	"muster/internal/engine/backup"
	"muster/internal/engine/budget"
	"muster/internal/engine/change"
	"muster/internal/engine/enrollment"
	"muster/internal/engine/event"
	"muster/internal/engine/health"
	"muster/internal/engine/mirror"
	"muster/internal/engine/notify"
	"muster/internal/engine/policy"
	"muster/internal/engine/prover"
	"muster/internal/engine/reconcile"
	"muster/internal/engine/revocation"
	"muster/internal/engine/rollout"
	"muster/internal/engine/sink"
	"muster/internal/engine/view"
	"muster/internal/fleet"
	"muster/internal/logkey"
	"muster/internal/stsim"
)

// stopLimit is how long stopping all parts together may take.
const stopLimit = 10 * time.Second

// bigAnswers is how many answers over 256 KiB are read at the same time. One of them may take 16 MiB.
const bigAnswers = 2

// Options are the settings of `muster serve`.
type Options struct {
	Home   string // home directory with the database, keys and tokens; created when missing
	Listen string // HOST:PORT
	// AgentListen is HOST:PORT of a port for agents only. "": agents connect to Listen, which must then use TLS.
	AgentListen string
	Database    string // "postgres://..."; "": SQLite in Home
	SealKey     fleet.Secret

	Configurator        fleet.Mode // on or observe; the stricter of this and the stored mode applies
	DiscoveryServers    []string   // "none" switches discovery off; empty: Syncthing's public servers
	DiscoveryAllowLocal bool

	// Settings are the flags that were given for settings. Each overrides the stored value; "" is not given.
	Settings map[fleet.SettingName]string

	Notify notify.Settings
	// NotifyAllowLocal allows webhooks and mail servers of settings on this machine and its links.
	NotifyAllowLocal bool
	// BackupLock is what scheduled backups are encrypted to.
	BackupLock backup.Lock
	// BackupRoots are folders below which administrators may have backups made, besides the one in Home.
	BackupRoots []string
	// BackupProgress is called with the progress of BackUp; it may be nil.
	BackupProgress func(backup.Progress)

	SignOn    SignOn
	PublicURL string // URL that people use; "": the address where the server listens

	TLSOff          bool
	TLSCert, TLSKey string
	AllowHosts      []string // further host names that clients may use for the server
	TrustedProxies  []netip.Prefix
	NewAdminToken   bool // make a new admin token, for a server whose token was lost

	Demo       int      // number of simulated daemons to start and manage
	DemoServer []string // command that starts a demo as a second server; empty: people cannot start one

	Worker  []string // command that evaluates templates, see sandbox.Options
	Build   fleet.Build
	Console fs.FS // files of the console, see pages.Options
	Log     *slog.Logger
	Out     io.Writer         // output for the line with the server's address
	Watched bool              // Out is a terminal, which a person reads and nothing keeps.
	Step    func(name string) // see reconcile.Options; for tests only
	// RetryPause is described at mirror.Options; for tests only.
	RetryPause time.Duration
	// IgnoresEvery is described at reconcile.Options; for tests only.
	IgnoresEvery time.Duration
}

// App is one server.
type App struct {
	o      Options
	log    *slog.Logger
	life   *lifecycle
	failed chan error
	budget budget.Descriptors
	flags  map[fleet.SettingName]string // settings that flags override
	policy *policy.Policy
	trials chan struct{} // It holds a token while a value of a setting is tried.

	newHome    bool // The home directory had no file of Muster before this start.
	firstStart bool // Neither the home nor the database was there before this start.

	changes     *changes
	store       *store.Store
	sealing     *seal.Rotation
	backups     *backup.Schedule
	mirror      *mirror.Mirror
	engine      *reconcile.Engine
	edits       *change.Changes
	runner      *rollout.Runner
	orders      *reconcile.OrderRunner
	revocations *revocation.Prover
	modeLimit   *modeLimit
	feed        *view.Feed
	events      httpapi.Publisher
	eventLog    *event.Log
	view        *view.View
	notifier    *notify.Notifier
	telling     *policy.Telling
	sinks       *sink.Sinks
	people      *auth.People
	enrolled    *enrollment.Enrollments
	signOn      SignOn           // It comes from flags or settings, as of the start.
	provider    *signon.Provider // nil: single sign-on is off
	public      *url.URL         // URL that people use; nil: unknown
	prover      *prover.Prover
	health      *health.Health
	folders     *health.Folders
	judging     sync.Mutex  // guards judged
	judged      bool        // the folders of all devices were judged at least once
	views       fleet.Views // Parts of the registry by scope.
	monitor     *health.Monitor
	discovery   *discovery.Discovery
	socket      *listen.Socket
	forAgents   *listen.Socket      // nil: agents connect to socket
	places      *budget.Connections // connections to daemons, direct and through agents
	connecting  syncthing.Options   // How each client of a daemon connects.
	memory      *budget.WorkMemory  // memory of templates, plans and answers
	hub         *tunnel.Hub
	agentEvents *tunnel.EventLimit
}

func newApp(o Options) *App {
	return &App{o: o, signOn: o.SignOn, log: o.Log, life: &lifecycle{log: o.Log.With(logkey.Component, "app")},
		failed: make(chan error, 1), memory: budget.NewWorkMemory(), changes: newChanges(), trials: make(chan struct{}, 1),
		agentEvents: tunnel.NewEventLimit()}
}

// New opens the database, listens, and connects all parts. When it fails it stops what it started. Run starts the
// engines.
func New(ctx context.Context, o Options) (_ *App, err error) {
	a := newApp(o)
	defer func() {
		if err != nil {
			err = errors.Join(err, a.Stop())
		}
	}()
	if a.flags, err = policy.ParseFlags(o.Settings); err != nil { // The options are checked before anything is created.
		return nil, err
	}
	if a.budget, err = budget.OfThisProcess(); err != nil {
		return nil, err
	}
	a.logBudget()
	if err := a.prepareHome(); err != nil {
		return nil, err
	}
	if err := a.allowPublic(); err != nil {
		return nil, err
	}
	a.places = a.budget.NewConnections()
	if err := a.listen(); err != nil {
		return nil, err
	}
	if err := a.openStore(ctx); err != nil {
		return nil, err
	}
	return a, a.wire(ctx)
}

func (a *App) openStore(ctx context.Context) error {
	opened, keys, err := a.openDatabase(ctx, store.Options{
		Log: a.log, Committed: a.committed, Reads: a.budget.Reads, Memory: a.memory, Taken: a.fail,
	})
	if err != nil {
		return err
	}
	a.store = opened
	a.policy = a.newPolicy(a.flags)
	a.telling = policy.NewTelling(a.store, a.checkChannel)
	opened.SetRetention(a.retention())
	a.sealing = seal.NewRotation(seal.RotationOptions{
		Store: opened, Keys: keys, Home: a.o.Home, Outside: !a.o.SealKey.IsZero(), Log: a.log, Step: a.o.Step,
	})
	if a.o.NewAdminToken {
		return renewAdmin(ctx, opened, a.o.Home)
	}
	created, err := auth.EnsureAdminToken(ctx, opened, a.o.Home)
	a.firstStart = a.newHome && created
	if created {
		a.log.Info("made the administrator's token", logkey.Path, filepath.Join(a.o.Home, auth.AdminTokenFile))
	}
	return err
}

// openDatabase opens the database in the options, with its seal keys.
func (a *App) openDatabase(ctx context.Context, o store.Options) (*store.Store, *seal.Ring, error) {
	keys, err := sealKeys(a.o)
	if err != nil {
		return nil, nil, err
	}
	o.DSN, o.Home, o.EndFile = a.o.Database, a.o.Home, filepath.Join(a.o.Home, store.EndFile)
	o.MakeSeal = func() (_ store.Sealer, err error) {
		keys, err = seal.Make(a.o.Home)
		return keys, err
	}
	if keys != nil {
		o.Seal = keys
	}
	opened, err := store.Open(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	a.life.onStop("store", func(context.Context) error { return opened.Close() })
	return opened, keys, nil
}

// wire creates the engines and the API.
func (a *App) wire(ctx context.Context) error {
	seed, err := a.store.Known(ctx)
	if err != nil {
		return fmt.Errorf("read what is last known of the devices: %w", err)
	}
	digestKey, err := a.store.OwnKey(ctx, "digests of passwords")
	if err != nil {
		return fmt.Errorf("read the key of password digests: %w", err)
	}
	pool := sandbox.New(sandbox.Options{Command: a.o.Worker, Memory: a.memory, Log: a.log})
	run := sandbox.Limited{Pool: pool}
	a.life.background("template workers", pool.Run, a.fail)
	if a.discovery, err = a.newDiscovery(); err != nil {
		return err
	}
	windows, off := a.troublePolicy()
	a.folders = health.NewFolders(windows, off...)
	a.modeLimit = &modeLimit{Store: a.store, mode: a.o.Configurator}
	a.view = a.newView()
	if a.eventLog, err = a.openEventLog(ctx); err != nil {
		return fmt.Errorf("read the event log: %w", err)
	}
	a.newFeed()
	if a.notifier, err = a.newNotifier(); err != nil {
		return err
	}
	a.sinks = a.newSinks()
	a.backups = a.newBackups()
	a.health = health.New()
	if err := a.openSignOn(ctx); err != nil { // The monitor checks the provider.
		return err
	}
	a.monitor = health.NewMonitor(a.log, a.checks(pool)...)
	measured, err := a.newMetrics(pool)
	if err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	a.connecting = syncthing.Options{BigAnswers: make(chan struct{}, bigAnswers), Discovered: a.discovery.Control,
		Measured: measured.Asked, Places: a.places, Agent: a.throughAgent}
	a.hub = tunnel.New(tunnel.Options{Log: a.log, Known: a.registered, Admit: a.admit, Changed: a.changes.tunnel,
		Event: a.agentEvent, Measured: measured.Pinged, Limits: tunnel.LimitsWithin(a.budget.Kept / strangersShare)})
	a.mirror = mirror.New(mirror.Options{
		Dial: func(t mirror.Target) mirror.Daemon {
			return client{syncthing.New(t, a.connecting)}
		},
		Resolver: a.newResolver(), Sink: a.store, MayWrite: a.store.CheckLock, Log: a.log, Seed: seed,
		Changed: a.snapshotChanged, ConfigStored: a.configStored, ConfigObserved: a.changes.configStored,
		RetryPause: a.o.RetryPause,
	})
	a.prover = a.newProver()
	a.folders.SetCopies(a.prover)
	daemons := daemons{a.mirror, a.store}
	a.engine = reconcile.New(reconcile.Options{
		Store: a.modeLimit, Daemon: daemons, Access: daemons, Evaluator: run,
		Secrets:   a.store,
		DigestKey: digestKey, Memory: a.memory, Log: a.log, Step: a.o.Step,
		Copies:       a.prover.FolderCopies,
		IgnoresEvery: a.o.IgnoresEvery,
		Found:        a.found, Passed: func(id fleet.DeviceID) { a.changes.device(id, 0) },
	})
	a.memory.Freed = a.engine.MemoryFreed
	a.edits = change.New(change.Options{Store: a.store, Planner: a.engine})
	if a.runner, err = a.newRunner(ctx, run); err != nil {
		return err
	}
	a.revocations = a.newRevocations()
	a.orders = reconcile.NewOrderRunner(loggedOrders{a.store, a.eventLog}, a.engine, a.prover, a.log)
	tokens := auth.NewTokens(a.store)
	a.life.background("uses of tokens", tokens.Run, a.fail)
	if a.people, err = a.newPeople(ctx); err != nil {
		return err
	}
	signOn, err := a.newSignOn(ctx)
	if err != nil {
		return err
	}
	if a.enrolled, err = a.newEnrollments(ctx); err != nil {
		return err
	}
	handler := httpapi.New(httpapi.Options{
		Log: a.log, Registry: a.scoped(), Auth: auth.NewAuthenticator(tokens, a.people).WithEnrollKeys(a.enrolled),
		Renewer: a.people, Changes: a.edits, Audit: a.store, Memory: a.memory, Answers: a.view, Measured: measured.Served,
		Web: httpapi.Web{
			Pages: pages.New(pages.Options{
				Log: a.log, Sessions: a.people, Links: a.people, SignOn: signOn, PublicURL: a.public, Console: a.o.Console,
				Manual: manual.New(docs.Files, httpapi.OpenAPIDocument).ServePage, Classify: httpapi.Classify,
			}),
			AllowedHosts: a.namesAt(a.socket.Addr()), TrustedProxies: a.o.TrustedProxies,
		},
		Nouns: slices.Concat(a.deviceNouns(), a.fleetNouns(run), a.peopleNouns(tokens, signOn), a.serviceNouns(measured)),
	})
	return a.start(ctx, run, handler)
}

// newView makes the view, which shows what the store, the mirror and health know.
func (a *App) newView() *view.View {
	return view.New(view.Options{
		Changed:        a.viewed,
		Snapshot:       func(id fleet.DeviceID) *fleet.Snapshot { return a.mirror.Snapshot(id) },
		State:          states{a}.State,
		Causes:         a.causes,
		FolderState:    a.folderState,
		FolderTroubles: a.folders.Troubles,
		IsYoung:        a.isYoung,
		FindingUnclear: a.findingUnclear,
		FolderStanding: a.folderStanding,
		PausedBy:       a.pausedBy,
		FolderHolders:  a.folderHolders,
		Common:         a.common,
		Mode:           a.o.Configurator,
		Wire:           httpapi.Wire{},
		Shares:         shares{a.store},
		Files:          asked{a},
		ViewFolders:    func(id fleet.DeviceID, folders ...string) { a.mirror.View(id, folders...) },
		Within:         a.memory.Do,
	})
}

// newFeed makes the feed, which publishes what the view shows.
func (a *App) newFeed() {
	a.events = httpapi.Publisher{Hub: a.eventLog.Hub, Log: a.log.With(logkey.Component, "events")}
	a.feed = view.NewFeed(view.FeedOptions{
		Registry: a.store.Registry, State: states{a}.State, View: a.view, Outlet: a.events, EventLog: a.eventLog,
		FolderStanding: a.folderStanding, Log: a.log,
		Snapshot: func(id fleet.DeviceID) *fleet.Snapshot { return a.mirror.Snapshot(id) },
	})
}

// start starts the long-running parts, the API last. They stop in reverse order: first the API, last the workers.
func (a *App) start(ctx context.Context, run sandbox.Limited, handler http.Handler) error {
	var farm *stsim.Farm
	if a.o.Demo > 0 {
		var err error
		if farm, err = startDemo(ctx, a.store, a.edits, run.CheckTemplate, a.o.Demo); err != nil {
			return err
		}
		a.life.onStop("simulated daemons", func(context.Context) error { return farm.Close() })
	}
	registry, err := a.store.Registry(ctx)
	if err != nil {
		return err
	}
	a.logRestored(registry)
	a.changes.lookFor(registry.Revocations)
	for id, device := range registry.Devices {
		a.mirror.Put(*device, registry.ModeOf(id) == fleet.ModePaused)
	}
	a.life.background("memory", budget.GiveBackAtRest, a.fail)
	a.life.background("event log", a.eventLog.Run, a.fail)
	a.life.background("events", a.feed.Run, a.fail)
	a.life.background("changes", a.forward, a.fail)
	a.life.background("discovery", a.discovery.Run, a.fail)
	a.life.background("agents", a.hub.Run, a.fail)
	a.life.background("mirror", a.mirror.Run, a.fail)
	a.life.background("old revisions", a.store.RunJanitor, a.fail)
	a.life.background("rotation of the seal key", a.sealing.Run, a.fail)
	a.life.background("audit", a.store.RunAuditor, a.fail)
	a.life.background("backups", a.backups.Run, a.fail)
	a.life.background("reconcile", a.engine.Run, a.fail)
	a.life.background("rollouts", a.runner.Run, a.fail)
	a.life.background("orders to daemons", a.orders.Run, a.fail)
	a.life.background("revocations", a.revocations.Run, a.fail)
	a.life.background("notify", a.notifier.Run, a.fail)
	a.life.background("sinks", a.sinks.Run, a.fail)
	a.life.background("health", a.monitor.Run, a.fail)
	a.life.background("history", a.newHistorian().Run, a.fail)
	a.life.background("copies", a.prover.Run, a.fail)
	a.life.background("sessions", a.people.Run, a.fail)
	a.life.background("certificate", a.socket.Run, a.fail)
	a.serveAgents()
	if farm != nil {
		a.life.background("simulated agents", func(ctx context.Context) error { return a.runDemoAgents(ctx, farm) }, a.fail)
	}
	server := listen.Server(handler, a.log)
	server.RegisterOnShutdown(a.events.Hub.Close) // Shutdown would wait for the event streams, so this ends them.
	a.life.onStop("api", func(ctx context.Context) error {
		err := server.Shutdown(ctx)
		return errors.Join(err, server.Close())
	})
	go func() {
		if err := server.Serve(a.socket); !errors.Is(err, http.ErrServerClosed) {
			a.fail(fmt.Errorf("serve the API: %w", err))
		}
	}()
	return nil
}

// Run prints the server's address. It blocks until ctx ends or a part of the server fails, and then stops everything.
func (a *App) Run(ctx context.Context) error {
	ready := "Muster is ready: " + a.socket.URL
	token := filepath.Join(a.o.Home, auth.AdminTokenFile)
	// The file may be gone: an administrator with another token may have removed it.
	if _, err := os.Stat(token); err == nil {
		ready += " (administrator's token in " + token + ")"
	}
	fmt.Fprintln(a.o.Out, ready)
	a.offerFirstLink(ctx)
	a.printAgentLine()
	var err error
	select {
	case <-ctx.Done():
		a.log.Info("stopping")
	case err = <-a.failed:
		a.log.Error("a part of the server failed", logkey.Err(err))
	}
	return errors.Join(err, a.Stop())
}

// Stop stops everything within stopLimit. It may be called twice.
func (a *App) Stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), stopLimit)
	defer cancel()
	return a.life.stop(ctx)
}

// URL returns the address of the API.
func (a *App) URL() string { return a.socket.URL }

func (a *App) fail(err error) {
	select {
	case a.failed <- err:
	default: // Another part has already failed.
	}
}

func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
