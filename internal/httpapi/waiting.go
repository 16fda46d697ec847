package httpapi

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"muster/api"
	"muster/internal/auth"
	"muster/internal/fleet"
	"muster/internal/memlimit"
)

// firstWaiting is how many devices of a group are shown where the group was not asked for.
const firstWaiting = 10

func (s *server) waitingRoutes() []route {
	return []route{{
		method: http.MethodGet, path: Prefix + "/waiting", name: "listWaiting", permission: auth.Read,
		summary: "Everything that waits for a person, grouped by cause, with the requests that solve it",
		query: []*huma.Param{queryParam("group", "Only the group with this ID, with all its devices",
			&huma.Schema{Type: huma.TypeString})},
		reply: reflect.TypeFor[api.Waiting](), off: s.Inventory == nil, handle: s.listWaiting,
	}}
}

// Severities, the worst first.
const (
	critical = "critical"
	warning  = "warning"
	info     = "info"
)

var severities = []string{critical, warning, info}

func (s *server) listWaiting(r *request) (reply, error) {
	only := r.URL.Query().Get("group")
	return s.held(r.Context(), func(ctx context.Context) (reply, error) {
		registry, err := s.Registry.Registry(ctx)
		if err != nil {
			return reply{}, err
		}
		rows, err := s.Inventory.allRows(ctx, registry)
		if err != nil {
			return reply{}, err
		}
		list := newWaitingList(s, ctx, registry, rows)
		for _, collect := range []func() error{
			list.heldChanges, list.devices, list.pending, list.enrollments, list.rollouts, list.stops, list.parts,
		} {
			if err := collect(); err != nil {
				return reply{}, err
			}
		}
		if err := memlimit.Take(ctx, list.size()); err != nil {
			return reply{}, err
		}
		return show(list.wire(only))
	})
}

// waitingList is one answer in the making.
type waitingList struct {
	*server
	ctx      context.Context //nolint:containedctx // of the request: a list does not outlive it
	whole    bool            // the caller has no tag scope
	registry *fleet.Registry
	rows     []*inventoryRow
	row      map[fleet.DeviceID]*inventoryRow
	groups   map[string]*waitingGroup
	waits    map[fleet.DeviceID]bool
	answered map[fleet.DeviceID]bool // devices of which a held change is in a group
}

type waitingGroup struct {
	api.WaitingGroup
	since time.Time
}

func newWaitingList(s *server, ctx context.Context, registry *fleet.Registry, rows []*inventoryRow) *waitingList {
	l := &waitingList{server: s, ctx: ctx, whole: fleet.ScopeIn(ctx).Whole(), registry: registry, rows: rows,
		row: make(map[fleet.DeviceID]*inventoryRow, len(rows)), groups: map[string]*waitingGroup{},
		waits: map[fleet.DeviceID]bool{}, answered: map[fleet.DeviceID]bool{}}
	for _, row := range rows {
		l.row[row.device.ID] = row
	}
	return l
}

// group is the one of a cause and of what tells it from others of that cause; it is made where it is not there yet.
func (l *waitingList) group(cause, severity string, of ...string) (g *waitingGroup, isNew bool) {
	sum := sha256.Sum256([]byte(cause + "\x00" + strings.Join(of, "\x00")))
	id := hex.EncodeToString(sum[:12])
	if g = l.groups[id]; g != nil {
		return g, false
	}
	g = &waitingGroup{WaitingGroup: api.WaitingGroup{ID: id, Cause: cause, Severity: severity, Templates: []int64{},
		Devices: []api.WaitingDevice{}, Actions: []api.WaitingAction{}}}
	l.groups[id] = g
	return g, true
}

// add adds a device to a group, with values for the placeholders of its actions.
func (l *waitingList) add(g *waitingGroup, id fleet.DeviceID, since time.Time, detail string, values ...string) {
	of := map[string]string{"deviceID": string(id)}
	for i := 0; i+1 < len(values); i += 2 {
		of[values[i]] = values[i+1]
	}
	g.Devices = append(g.Devices, api.WaitingDevice{DeviceID: string(id), Label: l.registry.Label(id), Detail: detail,
		Values: of})
	if !since.IsZero() && (g.since.IsZero() || since.Before(g.since)) {
		g.since = since
	}
	if l.registry.Devices[id] != nil && g.Cause != string(waitsStop) { // a stop keeps Muster waiting, not a person
		l.waits[id] = true
	}
}

// since is when the state of a device began; zero where that is not known.
func (l *waitingList) since(id fleet.DeviceID) time.Time {
	if row := l.row[id]; row != nil && row.wire.Since != nil {
		return row.wire.Since.Time
	}
	return time.Time{}
}

// size is about how many bytes the list takes on its way to the wire.
func (l *waitingList) size() (size int64) {
	const copies, group, device = 3, 1500, 300
	for _, g := range l.groups {
		size += copies * int64(group+len(g.From)+len(g.To)+device*len(g.Devices))
	}
	return size
}

func (l *waitingList) wire(only string) api.Waiting {
	out := api.Waiting{Groups: []api.WaitingGroup{}, Devices: len(l.waits)}
	for _, g := range l.groups {
		if only != "" && g.ID != only {
			continue
		}
		slices.SortFunc(g.Devices, func(a, b api.WaitingDevice) int {
			return cmp.Or(cmp.Compare(a.Label, b.Label), cmp.Compare(a.DeviceID, b.DeviceID),
				cmp.Compare(a.Detail, b.Detail))
		})
		g.Since = moment(g.since)
		g.DeviceCount = max(g.DeviceCount, len(g.Devices))
		if only == "" {
			g.Devices = g.Devices[:min(len(g.Devices), firstWaiting)]
		}
		out.Groups = append(out.Groups, g.WaitingGroup)
	}
	slices.SortFunc(out.Groups, func(a, b api.WaitingGroup) int {
		return cmp.Or(cmp.Compare(slices.Index(severities, a.Severity), slices.Index(severities, b.Severity)),
			-cmp.Compare(a.DeviceCount, b.DeviceCount), cmp.Compare(a.Cause, b.Cause), cmp.Compare(a.ID, b.ID))
	})
	return out
}

// act is an action with a body; nil is none.
func act(name, method, path string, body any, needs auth.Permission) api.WaitingAction {
	action := api.WaitingAction{Name: name, Method: method, Path: Prefix + path, Ask: []string{},
		Role: string(needs.Needs())}
	if body != nil {
		text, _ := encode(body) // plain values: cannot fail
		action.Body = bytes.TrimSuffix(text, []byte("\n"))
	}
	return action
}

// forEach is an action that is one request for each device of a group.
func forEach(action api.WaitingAction) api.WaitingAction {
	action.Each = true
	return action
}

// typed is an action with the command that does the same.
func typed(action api.WaitingAction, command string) api.WaitingAction {
	action.Command = command
	return action
}

// answeredBy is an action with placeholders that a person has to answer.
func answeredBy(action api.WaitingAction, placeholders ...string) api.WaitingAction {
	action.Ask = placeholders
	return action
}
