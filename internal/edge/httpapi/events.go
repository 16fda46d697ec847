package httpapi

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"reflect"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"muster/api"
	"muster/internal/edge/auth"
	"muster/internal/engine/event"
	"muster/internal/fleet"
	"muster/internal/logkey"
)

// Events is where fleet events are read; see event.Hub.
type Events interface {
	Subscribe(f event.Filter, after int64) (*event.Subscription, error)
}

// streaming is the times of event streams.
type streaming struct {
	heartbeat time.Duration // between two signs of life; proxies cut what is silent, often after a minute
	recheck   time.Duration // The credential is read again so often; the stream ends with it.
	life      time.Duration // of a stream, plus up to a tenth: a client that is there comes back and goes on
	retry     time.Duration // after which a client that lost its stream shall come back
}

// A client that reads nothing shows only when the network's buffers are full, which heartbeats never fill: the life of
// a stream is what ends it in a quiet fleet.
var streamTimes = streaming{
	heartbeat: 15 * time.Second,
	recheck:   time.Second,
	life:      15 * time.Minute,
	retry:     2 * time.Second,
}

// streamsPerToken is how many event streams one token may have open: one for each page of the console.
const streamsPerToken = 50

var (
	eventTypes = several[event.Type]{queryParam("type", "Only events of this type; may be given several times",
		enumSchema(event.Types), event.ParseType)}
	eventDevices = several[fleet.DeviceID]{deviceParam("Only events about this device; may be given several times")}
	eventTags    = several[fleet.Tag]{tagNamed(
		"Only events about devices that carry this tag; may be given several times")}
	eventAfter = queryParam("after", "Go on after the event with this ID; the header Last-Event-ID, which browsers send "+
		"when they come back, counts for more", eventIDSchema, parseEventID)
	lastEventID = param[*int64]{in: inHeader, name: "Last-Event-ID", description: "Go on after the event with this ID",
		schema: eventIDSchema, parse: parseEventID}
	eventIDSchema = &huma.Schema{Type: huma.TypeInteger, Format: "int64"}
)

// parseEventID reads the ID of an event; nil for "".
func parseEventID(text string) (*int64, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // no ID
	}
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 0 {
		return nil, fleet.Invalidf("after", "%q is no event's ID: it is a whole number", text)
	}
	return &id, nil
}

// EventHandlers send events, and list those that are kept.
type EventHandlers struct {
	*base
	Rollouts  Rollouts
	Events    Events
	EventLog  EventLog
	States    States
	Rows      Rows
	streaming streaming
	streams   callerLimit // Event streams by the name of the token.
}

func (s *EventHandlers) routes(b *base) []route {
	s.base = b
	s.streaming, s.streams.most = cmp.Or(s.streaming, streamTimes), cmp.Or(s.streams.most, streamsPerToken)
	return []route{
		{method: http.MethodGet, path: Prefix + "/events", name: "followEvents",
			summary:    "What happens, as it happens, as server-sent events; each has an Event as its data",
			permission: auth.Read, reply: reflect.TypeFor[api.Event](), media: api.EventStream, volatile: true,
			off: s.Events == nil, handle: s.followEvents,
			query: []parameter{eventTypes, eventDevices, eventTags, eventAfter, lastEventID}},
		s.eventLogRoute(),
	}
}

func (s *EventHandlers) followEvents(r *request) (reply, error) {
	if err := MayStream(r.Context()); err != nil {
		return reply{}, err
	}
	filter, after, err := r.eventQuery()
	if err != nil {
		return reply{}, err
	}
	if !s.streams.enter(r.who.Name) {
		return reply{}, tooManyStreams(s.streams.most)
	}
	events, err := s.Events.Subscribe(filter, after)
	if err != nil {
		s.streams.leave(r.who.Name)
		return reply{}, err
	}
	stream := func(w http.ResponseWriter) {
		defer s.streams.leave(r.who.Name)
		defer events.Close()
		s.stream(w, r, events)
	}
	return reply{stream: stream}, nil
}

func tooManyStreams(most int) error {
	return &fleet.Error{
		Code: fleet.CodeTooMany, Message: fmt.Sprintf("this token has %d event streams open, and may not have more", most),
		Hint: "Close some: every open page of the console has one. Or give every program a token of its own.",
	}
}

// eventQuery reads what a client wants to hear of. Without an ID to go on after that is what happens from now on.
func (r *request) eventQuery() (filter event.Filter, after int64, err error) {
	if err = cmp.Or(eventTypes.read(r, &filter.Types), eventDevices.read(r, &filter.Devices),
		eventTags.read(r, &filter.Tags)); err != nil {
		return filter, 0, err
	}
	id, err := lastEventID.of(r)
	if err == nil && id == nil {
		id, err = eventAfter.of(r)
	}
	if err != nil || id == nil {
		return filter, event.Latest, err
	}
	return filter, *id, nil
}

