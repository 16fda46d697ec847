// Package app is the whole server: the only package that knows everybody. It wires the rooms, starts them in order and
// stops them in reverse; it decides nothing about devices or templates.
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
	"time"

	"muster/docs"
	"muster/internal/action"
	"muster/internal/auth"
	"muster/internal/backup"
	"muster/internal/budget"
	"muster/internal/discovery"
	"muster/internal/enrollment"
	"muster/internal/fleet"
	"muster/internal/health"
	"muster/internal/httpapi"
	"muster/internal/listen"
	"muster/internal/logkey"
	"muster/internal/manual"
	"muster/internal/memlimit"
	"muster/internal/mirror"
	"muster/internal/notify"
	"muster/internal/reconcile"
	"muster/internal/rollout"
	"muster/internal/sandbox"
	"muster/internal/seal"
	"muster/internal/signon"
	"muster/internal/store"
	"muster/internal/stsim"
	"muster/internal/syncthing"
	"muster/internal/tunnel"
)

// stopLimit is how long everything may take to stop.
const stopLimit = 10 * time.Second

// bigAnswers is how many daemons may send more than 256 KiB at a time. One of them may take 16 MiB.
const bigAnswers = 2

// Options are what `muster serve` can be told.
type Options struct {
	Home   string // folder of the database, keys and tokens; made when missing
	Listen string // HOST:PORT
	// AgentListen is a port of its own for agents; "": they connect to Listen, where that is TLS
	AgentListen string
	Database    string // "postgres://..."; "" is SQLite in Home
	SealKey     fleet.Secret

	Configurator        fleet.Mode // on or observe: the strictest of this and what is stored wins
	DiscoveryServers    []string   // "none" switches discovery off; empty: Syncthing's public ones
	DiscoveryAllowLocal bool

	ApprovalThreshold string        // "N" or "N%": rollouts over more devices wait for an admin's approval; "" is none
	FourEyes          bool          // another person approves than made the change
	Waves             string        // of rollouts, like "1,10%,rest"; "" is that
	Soak              time.Duration // of rollouts, see rollout.Options; 0: as long as the daemons need
	ProgressDeadline  time.Duration // likewise
	KeepRevisions     int           // of each device; 0: as many as usual
	KeepFor           time.Duration // 0: as long as usual

	Notify notify.Settings
	Backup backup.Plan
	// BackupProgress is told how far BackUp is; nil: it is not.
	BackupProgress func(backup.Progress)

	SessionIdle, SessionLife time.Duration // see auth.PeopleOptions; 0: as usual
	SignOn                   SignOn
	PublicURL                string // that people reach the server by; "": where it listens

	TLSOff          bool
	TLSCert, TLSKey string
	AllowHosts      []string // names that clients may address the server by
	TrustedProxies  []netip.Prefix
	NewAdminToken   bool // makes another one where the first is lost

	Demo       int      // simulated daemons to start and manage
	DemoServer []string // command that starts a demo beside this server; none: people cannot

	Worker  []string // command that evaluates templates, see sandbox.Options
	Version string
	Console fs.FS // see httpapi.Options
	Log     *slog.Logger
	Out     io.Writer         // for the line that says where the server is
	Step    func(name string) // see reconcile.Options; for tests
}

// App is one server.
type App struct {
	o      Options
	log    *slog.Logger
	life   *lifecycle
	failed chan error
	budget budget.Descriptors
	policy rolloutPolicy

	changes   *changes
	store     *store.Store
	sealing   *seal.Rotation
	backups   *backup.Schedule
	mirror    *mirror.Mirror
	engine    *reconcile.Engine
	runner    *rollout.Runner
	actions   *action.Runner
	ceiling   *ceiling
	feed      *httpapi.Feed
	inventory *httpapi.Inventory
	notifier  *notify.Notifier
	people    *auth.People
	enrolled  *enrollment.Enrollments
	provider  *signon.Provider // nil: there is no single sign-on
	public    *url.URL         // that people reach the server by; nil: it is not known
	health    *health.Health
	views     fleet.Views
	monitor   *health.Monitor
	rollup    *health.Rollup
	discovery *discovery.Discovery
	socket    *listen.Socket
	forAgents *listen.Socket      // nil: agents connect to socket
	places    *budget.Connections // to daemons, in both ways
	hub       *tunnel.Hub
	news      *tunnel.NewsLimit
}

func newApp(o Options) *App {
	return &App{o: o, log: o.Log, life: &lifecycle{log: o.Log.With(logkey.Component, "app")},
		failed: make(chan error, 1), changes: newChanges(), news: tunnel.NewNewsLimit()}
}

