package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"muster/api"
	"muster/internal/adapter/discovery"
	"muster/internal/adapter/syncthing"
	"muster/internal/core/plan"
	"muster/internal/edge/auth"
	"muster/internal/edge/httpapi"
	"muster/internal/engine/budget"
	"muster/internal/engine/health"
	"muster/internal/engine/metrics"
	"muster/internal/engine/mirror"
	"muster/internal/engine/notify"
	"muster/internal/engine/view"
	"muster/internal/fleet"
	"muster/internal/stsim"
)

// watcher is the part of a server that looks at daemons and shows what it sees, in this process and on a simulated
// clock: store, mirror, health, view and the API, joined as New joins them. It has no engine that writes to daemons.
type watcher struct {
	*App
	farm    *stsim.Farm
	handler http.Handler
	end     func() error

	receiver *listener // nil: nobody is told
}

// listener is a receiver of notifications. It knows which problems it was told of, and not that they are over.
type listener struct {
	mu   sync.Mutex
	open map[string]fleet.ProblemKey // by the ID of the problem
}

func (*listener) Name() string { return "listener" }

func (l *listener) Send(_ context.Context, m notify.Message) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if m.Type == fleet.NoticeResolved {
		delete(l.open, m.ProblemID)
		return nil
	}
	l.open[m.ProblemID] = fleet.ProblemKey{Device: m.DeviceID, Folder: m.Folder, Kind: m.Kind}
	return nil
}

// told are the problems that are not over, by what the receiver was told.
func (l *listener) told() map[fleet.ProblemKey]bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := map[fleet.ProblemKey]bool{}
	for _, key := range l.open {
		all[key] = true
	}
	return all
}

// everybody is an administrator.
type everybody struct{}

func (everybody) Authenticate(*http.Request) (auth.Principal, error) {
	return auth.Principal{Name: "test", Role: fleet.RoleAdmin, Credential: auth.CredentialToken}, nil
}

// unplanned has no plans: no template applies to any device.
type unplanned struct{ httpapi.Plans }

func (unplanned) Plan(context.Context, fleet.DeviceID) (plan.Plan, error) {
	return plan.Plan{}, fleet.NotFoundf("nothing is planned")
}

// startWatcher starts on a home that may be of a watcher before. The daemons of the farm are registered where they are
// not yet.
func startWatcher(home string, farm *stsim.Farm, receiver *listener) (*watcher, error) {
	ctx := context.Background()
	log := slog.New(slog.DiscardHandler)
	w := &watcher{App: newApp(Options{Home: home, Log: log}), farm: farm, receiver: receiver}
	w.budget = budget.Descriptors{Reads: 2}
	w.end = w.Stop
	if err := w.openStore(ctx); err != nil {
		return w, err
	}
	if err := w.register(ctx); err != nil {
		return w, err
	}
	if err := w.join(ctx); err != nil {
		return w, err
	}
	registry, err := w.store.Registry(ctx)
	if err != nil {
		return w, err
	}
	for id, device := range registry.Devices {
		w.found(id, plan.Findings{Result: plan.Planned, Online: true, Mode: fleet.ModeOn})
		w.mirror.Put(*device, registry.ModeOf(id) == fleet.ModePaused)
	}
	w.life.background("mirror", w.mirror.Run, w.fail)
	w.life.background("notify", w.notifier.Run, w.fail)
	w.life.background("event log", w.eventLog.Run, w.fail)
	w.life.background("events", w.feed.Run, w.fail)
	w.life.background("history", w.newHistorian().Run, w.fail)
	w.life.background("changes", w.passOn, w.fail)
	return w, nil
}

// register registers the daemons that are not registered.
func (w *watcher) register(ctx context.Context) error {
	registry, err := w.store.Registry(ctx)
	if err != nil {
		return err
	}
	var edit fleet.Edit
	for _, d := range w.farm.Daemons() {
		if registry.Devices[d.ID()] == nil {
			edit.Put = append(edit.Put, fleet.DevicePut{Device: fleet.Device{ID: d.ID(), Label: d.Name(),
				APIKey: fleet.NewSecret(d.APIKey()), APIAddress: d.Host(), APIPort: d.Port()}})
		}
	}
	if len(edit.Put) > 0 {
		_, err = w.store.ApplyEdit(ctx, edit, fleet.Basis{})
	}
	return err
}

