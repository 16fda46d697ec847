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
	"reflect"
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

// Registry gives what is registered in the scope of the context, at one generation. What one call returned is never
// changed; a write that returned is in what the next call returns.
type Registry interface {
	Registry(ctx context.Context) (*fleet.Registry, error)
}

// Authenticator finds out who sends a request.
type Authenticator interface {
	Authenticate(r *http.Request) (auth.Principal, error)
}

// Options are what the handlers of all nouns use, and the nouns.
type Options struct {
	Log *slog.Logger
	// Registry gives every caller the part in their scope. It needs Parts.
	Registry fleet.ScopedRegistry
	Auth     Authenticator
	Renewer  Renewer // Nil: no session is renewed.
	Changes  Changes
	Audit    Recorder // Nil: what is no write of the store leaves no trace.
	Memory   Memory   // It bounds routes whose answers may be large; nil: there is no bound.
	Answers  Answers
	// Measured is told how long each request took, by the operation's name in the OpenAPI document; not of event streams.
	// Nil: it is not measured.
	Measured func(operation string, status int, took time.Duration)
	Web      Web
	// Nouns are the handlers that this server has. app gives all of them; a server of a test has some, and the routes of
	// others that can be switched off answer 503.
	Nouns []Noun
}

// Noun is the handlers of one noun with the interfaces that they call.
type Noun interface {
	routes(b *base) []route
}

// everyNoun are the handlers of all nouns, without what they call, in the order of their routes.
func everyNoun() []Noun {
	return []Noun{
		DeviceHandlers{},
		DeviceTestHandlers{},
		MirrorHandlers{},
		StateHandlers{},
		DiskHandlers{},
		TrustHandlers{},
		PlanHandlers{},
		WhyHandlers{},
		ConsentHandlers{},
		PlanningHandlers{},
		RolloutHandlers{},
		UndoHandlers{},
		RevisionHandlers{},
		SettingHandlers{},
		VarsHandlers{},
		TemplateHandlers{},
		TagHandlers{},
		FolderHandlers{},
		StandingHandlers{},
		FileHandlers{},
		CopyHandlers{},
		ShareHandlers{},
		&EventHandlers{},
		TokenHandlers{},
		UserHandlers{},
		SessionHandlers{},
		LoginLinkHandlers{},
		SignOnHandlers{},
		SecretHandlers{},
		SinkHandlers{},
		SealHandlers{},
		DemoHandlers{},
		VersionHandlers{},
		AuditHandlers{},
		EnrollmentHandlers{},
		EnrollKeyHandlers{},
		ClaimHandlers{},
		RevocationHandlers{},
		PolicyHandlers{},
		TellingHandlers{},
		PendingHandlers{},
		OrderHandlers{},
		InventoryHandlers{},
		WaitingHandlers{},
		OverviewHandlers{},
		HistoryHandlers{},
		StopHandlers{},
		MetricHandlers{},
		HealthHandlers{},
	}
}

// Web is how browsers and proxies reach the server.
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

// server answers the REST API.
type server struct {
	*base
	options     Options
	mux         *http.ServeMux
	routes      []route
	methods     map[string][]string // The methods of every path pattern.
	hosts       map[string]bool
	crossOrigin *http.CrossOriginProtection
	patience    time.Duration // See writePatience.
	openAPI     func() []byte // It is encoded when it is asked for first.
}

// New is the handler of every path of the API; it starts nothing.
func New(options Options) http.Handler { return newServer(options) }

func newServer(options Options) *server {
	s := &server{
		base:        newBase(options),
		options:     options,
		mux:         http.NewServeMux(),
		methods:     map[string][]string{},
		patience:    writePatience,
		hosts:       allowedHosts(options.Web.AllowedHosts),
		crossOrigin: http.NewCrossOriginProtection(),
	}
	s.routes = s.allRoutes()
	for _, rt := range s.routes {
		s.register(rt)
	}
	s.mux.HandleFunc("/", s.unknown)
	for pattern, page := range options.Web.Pages {
		s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			switch err := page(w, r); {
			case errors.Is(err, fs.ErrNotExist):
				s.fail(w, r, unknownPath())
			case err != nil:
				s.fail(w, r, err)
			}
		})
	}
	s.openAPI = sync.OnceValue(func() []byte { return document(s.routes) })
	return s
}

// allRoutes joins the routes of all nouns: of those in the options, and of all others without what they call.
func (s *server) allRoutes() []route {
	nouns := everyNoun()
	for _, given := range s.options.Nouns {
		same := func(n Noun) bool { return reflect.TypeOf(n) == reflect.TypeOf(given) }
		if at := slices.IndexFunc(nouns, same); at >= 0 {
			nouns[at] = given
		}
	}
	var all []route
	for _, noun := range nouns {
		all = append(all, noun.routes(s.base)...)
	}
	return append(all, s.openAPIRoute())
}
