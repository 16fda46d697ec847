package httpapi

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"strconv"

	"muster/api"
	"muster/internal/edge/auth"
	"muster/internal/engine/event"
	"muster/internal/fleet"
)

const (
	logPage    = 200    // The length of a page where no limit is asked for.
	maxLogPage = 10_000 // Entries of one answer are in memory together.
)

// EventLog has the events that are kept; see event.Log.
type EventLog interface {
	Entries(ctx context.Context, q fleet.LogQuery) ([]fleet.LogEntry, error)
}

var (
	logDevices = several[fleet.DeviceID]{deviceParam("Only about this device; may be given several times")}
	logTags    = several[fleet.Tag]{tagNamed("Only about devices that carry this tag now; may be given several times")}
	logFolder  = textParam("folder", "Only about the folder with this ID")
	logKinds   = statesParam("kind", "Only of this kind; may be given several times", fleet.LogKinds)
)

func (s *EventHandlers) eventLogRoute() route {
	return route{method: http.MethodGet, path: Prefix + "/events/log", name: "listEventLog",
		summary: "What happened: changes of state and configuration, and orders, newest first; 200 entries unless a " +
			"limit says otherwise",
		permission: auth.Read, off: s.EventLog == nil, handle: s.listEventLog, reply: reflect.TypeFor[[]api.LogEntry](),
		query: []parameter{logDevices, logTags, logFolder, logKinds, sinceParam, untilParam, orderParam, limitParam,
			afterParam}}
}

func (s *EventHandlers) listEventLog(r *request) (reply, error) {
	q, err := r.logQuery()
	if err != nil {
		return reply{}, err
	}
	limit := min(cmp.Or(q.Limit, logPage), maxLogPage)
	q.Limit = limit + 1
	entries, err := s.EventLog.Entries(r.Context(), q)
	if err != nil {
		return reply{}, err
	}
	registry, err := s.Registry.Registry(r.Context())
	if err != nil {
		return reply{}, err
	}
	return showList(r, listQuery{limit: limit}, entries, listing[fleet.LogEntry, api.LogEntry]{
		cursor: func(e fleet.LogEntry) string { return strconv.FormatInt(e.Number, 10) },
		wire:   func(e fleet.LogEntry) api.LogEntry { return wireLogEntry(e, registry) },
	})
}

// logQuery reads which entries are asked for.
func (r *request) logQuery() (q fleet.LogQuery, err error) {
	q.Scope = fleet.ScopeIn(r.Context())
	var order, after string
	err = cmp.Or(logDevices.read(r, &q.Devices), logTags.read(r, &q.Tags), logFolder.read(r, &q.Folder),
		logKinds.read(r, &q.Kinds), sinceParam.read(r, &q.Since), untilParam.read(r, &q.Until),
		orderParam.read(r, &order), limitParam.read(r, &q.Limit), afterParam.read(r, &after))
	q.Oldest = order == "oldest"
	if err != nil || after == "" {
		return q, err
	}
	if q.After, err = strconv.ParseInt(after, 10, 64); err != nil || q.After < 1 {
		return q, requestf("query.after", "after is the number of an entry: take it from the Link header")
	}
	return q, nil
}

func wireLogEntry(e fleet.LogEntry, registry *fleet.Registry) api.LogEntry {
	e.Reason = fleet.WithNames(e.Reason, registry.Label)
	return api.LogEntry{Number: e.Number, Time: api.Time{Time: e.At}, DeviceID: string(e.Device),
		Label: cmp.Or(registry.Label(e.Device), e.Label), Folder: e.Folder, Kind: string(e.Kind), Text: e.Text(),
		State: e.State, Before: e.Before, Reason: e.Reason, Cause: e.Cause, Revision: e.Revision}
}

// logEventFor is an event of the log as the API shows it, nil when it is not for the caller.
func (s *EventHandlers) logEventFor(ctx context.Context, e *event.Event) (*event.Event, error) {
	registry, err := s.Registry.Registry(ctx)
	if err != nil {
		return nil, err
	}
	scope := fleet.ScopeIn(ctx)
	if !scope.Whole() && registry.Devices[e.Device] == nil {
		return nil, nil //nolint:nilnil // not for this caller
	}
	entry := fleet.LogEntry{}
	if err := json.Unmarshal(e.Data, &entry); err != nil {
		return nil, err
	}
	entry.Number = e.ID
	tags := e.Tags
	if !scope.Whole() {
		tags = scope.Among(tags)
	}
	return withData(e, tags, wireLogEntry(entry, registry))
}
