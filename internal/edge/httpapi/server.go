// Package httpapi is the REST API: routes, mapping between the wire and the vocabulary, errors to statuses. No SQL and
// no business rules: what may be done and what comes of it is decided behind the interfaces that it declares, one file
// per noun.
package httpapi

import (
	"context"
	"io/fs"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"sync"
	"time"

	"muster/internal/edge/auth"
	"muster/internal/fleet"
	"muster/internal/logkey"
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

// Options is what the API stands on. Where something is nil, the routes that need it answer 503; Log, Registry and
// Auth are always needed.
type Options struct {
	Log      *slog.Logger
	Registry Registry
	Views
	People
	Service
	Changes      Changes
	Versions     TemplateHistory
	Settings     Settings
	Mirror       Mirror
	Logs         Logs // nil: daemons are not asked
	Trust        Trust
	Plans        Plans
	Reasons      Reasons
	Consents     Consents
	WhatIf       WhatIf
	Audit        Audit // nil: what is no write of the store leaves no trace
	Rollouts     Rollouts
	Revisions    Revisions
	Pending      Pending
	OrderRunner  OrderRunner  // nil: no orders are given to daemons
	OrderRecords OrderRecords // set where OrderRunner is
	Secrets      Secrets
	Disks        Disks  // nil: nobody tells of disks
	Memory       Memory // of routes whose answers may be large; nil: there is none
	Checker      Checker
	Evaluator    Evaluator
	EventLog     EventLog
	Events       Events // whose closing ends the streams: do that before the server is shut down
	Auth         Authenticator
	PublicURL    *url.URL // that people reach the server by; nil: it is not known
	Console      fs.FS    // the browser console; nil: the pages log people in and out, and nothing more
	Manual       Manual   // nil: there is none

	// Measured is told how long each request took, by the operation's name in the OpenAPI document; not of event streams.
	// Nil: it is not measured.
	Measured func(operation string, status int, took time.Duration)
	// TrustedProxies say by X-Forwarded-For which client they send a request for.
	TrustedProxies []netip.Prefix
	// AllowedHosts are names, without port, that the server may be called by in a Host header, besides localhost, the
	// loopback addresses and the address that a connection came in on.
	AllowedHosts []string
	// Ceiling is the mode that the server was started with: where it is stricter than what a user sets, the answer
	// says so. Blank: on.
	Ceiling fleet.Mode
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
}

// People are those who use the API: what they have to prove who they are, and what asks to become a device.
type People struct {
	Tokens      Tokens
	Users       Users
	Sessions    Sessions
	LoginLinks  LoginLinks
	Enrollments Enrollments
	SignOn      SignOn // nil: there is no single sign-on
}

// Service is this process: what it is made of, and how it stands.
type Service struct {
	Build         fleet.Build // the program that runs
	Health        Health
	Visited       func() int // devices that are visited in turn instead of followed; nil: none
	Notifications Notifications
	Sealing       Sealing
	Demo          Demo
	Backups       Backups              // nil: none are made by themselves
	Certificate   func() *fleet.Served // of this API; nil, or giving nil: it is plain HTTP
	Metrics       http.Handler         // writes the numbers of /metrics
}

// server answers the REST API.
type server struct {
	Options
	log         *slog.Logger
	mux         *http.ServeMux
	routes      []route
	methods     map[string][]string // of every path pattern
	hosts       map[string]bool
	crossOrigin *http.CrossOriginProtection
	streaming   streaming
	streams     callerLimit   // of event streams, by the name of the token
	patience    time.Duration // see writePatience
	whatIfs     chan struct{} // holds a token for each that is under way
	evaluations chan struct{} // likewise
	plans       chan struct{} // likewise

	verifications chan struct{} // likewise
	openAPI       func() reply  // encoded when it is asked for first
}

// New is the handler of every path of the API; it starts nothing.
func New(options Options) http.Handler { return newServer(options) }

func newServer(options Options) *server {
	s := &server{
		Options:       options,
		log:           options.Log.With(logkey.Component, "httpapi"),
		mux:           http.NewServeMux(),
		methods:       map[string][]string{},
		streaming:     streamTimes,
		streams:       callerLimit{most: streamsPerToken},
		patience:      writePatience,
		whatIfs:       make(chan struct{}, maxWhatIfs),
		evaluations:   make(chan struct{}, maxEvaluations),
		plans:         make(chan struct{}, maxPlans),
		verifications: make(chan struct{}, 1),
		hosts:         allowedHosts(options.AllowedHosts),
		crossOrigin:   http.NewCrossOriginProtection(),
	}
	s.Registry = &scopedRegistry{whole: options.Registry}
	s.routes = s.allRoutes()
	for _, rt := range s.routes {
		s.register(rt)
	}
	s.mux.HandleFunc("/", s.unknown)
	s.handlePages()
	s.openAPI = sync.OnceValue(func() reply { return document(s.routes) })
	return s
}

func (s *server) allRoutes() []route {
	var all []route
	for _, of := range []func() []route{
		s.deviceRoutes, s.mirrorRoutes, s.stateRoutes, s.diskRoutes, s.trustRoutes, s.planRoutes, s.whyRoutes,
		s.consentRoutes, s.whatIfRoutes, s.differenceRoutes,
		s.changeRoutes, s.fleetRoutes, s.rolloutRoutes, s.revisionRoutes,
		s.settingRoutes, s.rootRoutes, s.varsRoutes, s.templateRoutes, s.templateHistoryRoutes,
		s.evaluateRoutes, s.tagRoutes, s.folderRoutes, s.folderStandingRoutes, s.fileRoutes, s.shareRoutes,
		s.eventRoutes, s.tokenRoutes, s.userRoutes,
		s.sessionRoutes,
		s.loginLinkRoutes, s.signOnRoutes, s.secretRoutes, s.sealRoutes, s.demoRoutes, s.versionRoutes,
		s.auditRoutes, s.enrollmentRoutes,
		s.pendingRoutes, s.orderRoutes, s.inventoryRoutes, s.waitingRoutes,
		s.overviewRoutes, s.rollupRoutes, s.historyRoutes, s.stopRoutes, s.metricRoutes,
		s.healthRoutes, s.openAPIRoutes,
	} {
		all = append(all, of()...)
	}
	return all
}