// join makes the rooms on top of the store.
func (w *watcher) join(ctx context.Context) (err error) {
	seed, err := w.store.Known(ctx)
	if err != nil {
		return err
	}
	w.policy = w.newPolicy(nil)
	windows, off := w.troublePolicy()
	w.folders, w.health = health.NewFolders(windows, off...), health.New()
	w.modeLimit = &modeLimit{Store: w.store, mode: fleet.ModeOn}
	w.view = w.newView()
	if w.discovery, err = discovery.New(discovery.Options{Servers: []string{discovery.Off}, Log: w.log}); err != nil {
		return err
	}
	w.mirror = mirror.New(mirror.Options{
		Dial: func(t mirror.Target) mirror.Daemon {
			return client{syncthing.New(t, syncthing.Options{Dial: w.farm.Dial})}
		},
		Resolver: byAgent{}, Sink: w.store, Log: w.log, Seed: seed, Changed: w.snapshotChanged, ConfigStored: w.configStored,
	})
	told := notify.Options{Source: states{w.App}, Store: w.store, Log: w.log}
	if w.receiver != nil {
		told.Senders = []notify.Sender{w.receiver}
	}
	w.notifier = notify.New(told)
	if w.eventLog, err = w.openEventLog(ctx); err != nil {
		return err
	}
	w.newFeed()
	measured, err := metrics.New(metrics.Options{Registry: prometheus.NewRegistry(), Counts: w.counts})
	if err != nil {
		return err
	}
	summaries := summaries{view.NewSummaries(view.SummaryOptions{Registry: w.scoped().Registry, View: w.view,
		DatedStop: w.store.DatedStop}), w.App}
	w.handler = httpapi.New(httpapi.Options{
		Log: w.log, Registry: w.scoped(), Audit: w.store, Auth: everybody{}, Answers: w.view,
		Nouns: []httpapi.Noun{
			httpapi.MirrorHandlers{Mirror: masked{w.store}}, httpapi.PlanHandlers{Plans: unplanned{}, States: states{w.App}},
			httpapi.SettingHandlers{Settings: w.store, Limits: w.store, Stops: summaries},
			httpapi.InventoryHandlers{Inventory: w.view}, httpapi.StateHandlers{States: states{w.App}, Listed: w.view},
			httpapi.FolderHandlers{Folders: w.view}, httpapi.StandingHandlers{Standings: w.view},
			httpapi.ShareHandlers{Shares: w.view}, httpapi.WaitingHandlers{Summaries: summaries},
			httpapi.OverviewHandlers{Summaries: summaries, Stops: summaries}, httpapi.StopHandlers{Stops: summaries},
			httpapi.FileHandlers{Files: w.view, Shares: w.view}, httpapi.MetricHandlers{Metrics: measured.Handler()},
		},
	})
	return nil
}

// passOn tells those who follow the events what changed, as forward does.
func (w *watcher) passOn(ctx context.Context) error {
	for {
		select {
		case <-w.changes.some:
		case <-ctx.Done():
			return ctx.Err()
		}
		w.changes.takeCommitted()
		for id, is := range w.changes.takeDevices() {
			w.feed.DeviceChanged(id, is.aspect)
		}
	}
}

// text is the answer to a request.
func (w *watcher) text(path string) (string, error) {
	request := httptest.NewRequestWithContext(context.Background(), http.MethodGet, "http://localhost"+path, nil)
	recorder := httptest.NewRecorder()
	w.handler.ServeHTTP(recorder, request)
	body, err := io.ReadAll(recorder.Result().Body)
	if code := recorder.Code; err == nil && code != http.StatusOK {
		err = fmt.Errorf("GET %s: %d %s", path, code, body)
	}
	return string(body), err
}

// read is the answer of the API, decoded.
func read[T any](w *watcher, errs *[]error, path string) (value T) {
	text, err := w.text(httpapi.Prefix + path)
	if err == nil {
		err = json.Unmarshal([]byte(text), &value)
	}
	if err != nil {
		*errs = append(*errs, err)
	}
	return value
}

// said is what all answers say at one moment.
type said struct {
	devices   []api.Device
	states    []api.ListedState
	overview  api.Overview
	waiting   api.Waiting
	inventory api.Inventory
	matrix    api.FolderMatrix
	overviews []api.FolderOverview
	metrics   map[string]int                                   // by name and labels
	ofDevice  map[fleet.DeviceID]map[string]api.FolderStanding // by folder
	ofFolder  map[string]map[fleet.DeviceID]api.FolderStanding
	inFleet   map[string]api.FleetFolder
}

