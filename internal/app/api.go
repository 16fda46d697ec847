package app

import (
	"context"
	"errors"
	"io"
	"time"

	"muster/internal/adapter/sandbox"
	"muster/internal/adapter/store"
	"muster/internal/core/stconfig"
	"muster/internal/edge/auth"
	"muster/internal/edge/httpapi"
	"muster/internal/engine/change"
	"muster/internal/engine/metrics"
	"muster/internal/engine/mirror"
	"muster/internal/engine/reconcile"
	"muster/internal/engine/rollout"
	"muster/internal/engine/view"
	"muster/internal/fleet"
)

// deviceNouns returns the handlers for single devices.
func (a *App) deviceNouns() []httpapi.Noun {
	state := states{a}
	return []httpapi.Noun{
		httpapi.MirrorHandlers{Mirror: masked{a.store}},
		httpapi.StateHandlers{States: state, Listed: a.view},
		httpapi.DeviceTestHandlers{Tester: accessTester{a}},
		httpapi.DiskHandlers{Disks: a.mirror},
		httpapi.TrustHandlers{Trust: struct {
			*store.Store
			*mirror.Mirror
		}{a.store, a.mirror}},
		httpapi.PlanHandlers{Plans: a.engine, States: state},
		httpapi.WhyHandlers{Reasons: a.engine},
		httpapi.RevisionHandlers{Revisions: struct {
			masked
			*reconcile.Engine
		}{masked{a.store}, a.engine}},
		httpapi.PendingHandlers{Pending: inbox{a.mirror, a.engine}},
		httpapi.OrderHandlers{OrderRunner: a.orders, OrderRecords: a.store},
		httpapi.FileHandlers{Files: a.view, Logs: asked{a}, Shares: a.view},
		httpapi.CopyHandlers{Shares: a.view, Copies: a.prover},
	}
}

// checker checks templates before they are saved.
type checker struct {
	sandbox.Limited
	*reconcile.Engine
}

func (c checker) Warnings(ctx context.Context, t fleet.Template) []string {
	return c.Limited.Warnings(ctx, t, func(key stconfig.Key) bool { return c.HasField(ctx, key) })
}

// fleetNouns returns the handlers for what people decide about the fleet, and for what is shown of the whole fleet.
func (a *App) fleetNouns(run sandbox.Limited) []httpapi.Noun {
	checker := checker{run, a.engine}
	foresight := struct {
		*change.Changes
		*reconcile.Engine
		*rollout.Runner
	}{a.edits, a.engine, a.runner}
	rollouts := view.NewRollouts(view.RolloutOptions{Source: rollouts{a.runner, a.store}, Registry: a.scoped().Registry})
	consents := view.NewConsents(view.ConsentOptions{Source: consents{a.engine, a.store}, Registry: a.scoped().Registry})
	summaries := a.newSummaries(rollouts, consents)
	planning := httpapi.PlanningHandlers{Checker: checker, WhatIf: foresight, Rows: a.view, Secrets: a.store}
	steering := httpapi.RolloutHandlers{Rollouts: rollouts, Runner: a.runner}
	return []httpapi.Noun{
		httpapi.TemplateHandlers{Checker: checker, Evaluator: a.engine, Versions: a.store},
		planning,
		httpapi.SettingHandlers{Settings: a.store, Limits: a.store, Stops: summaries},
		httpapi.PolicyHandlers{Policy: a.policy, Tester: a},
		httpapi.TellingHandlers{Telling: telling{a.telling, a}},
		httpapi.SecretHandlers{Secrets: a.store},
		httpapi.SinkHandlers{Sinks: a.store, Runner: triedSinks{a.sinks, a}},
		httpapi.RevocationHandlers{Mirror: a.mirror, Certificates: a.revocations},
		httpapi.ConsentHandlers{Consents: consents},
		steering,
		httpapi.UndoHandlers{Planning: planning, Rollouts: steering},
		httpapi.AuditHandlers{Audit: a.store, Rollouts: rollouts},
		&httpapi.EventHandlers{
			Rollouts: rollouts, Events: a.events.Hub, EventLog: a.eventLog, States: states{a}, Rows: a.view,
		},
		httpapi.InventoryHandlers{Inventory: a.view},
		httpapi.FolderHandlers{Folders: a.view, Summaries: masked{a.store}},
		httpapi.StandingHandlers{Standings: a.view},
		httpapi.ShareHandlers{Shares: a.view},
		httpapi.WaitingHandlers{Summaries: summaries},
		httpapi.OverviewHandlers{
			Summaries: summaries, Stops: summaries, Backups: a.backups, Certificate: a.socket.Served,
		},
		httpapi.StopHandlers{Stops: summaries},
		httpapi.HistoryHandlers{History: a.store, Folders: a.view},
	}
}