// New opens the database, listens and wires everything; what it started before a failure it stops again. Run starts
// the engines.
func New(ctx context.Context, o Options) (_ *App, err error) {
	a := newApp(o)
	defer func() {
		if err != nil {
			err = errors.Join(err, a.Stop())
		}
	}()
	if a.policy, err = policyOf(o); err != nil { // before anything is made
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
		Log: a.log, Committed: a.committed, Reads: a.budget.Reads, Taken: a.fail,
	})
	if err != nil {
		return err
	}
	a.store = opened
	a.sealing = seal.NewRotation(seal.RotationOptions{
		Store: opened, Keys: keys, Home: a.o.Home, Outside: !a.o.SealKey.IsZero(), Log: a.log, Step: a.o.Step,
	})
	if a.o.NewAdminToken {
		return renewAdmin(ctx, opened, a.o.Home)
	}
	created, err := auth.EnsureAdminToken(ctx, opened, a.o.Home)
	if created {
		a.log.Info("made the administrator's token", logkey.Path, filepath.Join(a.o.Home, auth.AdminTokenFile))
	}
	return err
}

// openDatabase opens the database that the options name, with its seal keys.
func (a *App) openDatabase(ctx context.Context, o store.Options) (*store.Store, *seal.Ring, error) {
	keys, err := sealKeys(a.o)
	if err != nil {
		return nil, nil, err
	}
	o.DSN, o.Home = a.o.Database, a.o.Home
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

// wire makes the engines and the API on top of the store.
func (a *App) wire(ctx context.Context) error {
	seed, err := a.store.Known(ctx)
	if err != nil {
		return fmt.Errorf("read what is last known of the devices: %w", err)
	}
	digestKey, err := a.store.OwnKey(ctx, "digests of passwords")
	if err != nil {
		return fmt.Errorf("read the key of password digests: %w", err)
	}
	pool := sandbox.New(sandbox.Options{Command: a.o.Worker, Log: a.log})
	memory := memlimit.New()
	run := sandbox.Limited{Pool: pool, Memory: memory}
	a.life.background("template workers", pool.Run, a.fail)
	// Until then they count as reading everything.
	if err := a.store.DescribeTemplates(ctx, run.DescribeSaved); err != nil {
		a.log.Warn("what templates read is not known of all", logkey.Err(err))
	}
	if a.discovery, err = a.newDiscovery(); err != nil {
		return err
	}
	a.ceiling = &ceiling{Store: a.store, mode: a.o.Configurator}
	a.inventory = httpapi.NewInventory(httpapi.InventoryOptions{
		Snapshot: func(id fleet.DeviceID) *fleet.Snapshot { return a.mirror.Snapshot(id) },
		State:    states{a}.State, Common: a.common, Mode: a.o.Configurator,
	})
	a.feed = httpapi.NewFeed(httpapi.FeedOptions{
		Registry: a.store.Registry, State: states{a}.State, Inventory: a.inventory, Log: a.log,
		Snapshot: func(id fleet.DeviceID) *fleet.Snapshot { return a.mirror.Snapshot(id) },
	})
	if a.notifier, err = a.newNotifier(); err != nil {
		return err
	}
	a.backups = a.newBackups()
	a.health = health.New()
	a.rollup = health.NewRollup()
	a.monitor = health.NewMonitor(a.log, a.checks(pool)...)
	measured, err := a.newMetrics(pool)
	if err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	big := make(chan struct{}, bigAnswers)
	a.hub = tunnel.New(tunnel.Options{Log: a.log, Known: a.registered, Admit: a.admit, Changed: a.changes.tunnel,
		News: a.agentNews, Measured: measured.Pinged, Limits: tunnel.LimitsWithin(a.budget.Kept / strangersShare)})
	a.mirror = mirror.New(mirror.Options{
		Dial: func(t mirror.Target) mirror.Daemon {
			return client{syncthing.New(t, syncthing.Options{
				Log: a.log, BigAnswers: big, Discovered: a.discovery.Control, Measured: measured.Asked, Places: a.places,
				Agent: a.throughAgent,
			})}
		},
		Resolver: a.newResolver(), Sink: a.store, MayWrite: a.store.CheckLock, Log: a.log, Seed: seed,
		Changed: a.deviceChanged, ConfigKept: a.configKept, ConfigSeen: a.changes.configKept,
	})
	daemons := daemons{a.mirror, a.store}
	if a.runner, err = a.newRunner(ctx, run); err != nil {
		return err
	}
	a.engine = reconcile.New(reconcile.Options{
		Store: a.ceiling, Daemon: daemons, Access: daemons, Evaluator: run,
		Secrets:   a.store,
		DigestKey: digestKey, Memory: memory, Log: a.log, Step: a.o.Step,
		Found: a.found, Passed: func(id fleet.DeviceID) { a.changes.device(id, 0) },
	})
	a.actions = action.New(action.Options{Store: a.store, Daemons: a.engine, Log: a.log})
	tokens := auth.NewTokens(a.store)
	a.life.background("uses of tokens", tokens.Run, a.fail)
	if err := a.openSignOn(ctx); err != nil {
		return err
	}
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
		Log: a.log, Registry: a.store, Devices: a.store, Templates: a.store, Versions: a.store,
		Edits: a.store, Tags: a.store, Settings: a.store, Vars: a.store,
		Mirror: masked{a.store}, Folders: folders{a.store, a.rollup},
		Shares: folders{a.store, a.rollup}, States: states{a}, Inventory: a.inventory,
		Plans: a.engine, Reasons: a.engine,
		Consents: struct {
			*reconcile.Engine
			*store.Store
		}{a.engine, a.store},
		Trust: struct {
			*store.Store
			*mirror.Mirror
		}{a.store, a.mirror},
		WhatIf: struct {
			*reconcile.Engine
			*rollout.Runner
		}{a.engine, a.runner},
		Checker: struct {
			sandbox.Limited
			*reconcile.Engine
		}{run, a.engine},
		Audit: a.store, Events: a.feed.Hub, Memory: memory, Evaluator: a.engine,
		Auth:   auth.NewAuthenticator(tokens, a.people).WithEnrollKeys(a.enrolled),
		Tokens: tokens, Users: a.people, Sessions: a.people,
		LoginLinks: a.people, SignOn: signOn, PublicURL: a.public,
		Enrollments: a.enrolled,
		Console:     a.o.Console, Manual: manual.New(docs.Files, httpapi.OpenAPIDocument),
		AllowedHosts: a.namesAt(a.socket.Addr()), TrustedProxies: a.o.TrustedProxies, Ceiling: a.o.Configurator,
		Rollouts: rollouts{a.runner, a.store}, Revisions: struct {
			masked
			*reconcile.Engine
		}{masked{a.store}, a.engine},
		Overview: a.rollup, History: a.store, Health: a.monitor, Visited: a.mirror.Visited,
		Pending: inbox{a.mirror, a.engine},
		Actions: a.actions, ActionRuns: a.store,
		Notifications: a.notifier, Secrets: a.store, Metrics: measured.Handler(),
		Measured: measured.Served, Sealing: a.sealing, Demo: a.demo(), Backups: a.backups,
		Certificate: a.socket.Served,
	})
	return a.start(ctx, run, handler)
}

