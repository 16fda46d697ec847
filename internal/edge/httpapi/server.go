// Package httpapi is the REST API: routes, mapping between the wire and the vocabulary, errors to statuses. No SQL and
// no business rules: what may be done and what comes of it is decided behind the interfaces that it declares, one file
// per noun.
package httpapi

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"

	"muster/internal/edge/auth"
	"muster/internal/fleet"
)

// Prefix is where the API lives.
const Prefix = "/api/v1"

// maxBody is the largest request body, in bytes.
const maxBody = 4 << 20

// Registry gives everything that is registered, at one generation. What one call returned is never changed; a write
// that returned is in what the next call returns.
type Registry interface {
	Registry(ctx context.Context) (*fleet.Registry, error)
}

// Authenticator finds out who sends a request.
type Authenticator interface {
	Authenticate(r *http.Request) (auth.Principal, error)
}

// Options is what the API stands on. Where an interface is nil, the routes that need it answer 503; Log, Registry and
// Auth are always needed.
type Options struct {
	Common
	Views
	People
	Service
	Devices
	Templates
	Web
	Rollouts Rollouts
	Runner   RolloutRunner // set where Rollouts is
	EventLog EventLog
	Events   Events // whose closing ends the streams: do that before the server is shut down
}

// Common is what routes of all nouns use.
type Common struct {
	Log      *slog.Logger
	Registry Registry
	// Parts are the parts of the registry by scope, shared with others who make them; nil: a cache of its own.
	Parts   *fleet.Views
	Auth    Authenticator
	Changes Changes
	Audit   Audit  // nil: what is no write of the store leaves no trace
	Memory  Memory // of routes whose answers may be large; nil: there is none
	// Measured is told how long each request took, by the operation's name in the OpenAPI document; not of event streams.
	// Nil: it is not measured.
	Measured func(operation string, status int, took time.Duration)
}

// Devices is what is known of single devices, and what is asked of them.
type Devices struct {
	Mirror       Mirror
	Logs         Logs  // nil: daemons are not asked
	Disks        Disks // nil: nobody tells of disks
	Trust        Trust
	Plans        Plans
	Reasons      Reasons
	Consents     Consents
	Revisions    Revisions
	Pending      Pending
	OrderRunner  OrderRunner  // nil: no orders are given to daemons
	OrderRecords OrderRecords // set where OrderRunner is
}

// Templates is what people decide about the fleet.
type Templates struct {
	Versions  TemplateHistory
	Checker   Checker
	Evaluator Evaluator
	WhatIf    WhatIf
	Secrets   Secrets
	Settings  Settings
}

// Web is how the server is reached, and what browsers see of it.
type Web struct {
	// Pages are what browsers see besides the API, by their patterns as http.ServeMux has them. A page that gives an error
	// wrote nothing; fs.ErrNotExist is nothing at the path.
	Pages map[string]func(w http.ResponseWriter, r *http.Request) error
	// TrustedProxies say by X-Forwarded-For which client they send a request for.
	TrustedProxies []netip.Prefix
	// AllowedHosts are names, without port, that the server may be called by in a Host header, besides localhost, the
	// loopback addresses and the address that a connection came in on.
	AllowedHosts []string
}

// Views are what is shown of many devices at once.
type Views struct {
	Inventory Inventory
	Folders   Folders
	Shares    Shares
	Files     Files // nil: daemons are not asked
	States    States
	History   History
	Answers   Answers
	Summaries Summaries
	Stops     Stops
}

// People are those who use the API: what they have to prove who they are, and what asks to become a device.
type People struct {
	Tokens      Tokens
	Users       Users
	Sessions    Sessions
	Tickets     Tickets // set where Sessions is, as Renewer
	Renewer     Renewer
	LoginLinks  LoginLinks
	Enrollments Enrolling
	SignOn      SignOn // nil: there is no single sign-on
}

// Service is this process: what it is made of, and how it stands.
type Service struct {
	Build       fleet.Build // the program that runs
	Health      Health
	Sealing     Sealing
	Demo        Demo
	Backups     Backups              // nil: none are made by themselves
	Certificate func() *fleet.Served // of this API; nil, or giving nil: it is plain HTTP
	Metrics     http.Handler         // writes the numbers of /metrics
}

// server answers the REST API.
type server struct {
	*base
	Options
	mux         *http.ServeMux
	routes      []route
	methods     map[string][]string // of every path pattern
	hosts       map[string]bool
	crossOrigin *http.CrossOriginProtection
	patience    time.Duration // see writePatience
	openAPI     func() reply  // encoded when it is asked for first
	events      *eventHandlers
}

// New is the handler of every path of the API; it starts nothing.
func New(options Options) http.Handler { return newServer(options) }

func newServer(options Options) *server {
	s := &server{
		base:        newBase(options),
		Options:     options,
		mux:         http.NewServeMux(),
		methods:     map[string][]string{},
		patience:    writePatience,
		hosts:       allowedHosts(options.AllowedHosts),
		crossOrigin: http.NewCrossOriginProtection(),
	}
	s.routes = s.allRoutes()
	for _, rt := range s.routes {
		s.register(rt)
	}
	s.mux.HandleFunc("/", s.unknown)
	for pattern, page := range options.Pages {
		s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			switch err := page(w, r); {
			case errors.Is(err, fs.ErrNotExist):
				s.fail(w, r, unknownPath())
			case err != nil:
				s.fail(w, r, err)
			}
		})
	}
	s.openAPI = sync.OnceValue(func() reply { return document(s.routes) })
	return s
}