// peopleNouns returns the handlers for people, tokens, and devices that ask to be registered.
func (a *App) peopleNouns(tokens *auth.Tokens, signOn signOn) []httpapi.Noun {
	return []httpapi.Noun{
		httpapi.TokenHandlers{Tokens: tokens},
		httpapi.UserHandlers{Users: a.people, Accounts: a.people},
		httpapi.SessionHandlers{Sessions: a.people, Tickets: a.people},
		httpapi.LoginLinkHandlers{LoginLinks: a.people},
		httpapi.SignOnHandlers{HasPasswords: true, SignOn: signOn},
		httpapi.EnrollmentHandlers{Enrollments: a.enrolled},
		httpapi.EnrollKeyHandlers{Keys: a.enrolled},
		httpapi.ClaimHandlers{Claims: a.enrolled},
	}
}

// serviceNouns returns the handlers for this process.
func (a *App) serviceNouns(measured *metrics.Metrics) []httpapi.Noun {
	return []httpapi.Noun{
		httpapi.SealHandlers{Sealing: a.sealing},
		httpapi.DemoHandlers{Demo: a.demo()},
		httpapi.VersionHandlers{Build: a.o.Build},
		httpapi.MetricHandlers{Metrics: measured.Handler()},
		httpapi.HealthHandlers{Health: a.monitor},
	}
}

// scoped returns the registry that shows every caller the part in their scope.
func (a *App) scoped() fleet.ScopedRegistry {
	return fleet.ScopedRegistry{Whole: a.store, Parts: &a.views}
}

// The types below combine several packages into one interface of the API or of the view.

// rollouts reads rollouts and what they changed.
type rollouts struct {
	*rollout.Runner
	store *store.Store
}

func (r rollouts) Difference(ctx context.Context, generations []int64) (fleet.Difference, error) {
	return r.store.Difference(ctx, generations)
}

// consents reads held changes from the engine, and stores the answers.
type consents struct {
	*reconcile.Engine
	*store.Store
}

// summaries adds the state of the notifications to the summaries of the view.
type summaries struct {
	*view.Summaries
	app *App
}

func (s summaries) Overview(ctx context.Context, picks func(*fleet.Registered) bool) (view.Overview, error) {
	return s.Summaries.Overview(ctx, picks, s.app.notifications())
}

func (s summaries) Waiting(ctx context.Context) (view.Waiting, error) {
	return s.Summaries.Waiting(ctx, s.app.notifications())
}

func (a *App) newSummaries(rollouts *view.Rollouts, consents *view.Consents) summaries {
	return summaries{view.NewSummaries(view.SummaryOptions{
		Registry: a.scoped().Registry, View: a.view, Rollouts: rollouts, Held: consents.Held,
		Pending: inbox{a.mirror, a.engine}.Pending, Enrollments: a.enrolled.Requests, DatedStop: a.store.DatedStop,
		Shown: func(id fleet.DeviceID) fleet.Shown {
			_, shown := a.mirror.Certificates(id)
			return shown
		},
		Impairments: a.monitor.Impairments, Visited: a.mirror.Visited,
	}), a}
}

// notifications returns the state of the notifications.
func (a *App) notifications() view.Notifications {
	out := view.Notifications{Receivers: a.notifier.Receivers()}
	for _, problem := range a.notifier.Problems() {
		out.Problems = append(out.Problems, problem.Device)
	}
	return out
}

// shares reads how devices share folders.
type shares struct{ store *store.Store }

// FolderShare reads a folder from the last known configuration of a device.
func (f shares) FolderShare(ctx context.Context, id fleet.DeviceID, folder string) (*fleet.FolderShare, error) {
	_, document, err := f.store.NewestDocument(ctx, id)
	if fleet.CodeOf(err) == fleet.CodeNotFound {
		return nil, nil //nolint:nilnil // no configuration was ever read
	}
	if err != nil {
		return nil, err
	}
	return stconfig.FolderIn(document.Open(), folder)
}

