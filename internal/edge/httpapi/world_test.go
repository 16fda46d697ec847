// Most of these tests ask the API one thing after another. Those with several readers or callers, and one that calls
// every route, run with the race detector.
//
//muster:test -run=Stream|Event|Reader|Which|Session|AtATime|Compress|Feed|Bounded|Row|Rollout|Apply
//muster:test -race=false -skip=Stream|Event|Reader|Which|Session|AtATime|Compress|Feed|Bounded|Row|Rollout|Apply
//muster:soak
package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"muster/api"
	"muster/internal/adapter/discovery"
	"muster/internal/adapter/store"
	"muster/internal/adapter/store/storetest"
	"muster/internal/core/plan"
	"muster/internal/core/stconfig"
	"muster/internal/edge/auth"
	"muster/internal/edge/pages"
	"muster/internal/engine/change"
	"muster/internal/engine/enrollment"
	"muster/internal/engine/view"
	"muster/internal/fleet"
)

const (
	idA = fleet.DeviceID("P56IOI7-MZJNU2Y-IQGDREY-DM2MGTI-MGL3BXN-PQ6W5BM-TBBZ4TJ-XZWICQ2")
	key = "abcdefghijklmnopqrstuvwxyz012345"
)

var idB, idC = fleet.DeviceIDOf([32]byte{1}), fleet.DeviceIDOf([32]byte{2})

// world is the API over a real store, with daemons and templates played by hand.
type world struct {
	t      *testing.T
	setup  setup
	api    *server
	store  *store.Store
	fakes  *fakes
	tokens map[fleet.Role]string
	log    *bytes.Buffer
	marked map[fleet.DeviceID]bool // devices that the view is to be told of
	view   *view.View
	// What summaries are made of besides the options of the API.
	notified view.Notifications
	visited  func() int

	people *auth.People
	clock  *movedClock // of sessions

	enrollments *enrollment.Enrollments
}

// foresight joins what tells what an edit would do.
type foresight struct {
	*change.Changes
	*fakes
}

// preparedHome has the tables and a token of each role already: making them for each test took half of the time.
var preparedHome = storetest.Prepared(func(home string) error {
	made, err := store.Open(context.Background(), store.Options{Home: home, Seal: openSeal{}})
	if err != nil {
		return err
	}
	return errors.Join(createTokens(made), made.Close())
})

// preparedTokens are the secrets of the tokens in preparedHome.
var preparedTokens = map[fleet.Role]string{}

func createTokens(in *store.Store) error {
	tokens := auth.NewTokens(in)
	for _, role := range []fleet.Role{fleet.RoleViewer, fleet.RoleOperator, fleet.RoleAuthor, fleet.RoleAdmin} {
		secret, _, err := tokens.Create(context.Background(), fleet.Token{Name: string(role), Role: role})
		if err != nil {
			return err
		}
		preparedTokens[role] = secret
	}
	return nil
}

// movedClock is as far from the present as it was moved.
type movedClock struct{ by time.Duration }

func (c *movedClock) now() time.Time { return time.Now().Add(c.by) }

// uptime goes on as the clock is moved: limits count by it.
func (c *movedClock) uptime() time.Duration { return time.Since(began) + c.by }

var began = time.Now()

