package httpapi

import (
	"context"
	"net/http"
	"reflect"
	"time"

	"muster/api"
	"muster/internal/edge/auth"
	"muster/internal/engine/policy"
	"muster/internal/fleet"
)

// Telling is who is told of what; see policy.Telling.
type Telling interface {
	Now() fleet.Telling
	// Receivers returns the state of each receiver by the name of its channel.
	Receivers() map[string]fleet.Receiver
	Deliveries(ctx context.Context, channel string) ([]fleet.Delivery, error)
	PutChannel(ctx context.Context, name string, change policy.ChannelChange) (fleet.Channel, bool, error)
	DeleteChannel(ctx context.Context, name string) error
	// TestChannel sends a message of trial, and returns what was found for people.
	TestChannel(ctx context.Context, name string) (string, error)
	PutRoute(ctx context.Context, route fleet.Route) (fleet.Route, bool, error)
	DeleteRoute(ctx context.Context, name string) error
	AddSilence(ctx context.Context, silence fleet.Silence) (fleet.Silence, error)
	EndSilence(ctx context.Context, id string) error
}

// TellingHandlers show and change channels, routes and silences.
type TellingHandlers struct{ Telling Telling }

func (s TellingHandlers) routes(*base) []route {
	const channels, channel = Prefix + "/channels", Prefix + "/channels/{channel}"
	const all, one = Prefix + "/routes", Prefix + "/routes/{route}"
	const silences, silence = Prefix + "/silences", Prefix + "/silences/{silence}"
	routes := []route{
		{method: http.MethodGet, path: channels, name: "listChannels",
			summary:    "Receivers of messages about problems, with how each works, and without URLs and secrets",
			permission: auth.Read, reply: reflect.TypeFor[[]api.Channel](), handle: s.listChannels},
		{method: http.MethodPut, path: channel, name: "putChannel",
			summary:    "Make a channel, or change it; what is left out stays",
			permission: auth.WriteSettings, body: reflect.TypeFor[api.PutChannel](), reply: reflect.TypeFor[api.Channel](),
			creates: true, conflicts: true, handle: s.putChannel},
		{method: http.MethodDelete, path: channel, name: "deleteChannel", summary: "Delete a channel that no route names",
			permission: auth.WriteSettings, conflicts: true, handle: s.deleteChannel},
		{method: http.MethodPost, path: channel + "/test", name: "testChannel",
			summary:    "Send a message of trial to a channel, and wait for the answer",
			permission: auth.WriteSettings, reply: reflect.TypeFor[api.ChannelTested](), volatile: true,
			handle: s.testChannel},
		{method: http.MethodGet, path: channel + "/deliveries", name: "listDeliveries",
			summary:    "The last 100 messages that were sent to a channel, with the answers, the newest first",
			permission: auth.WriteSettings, reply: reflect.TypeFor[[]api.Delivery](), handle: s.listDeliveries},
		{method: http.MethodGet, path: all, name: "listRoutes", summary: "Which problems are told to which channels",
			permission: auth.Read, reply: reflect.TypeFor[[]api.Route](), handle: s.listRoutes},
		{method: http.MethodPut, path: one, name: "putRoute", summary: "Make a route, or replace it as a whole",
			permission: auth.WriteSettings, body: reflect.TypeFor[api.PutRoute](), reply: reflect.TypeFor[api.Route](),
			creates: true, conflicts: true, handle: s.putRoute},
		{method: http.MethodDelete, path: one, name: "deleteRoute", summary: "Delete a route",
			permission: auth.WriteSettings, handle: s.deleteRoute},
		{method: http.MethodGet, path: silences, name: "listSilences",
			summary:    "Silences that have not ended, the one that ends first at the beginning",
			permission: auth.Read, reply: reflect.TypeFor[[]api.Silence](), handle: s.listSilences},
		{method: http.MethodPost, path: silences, name: "createSilence",
			summary:    "Keep Muster from telling anybody of some problems until a time",
			permission: auth.Apply, body: reflect.TypeFor[api.CreateSilence](), reply: reflect.TypeFor[api.Silence](),
			creates: true, onlyCreates: true, conflicts: true, handle: s.createSilence},
		{method: http.MethodDelete, path: silence, name: "endSilence", summary: "End a silence now",
			permission: auth.Apply, handle: s.endSilence},
	}
	for i := range routes {
		routes[i].off = s.Telling == nil
	}
	return routes
}