// stream writes events until the client is gone or too slow, the server stops, the token is withdrawn, or the stream
// is old enough.
func (s *EventHandlers) stream(w http.ResponseWriter, r *request, events *event.Subscription) {
	header := w.Header()
	header.Set("Content-Type", api.EventStream)
	header.Set("Cache-Control", "no-store")
	header.Set("X-Accel-Buffering", "no") // nginx would gather what is to be sent at once
	out := &eventWriter{w: w, conn: http.NewResponseController(w)}
	if r.Method == http.MethodHead {
		w.WriteHeader(http.StatusOK)
		return
	}
	_ = out.conn.SetReadDeadline(time.Time{}) // of the request; not every ResponseWriter has one
	life := s.streaming.life + rand.N(s.streaming.life/10+1)
	ctx, cancel := context.WithTimeout(r.Context(), life)
	defer cancel()
	permitted, lively := time.Now(), time.Now() // last, at first by the route
	out.begin(s.streaming.retry, events.Cursor())
	late := false // the client was told that it is
	for {
		if err := out.flush(); err != nil {
			s.lost(r, err)
			return
		}
		batch, err := next(ctx, events, min(s.streaming.recheck, s.streaming.heartbeat))
		if time.Since(permitted) >= s.streaming.recheck { // also of a stream that is never idle
			if !s.stillPermitted(r) {
				return
			}
			permitted = time.Now()
		}
		switch {
		case err == nil:
			if err := s.sendBatch(r.Context(), out, batch); err != nil {
				s.log.Warn("event stream ended", logkey.Token, r.who.Name, logkey.Err(err))
				return
			}
			waiting, isLate := events.Late()
			if isLate && !late {
				out.late(waiting)
			}
			late = isLate
		case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
		default:
			return
		}
		if out.buf.Len() == 0 && time.Since(lively) >= s.streaming.heartbeat {
			out.heartbeat(events.Cursor())
		}
		if out.buf.Len() > 0 {
			lively = time.Now()
		}
	}
}

// stillPermitted tells whether the credential of a stream is still worth the same. Where the role or the part of the
// fleet changed, the stream ends, and its client begins anew.
func (s *EventHandlers) stillPermitted(r *request) bool {
	who, err := s.permit(r.Request, auth.Read)
	return err == nil && who.Name == r.who.Name && who.Role == r.who.Role && who.Scope == r.who.Scope
}

// sendBatch writes those events of a batch that the caller may know of.
func (s *EventHandlers) sendBatch(caller context.Context, out *eventWriter, batch []*event.Event) error {
	for _, e := range batch {
		seen, err := s.eventFor(caller, e)
		if err != nil {
			return err
		}
		if seen != nil {
			out.event(seen)
		}
	}
	return nil
}

// lost logs a client that took too long. It comes back with the ID of the last event that it has read.
func (s *EventHandlers) lost(r *request, err error) {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		s.log.Info("event stream ended: its client reads too slowly", logkey.Token, r.who.Name, logkey.Address, r.RemoteAddr)
	}
}

// next waits for events, at most for so long.
func next(ctx context.Context, events *event.Subscription, most time.Duration) ([]*event.Event, error) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	return events.Next(ctx)
}

// eventWriter gathers a batch and sends it.
type eventWriter struct {
	w    http.ResponseWriter
	conn *http.ResponseController
	buf  bytes.Buffer
	err  error // of encoding: a mistake, no request can cause it
}

// begin names the ID to come back with before there is an event: a block without data only sets it.
func (o *eventWriter) begin(retry time.Duration, cursor int64) {
	o.buf.WriteString("retry: " + strconv.FormatInt(retry.Milliseconds(), 10) + "\n")
	o.heartbeat(cursor)
}

// heartbeat keeps the connection open, and the client's ID fresh while its filter lets nothing through.
func (o *eventWriter) heartbeat(cursor int64) {
	o.buf.WriteString(": still here\nid: " + strconv.FormatInt(cursor, 10) + "\n\n")
}

// late tells a client that it will miss events unless it reads faster. They are replaced by an event of type missed.
func (o *eventWriter) late(waiting int64) {
	o.buf.WriteString(": slow, " + strconv.FormatInt(waiting, 10) + " events wait; read faster or ask for fewer\n\n")
}

func (o *eventWriter) event(e *event.Event) {
	data, err := encode(api.Event{
		ID: e.ID, Type: string(e.Type), Device: string(e.Device), Tags: wireTags(e.Tags), Time: api.Time{Time: e.Time},
		Data: e.Data,
	})
	if err != nil {
		o.err = err
		return
	}
	o.buf.WriteString("id: " + strconv.FormatInt(e.ID, 10) + "\nevent: " + string(e.Type) + "\ndata: ")
	o.buf.Write(data) // JSON of one line.
	o.buf.WriteString("\n")
}

// flush sends what was gathered. Each write has a deadline, see recorder; the stream has none.
func (o *eventWriter) flush() error {
	if o.err != nil {
		return o.err
	}
	if o.buf.Len() == 0 {
		return nil
	}
	if _, err := o.w.Write(o.buf.Bytes()); err != nil {
		return err
	}
	o.buf.Reset()
	return o.conn.Flush()
}