func newWorld(t *testing.T) *world {
	t.Helper()
	kept, err := store.Open(t.Context(), store.Options{Home: preparedHome(t), Seal: openSeal{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := kept.Close(); err != nil {
			t.Error(err)
		}
	})
	w := &world{t: t, store: kept, fakes: &fakes{}, tokens: maps.Clone(preparedTokens), log: &bytes.Buffer{},
		clock: &movedClock{}}
	tokens := auth.NewTokens(kept)
	people := auth.NewPeople(auth.PeopleOptions{
		Store: kept, Log: slog.New(slog.NewTextHandler(w.log, nil)), Now: w.clock.now,
		Uptime: w.clock.uptime, DeviceKey: []byte("device key"),
		Cost: auth.PasswordCost{MemoryKiB: 64, Passes: 1, Lanes: 1},
	})
	w.people = people
	edits := change.New(change.Options{Store: kept, Planner: w.fakes})
	enrollments := enrollment.New(
		enrollment.Options{Store: kept, Changes: edits, Log: slog.New(slog.NewTextHandler(w.log, nil)),
			ChallengeKey: []byte("challenges"), RefuseIP: discovery.RefuseIP},
	)
	w.enrollments = enrollments
	log := slog.New(slog.NewTextHandler(w.log, nil))
	w.setup = setup{
		Options: Options{Log: log, Registry: fleet.ScopedRegistry{Whole: kept, Parts: &fleet.Views{}}, Changes: edits,
			Auth: auth.NewAuthenticator(tokens, people).WithEnrollKeys(enrollments), Renewer: people,
			Web: Web{AllowedHosts: []string{"muster.example"}, Pages: pages.New(pages.Options{Log: log, Sessions: people,
				Links: people, Classify: Classify})}},
		Audit: kept, States: w.fakes, Mirror: w.fakes, Plans: w.fakes, Settings: kept, WhatIf: foresight{edits, w.fakes},
		Checker: w.fakes, Evaluator: w.fakes, Tokens: tokens, Users: people, Sessions: people, LoginLinks: people,
		Enrollments: enrollments,
	}
	show := w.viewOf(noSnapshot)
	w.with(func(o *setup) {
		show(o)
		o.Folders = listed{o.Folders, w.fakes}
	})
	return w
}

// call is one request and what is asked of it beyond method and path.
type call struct {
	method, path string
	body         string
	role         fleet.Role // "": admin
	token        string     // instead of a role's; "-": none
	header       http.Header
	host         string
	invented     bool // its error is one that the route cannot have
}

// do sends a call. A failure that the OpenAPI document does not have fails the test.
func (w *world) do(c call) *http.Response {
	w.t.Helper()
	var body io.Reader
	if c.body != "" {
		body = strings.NewReader(c.body)
	}
	r := httptest.NewRequest(c.method, "http://localhost"+c.path, body)
	r.RemoteAddr = "192.0.2.1:1234"
	if c.host != "" {
		r.Host = c.host
	}
	for name, values := range c.header {
		r.Header[name] = values
	}
	switch {
	case c.token == "-":
	case c.token != "":
		r.Header.Set("Authorization", "Bearer "+c.token)
	case c.role == "":
		r.Header.Set("Authorization", "Bearer "+w.tokens[fleet.RoleAdmin])
	default:
		r.Header.Set("Authorization", "Bearer "+w.tokens[c.role])
	}
	rec := httptest.NewRecorder()
	w.api.ServeHTTP(rec, r)
	fails := !c.invented && rec.Code >= http.StatusBadRequest && rec.Code != http.StatusMethodNotAllowed
	if rt := w.routeOf(r); rt != nil && fails && !slices.Contains(rt.operation().Failures(), rec.Code) {
		w.t.Errorf("%s %s is not documented to answer %d", rt.method, rt.path, rec.Code)
	}
	return rec.Result()
}

// routeOf is the route that answers a request, if there is one.
func (w *world) routeOf(r *http.Request) *route {
	if unclean(r.URL.EscapedPath()) {
		return nil
	}
	_, pattern := w.api.mux.Handler(markLoneSlashes(r))
	at := slices.IndexFunc(w.api.routes, func(rt route) bool { return rt.method+" "+rt.path == pattern })
	if at < 0 {
		return nil
	}
	return &w.api.routes[at]
}

// want does a call, checks its status and gives the body.
func (w *world) want(status int, c call) string {
	w.t.Helper()
	resp := w.do(c)
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	if resp.StatusCode != status {
		w.t.Fatalf("%s %s: got %d %s, want %d", c.method, c.path, resp.StatusCode, body, status)
	}
	return strings.TrimSuffix(string(body), "\n")
}

func (w *world) get(path string) string {
	w.t.Helper()
	return w.want(http.StatusOK, call{method: http.MethodGet, path: path})
}

func (w *world) put(path, body string) string {
	w.t.Helper()
	resp := w.do(call{method: http.MethodPut, path: path, body: body})
	got, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode >= 300 {
		w.t.Fatalf("PUT %s: got %d %s, %v", path, resp.StatusCode, got, err)
	}
	return strings.TrimSuffix(string(got), "\n")
}

// device registers one with a label.
func (w *world) device(id fleet.DeviceID, label string) string {
	w.t.Helper()
	return w.put(Prefix+"/devices/"+string(id), `{"apiKey":"`+key+`","label":"`+label+`"}`)
}

// template creates one and gives its path.
func (w *world) template(body string) string {
	w.t.Helper()
	resp := w.do(call{method: http.MethodPost, path: Prefix + "/templates", body: body})
	if resp.StatusCode != http.StatusCreated {
		got, _ := io.ReadAll(resp.Body)
		w.t.Fatalf("got %d %s, want 201", resp.StatusCode, got)
	}
	return resp.Header.Get("Location")
}

// problem does a call that has to fail with a status, and checks that the answer is a problem that helps.
func (w *world) problem(status int, c call) api.Problem {
	w.t.Helper()
	resp := w.do(c)
	return readProblem(w.t, resp, status, c.method)
}

func readProblem(t *testing.T, resp *http.Response, status int, method string) api.Problem {
	t.Helper()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != status {
		t.Fatalf("got %d %s, want %d", resp.StatusCode, body, status)
	}
	if got := resp.Header.Get("Content-Type"); got != api.ProblemType {
		t.Errorf("got the type %q of %s, want %s", got, body, api.ProblemType)
	}
	if method == http.MethodHead {
		return api.Problem{}
	}
	var p api.Problem
	if err := json.Unmarshal(body, &p); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	if p.Status != status || p.Title == "" || p.Type == "" || p.Detail == "" || p.Hint == "" {
		t.Errorf("got %s: status, title, type, a detail and a hint of what to do are needed", body)
	}
	if status == http.StatusUnauthorized && resp.Header.Get("WWW-Authenticate") == "" {
		t.Error("a 401 without WWW-Authenticate")
	}
	if (status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable) &&
		resp.Header.Get("Retry-After") == "" {
		t.Errorf("a %d without Retry-After", status)
	}
	if status == http.StatusMethodNotAllowed && resp.Header.Get("Allow") == "" {
		t.Error("a 405 without Allow")
	}
	return p
}

// fakes play the mirror, the engine and the language.
type fakes struct {
	status         map[fleet.DeviceID]fleet.Status
	version        map[fleet.DeviceID]fleet.Version
	config         map[fleet.DeviceID]stconfig.Value
	folders        []fleet.FolderLabel
	summaries      map[string][]fleet.FolderSummary
	states         map[fleet.DeviceID]fleet.State
	plans          map[fleet.DeviceID]plan.Plan
	planErr        error // of devices without a plan
	effects        func(now, then *fleet.Registry) ([]plan.Effect, error)
	desired        func(*fleet.Registry, fleet.DeviceID) stconfig.Value
	approval       string
	altered        []fleet.DeviceID
	applied        []applied
	applyErr       error
	done           []plan.Change
	waiting        []plan.Change
	check          func(fleet.Template) error
	warnings       func(fleet.Template) []string
	contradictions func(fleet.TaggedTemplate) []string
	evaluate       func(fleet.TaggedTemplate, fleet.DeviceID) (Evaluation, error)
}

// applied is one call of Apply.
type applied struct {
	device  fleet.DeviceID
	digest  string
	answers map[string]fleet.Answer
}

func found[K comparable, V any](in map[K]V, k K) (V, error) {
	v, ok := in[k]
	if !ok {
		return v, fleet.NotFoundf("not there")
	}
	return v, nil
}

func (f *fakes) Status(_ context.Context, id fleet.DeviceID) (fleet.Status, error) {
	return found(f.status, id)
}
func (f *fakes) Version(_ context.Context, id fleet.DeviceID) (fleet.Version, error) {
	return found(f.version, id)
}
func (f *fakes) MaskedConfig(_ context.Context, id fleet.DeviceID) (Document, error) {
	config, err := found(f.config, id)
	return documentOf(config), err
}

func documentOf(v stconfig.Value) Document {
	return func(w io.Writer) error {
		_, err := w.Write(v.JSON())
		return err
	}
}
func (f *fakes) FolderSummaries(_ context.Context, folder string) ([]fleet.FolderSummary, error) {
	return found(f.summaries, folder)
}
func (f *fakes) State(_ context.Context, id fleet.DeviceID) (fleet.State, error) {
	return found(f.states, id)
}
func (f *fakes) Plan(_ context.Context, id fleet.DeviceID) (plan.Plan, error) {
	return found(f.plans, id)
}
func (f *fakes) Apply(_ context.Context, id fleet.DeviceID, digest string, answers map[string]fleet.Answer,
) (done, waiting []plan.Change, err error) {
	f.applied = append(f.applied, applied{id, digest, answers})
	return f.done, f.waiting, f.applyErr
}
func (f *fakes) Waves(_ context.Context, now, then *fleet.Registry) []int {
	return []int{len(now.Templates), len(then.Templates)}
}
func (f *fakes) NeedsApproval(context.Context, *fleet.Registry, *fleet.Registry) string {
	return f.approval
}
func (f *fakes) WhatIf(_ context.Context, now, then *fleet.Registry, each func(plan.Effect)) error {
	if f.effects == nil {
		return nil
	}
	effects, err := f.effects(now, then)
	for _, effect := range effects {
		each(effect)
	}
	return err
}
func (f *fakes) Altered(context.Context, *fleet.Registry, *fleet.Registry) ([]fleet.DeviceID, error) {
	return f.altered, nil
}
func (f *fakes) Concerned(now, then *fleet.Registry) []fleet.DeviceID {
	return slices.Collect(maps.Keys(then.Devices))
}
func (f *fakes) Desired(_ context.Context, then *fleet.Registry, devices []fleet.DeviceID,
	each func(fleet.DeviceID, stconfig.Value, error)) error {
	for _, id := range devices {
		if f.desired != nil && then.Devices[id] != nil {
			each(id, f.desired(then, id), nil)
		}
	}
	for _, id := range devices {
		if config, known := f.config[id]; known {
			each(id, config, nil)
		}
	}
	return nil
}
func (f *fakes) Planned(_ context.Context, _ *fleet.Registry, devices []fleet.DeviceID,
	each func(fleet.DeviceID, []plan.Change, error)) error {
	for _, id := range devices {
		if made, known := f.plans[id]; known {
			each(id, made.Changes, nil)
		} else if f.planErr != nil {
			each(id, nil, f.planErr)
		}
	}
	return nil
}
func (f *fakes) CheckStrictly(ctx context.Context, t fleet.Template) (fleet.Inputs, error) {
	return f.CheckTemplate(ctx, t)
}

func (f *fakes) Describe(context.Context, string) (fleet.Inputs, error) { return fleet.Inputs{}, nil }

func (f *fakes) CheckTemplate(_ context.Context, t fleet.Template) (fleet.Inputs, error) {
	reads := fleet.Inputs{Known: true, Secrets: strings.Contains(t.Text, "secret")}
	if strings.Contains(t.Text, "device.label") {
		reads.Device = "label"
	}
	if f.check == nil {
		return reads, nil
	}
	return reads, f.check(t)
}
func (f *fakes) Warnings(_ context.Context, t fleet.Template) []string {
	if f.warnings == nil {
		return nil
	}
	return f.warnings(t)
}
func (f *fakes) Contradictions(_ context.Context, t fleet.TaggedTemplate) []string {
	if f.contradictions == nil {
		return nil
	}
	return f.contradictions(t)
}
func (f *fakes) Evaluate(_ context.Context, t fleet.TaggedTemplate, id fleet.DeviceID) (Evaluation, error) {
	return f.evaluate(t, id)
}

// openSeal seals nothing.
type openSeal struct{}

func (openSeal) ID() string                                    { return "open" }
func (openSeal) Seal(_, _, _ string, plain []byte) []byte      { return plain }
func (openSeal) Open(_, _, _ string, b []byte) ([]byte, error) { return b, nil }
func (openSeal) Current([]byte) bool                           { return true }
func (openSeal) Derive(string) ([]byte, error)                 { return []byte("derived"), nil }

// in is the same world in a subtest.
func (w *world) in(t *testing.T) *world {
	moved := *w
	moved.t = t
	return &moved
}