// start starts what runs for long, the API last. It stops in reverse: first the API, last the workers.
func (a *App) start(ctx context.Context, run sandbox.Limited, handler http.Handler) error {
	var farm *stsim.Farm
	if a.o.Demo > 0 {
		var err error
		if farm, err = startDemo(ctx, a.store, a.o.Demo); err != nil {
			return err
		}
		if err := a.store.DescribeTemplates(ctx, run.DescribeSaved); err != nil {
			return errors.Join(err, farm.Close())
		}
		a.life.onStop("simulated daemons", func(context.Context) error { return farm.Close() })
	}
	registry, err := a.store.Registry(ctx)
	if err != nil {
		return err
	}
	a.logRestored(registry)
	for id, device := range registry.Devices {
		a.mirror.Put(*device, registry.ModeOf(id) == fleet.ModePaused)
		a.count(id)
		if s := a.mirror.Snapshot(id); s != nil {
			a.rollup.SetFolders(id, s.Folders)
			a.rollup.SetSummaries(id, s.Summaries)
		}
	}
	a.life.background("events", a.feed.Run, a.fail)
	a.life.background("changes", a.forward, a.fail)
	a.life.background("discovery", a.discovery.Run, a.fail)
	a.life.background("agents", a.hub.Run, a.fail)
	a.life.background("mirror", a.mirror.Run, a.fail)
	a.life.background("old revisions", a.forgetOld, a.fail)
	a.life.background("rotation of the seal key", a.sealing.Run, a.fail)
	a.life.background("audit", a.store.RunAuditor, a.fail)
	a.life.background("backups", a.backups.Run, a.fail)
	a.life.background("reconcile", a.engine.Run, a.fail)
	a.life.background("rollouts", a.runner.Run, a.fail)
	a.life.background("orders to daemons", a.actions.Run, a.fail)
	a.life.background("notify", a.notifier.Run, a.fail)
	a.life.background("health", a.monitor.Run, a.fail)
	a.life.background("history", a.newHistorian().Run, a.fail)
	a.life.background("sessions", a.people.Run, a.fail)
	a.life.background("certificate", a.socket.Run, a.fail)
	a.serveAgents()
	if farm != nil {
		a.life.background("simulated agents", func(ctx context.Context) error { return a.runDemoAgents(ctx, farm) }, a.fail)
	}
	server := listen.Server(handler, a.log)
	server.RegisterOnShutdown(a.feed.Hub.Close) // ends the event streams, for which Shutdown would wait
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

// Run says where the server is and blocks until ctx ends or a part of the server fails, then stops everything.
func (a *App) Run(ctx context.Context) error {
	ready := "Muster is ready: " + a.socket.URL
	token := filepath.Join(a.o.Home, auth.AdminTokenFile)
	if _, err := os.Stat(token); err == nil { // an administrator with a token of their own may have removed the file
		ready += " (administrator's token in " + token + ")"
	}
	fmt.Fprintln(a.o.Out, ready)
	a.printFirstLink(ctx)
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

// Stop stops everything within ten seconds. It may be called twice.
func (a *App) Stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), stopLimit)
	defer cancel()
	return a.life.stop(ctx)
}

// URL is where the API answers.
func (a *App) URL() string { return a.socket.URL }

func (a *App) fail(err error) {
	select {
	case a.failed <- err:
	default: // another part failed before
	}
}

func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