// says asks everything. Where nobody looks at folders, the answers that have Muster read them again are left out, and
// their states are those that the view has.
func (w *watcher) says(folders []string, looks bool) (s said, err error) {
	var errs []error
	s.overview = read[api.Overview](w, &errs, "/overview")
	s.waiting = read[api.Waiting](w, &errs, "/waiting")
	s.inventory = read[api.Inventory](w, &errs, "/inventory")
	s.states = read[[]api.ListedState](w, &errs, "/states")
	s.devices = read[[]api.Device](w, &errs, "/devices")
	s.matrix = read[api.FolderMatrix](w, &errs, "/overview/matrix")
	s.overviews = read[[]api.FolderOverview](w, &errs, "/overview/folders")
	s.inFleet = map[string]api.FleetFolder{}
	s.ofFolder, s.ofDevice = map[string]map[fleet.DeviceID]api.FolderStanding{},
		map[fleet.DeviceID]map[string]api.FolderStanding{}
	for _, folder := range folders {
		s.inFleet[folder] = read[api.FleetFolder](w, &errs, "/folders/"+folder+"/state")
	}
	if s.metrics, err = w.metrics(); err != nil {
		errs = append(errs, err)
	}
	if !looks {
		w.unlooked(folders, &s)
		return s, errors.Join(errs...)
	}
	for _, folder := range folders {
		s.ofFolder[folder] = map[fleet.DeviceID]api.FolderStanding{}
		for _, one := range read[[]api.FolderStanding](w, &errs, "/folders/"+folder+"/devices") {
			s.ofFolder[folder][fleet.DeviceID(one.DeviceID)] = one
		}
	}
	for _, d := range w.farm.Daemons() {
		s.ofDevice[d.ID()] = map[string]api.FolderStanding{}
		for _, one := range read[[]api.FolderStanding](w, &errs, "/devices/"+string(d.ID())+"/folders") {
			s.ofDevice[d.ID()][one.Folder] = one
		}
	}
	return s, errors.Join(errs...)
}

// unlooked adds the states of the folders as the view has them.
func (w *watcher) unlooked(folders []string, s *said) {
	for _, folder := range folders {
		s.ofFolder[folder] = map[fleet.DeviceID]api.FolderStanding{}
	}
	for _, d := range w.farm.Daemons() {
		s.ofDevice[d.ID()] = map[string]api.FolderStanding{}
		snapshot := w.mirror.Snapshot(d.ID())
		for _, f := range snapshot.Folders {
			standing := w.view.Standing(context.Background(), d.ID(), f.Folder)
			one := api.FolderStanding{State: standing.State.String(), Trouble: standing.Trouble, Reason: standing.Reason,
				Paused: standing.Paused}
			if standing.Last != nil {
				one.Last = standing.Last.String()
			}
			for _, found := range standing.Besides {
				one.Besides = append(one.Besides, api.FolderFinding{Cause: string(found.Cause), Trouble: found.Trouble})
			}
			s.ofDevice[d.ID()][f.Folder], s.ofFolder[f.Folder][d.ID()] = one, one
		}
	}
}

// metrics are the numbers of Muster's own in /metrics.
func (w *watcher) metrics() (map[string]int, error) {
	text, err := w.text("/metrics")
	all := map[string]int{}
	for line := range strings.Lines(text) {
		var n int
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if _, notOurs := fmt.Sscan(value, &n); notOurs == nil && strings.HasPrefix(name, "muster_") {
			all[name] = n
		}
	}
	return all, err
}

// pause sets whether Muster watches a device.
func (w *watcher) setMode(id fleet.DeviceID, mode fleet.Mode) error {
	registry, err := w.store.Registry(context.Background())
	if err != nil {
		return err
	}
	from := registry.Devices[id].Settings
	to := from
	to.Mode = cmp.Or(mode, fleet.ModeOn)
	_, err = w.store.ApplyEdit(context.Background(), fleet.Edit{Settings: []fleet.SettingsChange{{Device: id, From: from,
		To: to}}}, fleet.Basis{})
	return err
}

// later lets time pass.
func later(d time.Duration) { time.Sleep(d) }
