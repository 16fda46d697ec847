package httpapi

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"time"

	"muster/api"
	"muster/internal/edge/auth"
	"muster/internal/fleet"
)

// Sinks keeps sinks.
type Sinks interface {
	PutSink(ctx context.Context, sink fleet.Sink) (saved fleet.Sink, created bool, err error)
	DeleteSink(ctx context.Context, name string) error
	RewindSink(ctx context.Context, name string, since time.Time) error
	SinkRefusals(ctx context.Context, name string) ([]fleet.SinkRefusal, error)
}

// SinkRunner sends to sinks.
type SinkRunner interface {
	// States are sorted by name.
	States(ctx context.Context) ([]fleet.SinkState, error)
	// Try sends a record of trial. It is in the audit.
	Try(ctx context.Context, sink fleet.Sink) error
}

// SinkHandlers keep sinks.
type SinkHandlers struct {
	Sinks  Sinks
	Runner SinkRunner
}

func (s SinkHandlers) routes(*base) []route {
	const all, one = Prefix + "/sinks", Prefix + "/sinks/{sink}"
	off := s.Sinks == nil
	return []route{
		{method: http.MethodGet, path: all, name: "listSinks", summary: "All sinks by name, and how far each is",
			permission: auth.ManageSinks, reply: reflect.TypeFor[[]api.Sink](), off: off, handle: s.listSinks},
		{method: http.MethodPut, path: one, name: "putSink",
			summary:    "Add or change a sink: a place outside that gets what Muster records from now on",
			permission: auth.ManageSinks, body: reflect.TypeFor[api.PutSink](), reply: reflect.TypeFor[api.Sink](),
			creates: true, volatile: true, off: off, handle: s.putSink},
		{method: http.MethodDelete, path: one, name: "deleteSink", summary: "Remove a sink; what it has stays there",
			permission: auth.ManageSinks, off: off, handle: s.deleteSink},
		{method: http.MethodPost, path: one + "/test", name: "testSink",
			summary:    "Send a record of trial to a sink, and wait for its answer",
			permission: auth.ManageSinks, off: off, looksUp: true, handle: s.testSink},
		{method: http.MethodPost, path: one + "/replay", name: "replaySink",
			summary:    "Send again what was recorded since a time, as far as it is still kept",
			permission: auth.ManageSinks, body: reflect.TypeFor[api.ReplaySink](), off: off, handle: s.replaySink},
		{method: http.MethodGet, path: one + "/refusals", name: "listSinkRefusals",
			summary:    "The entries that a sink refused, the newest first; only the newest are kept",
			permission: auth.ManageSinks, reply: reflect.TypeFor[[]api.SinkRefusal](), off: off, handle: s.listRefusals},
	}
}

func (s SinkHandlers) listSinks(r *request) (reply, error) {
	states, err := s.Runner.States(r.Context())
	if err != nil {
		return reply{}, err
	}
	return show(mapped(states, wireSink))
}

func wireSink(s fleet.SinkState) api.Sink {
	wire := api.Sink{Name: s.Name, Kind: string(s.Kind), Address: s.Address, Index: s.Index,
		Headers: slices.Sorted(maps.Keys(s.Headers)), SavedBy: s.By, SavedAt: api.Time{Time: s.Sink.At}, Sent: s.Sent,
		Waiting: s.Waiting, Refused: s.Dead, Lost: s.Lost + s.Gaps, Trouble: s.Trouble}
	if !s.Since.IsZero() {
		wire.Since = &api.Time{Time: s.Since}
	}
	for _, stream := range s.Streams {
		wire.Streams = append(wire.Streams, string(stream))
	}
	if wire.Headers == nil {
		wire.Headers = []string{}
	}
	return wire
}

func (s SinkHandlers) putSink(r *request) (reply, error) {
	body, err := decode[api.PutSink](r)
	if err != nil {
		return reply{}, err
	}
	sink := fleet.Sink{Name: r.segment("sink"), Kind: fleet.SinkKind(or(body.Kind, "")), Address: or(body.Address, ""),
		Index: or(body.Index, "")}
	for _, stream := range body.Streams {
		sink.Streams = append(sink.Streams, fleet.SinkStream(stream))
	}
	if body.Headers != nil {
		sink.Headers = map[string]fleet.Secret{}
		for name, value := range body.Headers {
			sink.Headers[name] = fleet.NewSecret(value)
		}
	}
	saved, created, err := s.Sinks.PutSink(r.Context(), sink)
	if err != nil {
		return reply{}, err
	}
	state, err := s.state(r.Context(), saved.Name)
	if err != nil {
		return reply{}, err
	}
	return showCreated(wireSink(state), created, Prefix+"/sinks/"+url.PathEscape(saved.Name))
}

var noSink = notThere(fleet.SeeSinks, "GET "+Prefix+"/sinks lists all.", "there is no sink of that name")

func (s SinkHandlers) state(ctx context.Context, name string) (fleet.SinkState, error) {
	states, err := s.Runner.States(ctx)
	if err != nil {
		return fleet.SinkState{}, err
	}
	i := slices.IndexFunc(states, func(one fleet.SinkState) bool { return one.Name == name })
	if i < 0 {
		return fleet.SinkState{}, noSink
	}
	return states[i], nil
}

func (s SinkHandlers) deleteSink(r *request) (reply, error) {
	return nothing(orNotFound(s.Sinks.DeleteSink(r.Context(), r.segment("sink")), noSink))
}

func (s SinkHandlers) testSink(r *request) (reply, error) {
	state, err := s.state(r.Context(), r.segment("sink"))
	if err != nil {
		return reply{}, err
	}
	return nothing(s.Runner.Try(r.Context(), state.Sink))
}

func (s SinkHandlers) replaySink(r *request) (reply, error) {
	body, err := decode[api.ReplaySink](r)
	if err != nil {
		return reply{}, err
	}
	if body.Since == nil || body.Since.IsZero() {
		return reply{}, missing(map[string]bool{"since": true})
	}
	return nothing(orNotFound(s.Sinks.RewindSink(r.Context(), r.segment("sink"), body.Since.Time), noSink))
}

func (s SinkHandlers) listRefusals(r *request) (reply, error) {
	if _, err := s.state(r.Context(), r.segment("sink")); err != nil {
		return reply{}, err
	}
	refusals, err := s.Sinks.SinkRefusals(r.Context(), r.segment("sink"))
	if err != nil {
		return reply{}, err
	}
	return show(mapped(refusals, func(one fleet.SinkRefusal) api.SinkRefusal {
		return api.SinkRefusal{Stream: string(one.Stream), Number: one.Number, At: api.Time{Time: one.At}, Reason: one.Reason}
	}))
}