func (s TellingHandlers) listChannels(*request) (reply, error) {
	receivers := s.Telling.Receivers()
	ofDefault := api.Channel{Name: fleet.DefaultChannel, Type: fleet.DefaultChannel}
	channels := s.Telling.Now().Channels
	named := map[string]bool{}
	for _, channel := range channels {
		named[channel.Name] = true
	}
	var began time.Time
	for name, receiver := range receivers {
		if named[name] {
			continue
		}
		ofDefault.Waiting += receiver.Waiting
		if receiver.Trouble != "" && (began.IsZero() || receiver.Since.Before(began)) {
			began, ofDefault.Trouble = receiver.Since, name+": "+receiver.Trouble
		}
	}
	ofDefault.Since = moment(began)
	all := []api.Channel{ofDefault}
	for _, channel := range channels {
		all = append(all, wireChannel(channel, receivers[channel.Name]))
	}
	return show(all)
}

func wireChannel(c fleet.Channel, now fleet.Receiver) api.Channel {
	return api.Channel{Name: c.Name, Type: string(c.Type), Host: c.Host(), To: c.To, HasSecret: !c.Secret.IsZero(),
		SetBy: c.By, SetAt: moment(c.At), Waiting: now.Waiting, Trouble: now.Trouble, Since: moment(now.Since)}
}

func (s TellingHandlers) putChannel(r *request) (reply, error) {
	body, err := decode[api.PutChannel](r)
	if err != nil {
		return reply{}, err
	}
	change := policy.ChannelChange{To: body.To, URL: secretIn(body.URL), Secret: secretIn(body.Secret)}
	if body.Type != nil {
		kind := fleet.ChannelType(*body.Type)
		change.Type = &kind
	}
	name := r.segment("channel")
	stored, created, err := s.Telling.PutChannel(r.Context(), name, change)
	if err != nil {
		return reply{}, err
	}
	return showCreated(wireChannel(stored, s.Telling.Receivers()[name]), created, Prefix+"/channels/"+name)
}

func secretIn(text *string) *fleet.Secret {
	if text == nil {
		return nil
	}
	secret := fleet.NewSecret(*text)
	return &secret
}

func (s TellingHandlers) deleteChannel(r *request) (reply, error) {
	return nothing(noChannel(r, s.Telling.DeleteChannel(r.Context(), r.segment("channel"))))
}

func noChannel(r *request, err error) error {
	return orNotFound(err, notThere(fleet.SeeChannels, "GET "+Prefix+"/channels lists all.", "there is no channel %q",
		r.segment("channel")))
}

func (s TellingHandlers) testChannel(r *request) (reply, error) {
	found, err := s.Telling.TestChannel(r.Context(), r.segment("channel"))
	if err != nil {
		return reply{}, noChannel(r, err)
	}
	return show(api.ChannelTested{Found: found})
}

func (s TellingHandlers) listDeliveries(r *request) (reply, error) {
	log, err := s.Telling.Deliveries(r.Context(), r.segment("channel"))
	if err != nil {
		return reply{}, noChannel(r, err)
	}
	return show(mapped(log, func(d fleet.Delivery) api.Delivery {
		return api.Delivery{At: api.Time{Time: d.At}, NoticeID: d.NoticeID, Type: string(d.Type), Summary: d.Summary,
			Accepted: d.Accepted, Answer: d.Answer}
	}))
}