// DeviceShares reads all folders from the last known configuration of a device.
func (f shares) DeviceShares(ctx context.Context, id fleet.DeviceID,
	each func(fleet.FolderShare) bool) (string, error) {
	revision, document, err := f.store.NewestDocument(ctx, id)
	if fleet.CodeOf(err) == fleet.CodeNotFound {
		return "", nil // no configuration was ever read
	}
	if err != nil {
		return "", err
	}
	if err = stconfig.EachFolder(document.Open(), each); err != nil {
		err = &fleet.Error{Code: fleet.CodeUnbelievable, Message: "the folders of its configuration cannot be read", Err: err}
	}
	return revision.Digest, err
}

// inbox lists what is pending at daemons, and accepts or dismisses it.
type inbox struct {
	*mirror.Mirror
	*reconcile.Engine
}

// Pending lists what asks, each with the reason why it is not let in.
func (i inbox) Pending() []fleet.Pending {
	all := i.Mirror.Pending()
	for n := range all {
		all[n].Revoked = i.WhyRevoked(context.Background(), all[n].Device, all[n].From)
	}
	return all
}

func (i inbox) Accept(ctx context.Context, asks fleet.Pending, name, path string) error {
	err := i.Engine.Accept(ctx, asks, name, path)
	if err == nil {
		i.PendingAnswered(asks)
	}
	return err
}

// masked returns stored configurations with every secret masked. It holds one string of a configuration in memory at a
// time.
type masked struct{ *store.Store }

func (m masked) MaskedConfig(ctx context.Context, id fleet.DeviceID) (httpapi.Document, error) {
	_, document, err := m.NewestDocument(ctx, id)
	return m.document(document), err
}

func (m masked) MaskedRevision(
	ctx context.Context, id fleet.DeviceID, number int64,
) (fleet.Revision, httpapi.Document, error) {
	revision, document, err := m.RevisionDocument(ctx, id, number)
	return revision, m.document(document), err
}

func (m masked) document(document store.Document) httpapi.Document {
	return func(w io.Writer) error { return stconfig.MaskTo(w, document.Open()) }
}

// asked reads from daemons what Muster does not store.
type asked struct{ app *App }

func (q asked) File(ctx context.Context, id fleet.DeviceID, folder, path string) (fleet.File, error) {
	daemon, err := q.app.mirror.Daemon(id)
	if err != nil {
		return fleet.File{}, err
	}
	file, err := daemon.File(ctx, folder, path)
	return file, asUnsupported(err)
}

// asUnsupported tells what a device's agent is too old for from what its daemon does not have: both are not_found.
func asUnsupported(err error) error {
	var e *fleet.Error
	if !errors.Is(err, fleet.ErrOldAgent) || !errors.As(err, &e) {
		return err
	}
	unsupported := *e
	unsupported.Code = fleet.CodeUnsupported
	return &unsupported
}

func (q asked) FailedItems(ctx context.Context, id fleet.DeviceID, folder string, page, size int,
) ([]fleet.FailedItem, bool, error) {
	daemon, err := q.app.mirror.Daemon(id)
	if err != nil {
		return nil, false, err
	}
	items, more, err := daemon.FailedItems(ctx, folder, page, size)
	return items, more, asUnsupported(err)
}

func (q asked) Started(ctx context.Context, id fleet.DeviceID) (time.Time, error) {
	daemon, err := q.app.mirror.Daemon(id)
	if err != nil {
		return time.Time{}, err
	}
	return daemon.Started(ctx)
}

func (q asked) FolderIndexes(ctx context.Context, id fleet.DeviceID, folder string,
) (fleet.FolderSummary, map[fleet.DeviceID]int64, error) {
	daemon, err := q.app.mirror.Daemon(id)
	if err != nil {
		return fleet.FolderSummary{}, nil, err
	}
	return daemon.FolderIndexes(ctx, folder)
}

func (q asked) Completion(ctx context.Context, id fleet.DeviceID, folder string, peer fleet.DeviceID,
) (fleet.Completion, error) {
	daemon, err := q.app.mirror.Daemon(id)
	if err != nil {
		return fleet.Completion{}, err
	}
	completion, err := daemon.Completion(ctx, folder, peer)
	return completion, asUnsupported(err)
}

func (q asked) Log(ctx context.Context, id fleet.DeviceID, since time.Time) ([]fleet.LogLine, error) {
	daemon, err := q.app.mirror.Daemon(id)
	if err != nil {
		return nil, err
	}
	lines, err := daemon.Log(ctx, since)
	return lines, asUnsupported(err)
}