// allRoutes joins the routes of all nouns. The handlers of a noun have only what they call.
func (s *server) allRoutes() []route {
	b, o := s.base, s.Options
	settings := settingHandlers{base: b, Settings: o.Settings, Stops: o.Stops}
	rollouts := rolloutHandlers{base: b, Rollouts: o.Rollouts, Runner: o.Runner}
	templates := templateHandlers{base: b, Checker: o.Checker, Evaluator: o.Evaluator, Versions: o.Versions,
		evaluations: newTurns(maxEvaluations)}
	planning := planningHandlers{templateHandlers: templates, WhatIf: o.WhatIf, Inventory: o.Inventory,
		turns: newTurns(maxWhatIfs)}
	s.events = &eventHandlers{base: b, Rollouts: o.Rollouts, Events: o.Events, EventLog: o.EventLog, States: o.States,
		Inventory: o.Inventory, streaming: streamTimes, streams: callerLimit{most: streamsPerToken}, permit: s.permit}
	folders := folderHandlers{base: b, Folders: o.Folders, Shares: o.Shares, Mirror: o.Mirror}
	return slices.Concat(
		deviceHandlers{base: b}.deviceRoutes(),
		mirrorHandlers{base: b, Mirror: o.Mirror}.mirrorRoutes(),
		stateHandlers{base: b, States: o.States, Folders: o.Folders, Inventory: o.Inventory}.stateRoutes(),
		diskHandlers{base: b, Disks: o.Disks}.diskRoutes(),
		trustHandlers{base: b, Trust: o.Trust}.trustRoutes(),
		planHandlers{base: b, Plans: o.Plans, States: o.States}.planRoutes(),
		whyHandlers{base: b, Reasons: o.Reasons}.whyRoutes(),
		consentHandlers{base: b, Consents: o.Consents}.consentRoutes(),
		planning.whatIfRoutes(), planning.differenceRoutes(), planning.changeRoutes(), planning.fleetRoutes(),
		rollouts.rolloutRoutes(),
		revisionHandlers{base: b, Revisions: o.Revisions}.revisionRoutes(),
		settings.settingRoutes(), settings.rootRoutes(),
		varsHandlers{base: b}.varsRoutes(),
		templates.templateRoutes(), templates.templateHistoryRoutes(), templates.evaluateRoutes(),
		tagHandlers{base: b}.tagRoutes(),
		folders.folderRoutes(), folders.folderStandingRoutes(),
		fileHandlers{base: b, Files: o.Files, Logs: o.Logs, Shares: o.Shares}.fileRoutes(),
		folders.shareRoutes(),
		s.events.eventRoutes(),
		tokenHandlers{base: b, Tokens: o.Tokens}.tokenRoutes(),
		userHandlers{base: b, Users: o.Users}.userRoutes(),
		sessionHandlers{Sessions: o.Sessions, Tickets: o.Tickets}.sessionRoutes(),
		loginLinkHandlers{LoginLinks: o.LoginLinks}.loginLinkRoutes(),
		signOnHandlers{HasPasswords: o.Sessions != nil, SignOn: o.SignOn}.signOnRoutes(),
		secretHandlers{base: b, Secrets: o.Secrets}.secretRoutes(),
		sealHandlers{base: b, Sealing: o.Sealing}.sealRoutes(),
		demoHandlers{base: b, Demo: o.Demo}.demoRoutes(),
		versionHandlers{Build: o.Build}.versionRoutes(),
		auditHandlers{base: b, Audit: o.Audit, verifications: make(chan struct{}, 1)}.auditRoutes(),
		enrollmentHandlers{base: b, Enrollments: o.Enrollments}.enrollmentRoutes(),
		enrollKeyHandlers{base: b, Keys: o.Enrollments}.enrollKeyRoutes(),
		claimHandlers{base: b, Claims: o.Enrollments}.claimRoutes(),
		pendingHandlers{base: b, Pending: o.Pending}.pendingRoutes(),
		orderHandlers{base: b, OrderRunner: o.OrderRunner, OrderRecords: o.OrderRecords}.orderRoutes(),
		inventoryHandlers{base: b, Inventory: o.Inventory}.inventoryRoutes(),
		waitingHandlers{base: b, Summaries: o.Summaries}.waitingRoutes(),
		overviewHandlers{base: b, Summaries: o.Summaries, Stops: o.Stops, Backups: o.Backups, Certificate: o.Certificate}.
			overviewRoutes(),
		folders.rollupRoutes(),
		historyHandlers{base: b, History: o.History, Folders: o.Folders}.historyRoutes(),
		stopHandlers{base: b, Stops: o.Stops}.stopRoutes(),
		metricHandlers{Metrics: o.Metrics}.metricRoutes(),
		healthHandlers{Health: o.Health}.healthRoutes(),
		s.openAPIRoutes(),
	)
}
