package policy

import (
	"context"
	"crypto/rand"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"muster/internal/fleet"
)

// Telling is who is told of what: channels, routes and silences, which the store keeps as settings.
type Telling struct {
	store Store
	check func(fleet.Channel) error // refuses a channel that nothing could be sent to
}

// NewTelling makes a Telling of a store. check refuses a channel that nothing could be sent to.
func NewTelling(store Store, check func(fleet.Channel) error) *Telling { return &Telling{store, check} }

// Now returns what holds.
func (t *Telling) Now() fleet.Telling { return fleet.TellingOf(t.store.StoredSettings(), time.Now()) }

// ChannelChange is another form of a channel. What is nil stays.
type ChannelChange struct {
	Type        *fleet.ChannelType
	URL, Secret *fleet.Secret
	To          *string
}

var errChanged = &fleet.Error{Code: fleet.CodeConflict, Message: "somebody else changed it at the same time",
	Hint: "Try again."}

// PutChannel makes a channel or changes it.
func (t *Telling) PutChannel(ctx context.Context, name string, change ChannelChange) (stored fleet.Channel,
	created bool, err error) {
	was := t.Now().Channel(name)
	is := fleet.Channel{Name: name}
	if was != nil {
		is = *was
	}
	if err := change.apply(&is, was); err != nil {
		return is, false, err
	}
	if err := is.Validate(); err != nil {
		return is, false, err
	}
	if err := t.check(is); err != nil {
		return is, false, err
	}
	value, err := is.Stored()
	if err != nil {
		return is, false, err
	}
	setting := fleet.ChannelSetting(name)
	err = t.store.PutSetting(ctx, setting, value, is.Shown(), func(now fleet.StoredSettings) error {
		telling, err := believed(now)
		switch current := telling.Channel(name); {
		case err != nil:
			return err
		case !reflect.DeepEqual(current, was):
			return errChanged
		case current == nil:
			return telling.RoomFor(setting)
		}
		return nil
	})
	if err != nil {
		return is, false, err
	}
	if now := t.Now().Channel(name); now != nil { // Another may have deleted it meanwhile.
		is = *now
	}
	return is, was == nil, nil
}

// apply changes a channel. Where a URL leads elsewhere, a secret that is stored must be given again: no answer shows
// it, and the server would send it there or sign with it.
func (c ChannelChange) apply(is, was *fleet.Channel) error {
	if c.Type != nil && was != nil && *c.Type != was.Type {
		return &fleet.Error{Code: fleet.CodeInvalid, Message: "the type of a channel does not change",
			Hint: "Make another channel, or delete this one first."}
	}
	if c.Type != nil {
		is.Type = *c.Type
	}
	if c.To != nil {
		is.To = *c.To
	}
	if c.URL != nil {
		is.URL = *c.URL
	}
	if c.Secret != nil {
		is.Secret = *c.Secret
	}
	if was != nil && c.Secret == nil && !was.Secret.IsZero() && is.URL != was.URL {
		return &fleet.Error{Code: fleet.CodeInvalid,
			Message: "a secret is stored, which would serve for another URL",
			Hint:    "Give the secret again with the new URL."}
	}
	return nil
}

// believed refuses a change while somebody else may have changed the stored settings.
func believed(now fleet.StoredSettings) (fleet.Telling, error) {
	telling := fleet.TellingOf(now, time.Now())
	if telling.Doubted {
		return telling, &fleet.Error{Code: fleet.CodeConflict,
			Message: "the database is in doubt, and no channel, route or silence counts", Hint: "Type `muster audit verify`."}
	}
	return telling, nil
}

// DeleteChannel deletes a channel that no route names.
func (t *Telling) DeleteChannel(ctx context.Context, name string) error {
	if t.Now().Channel(name) == nil {
		return fleet.NotFoundf("there is no channel %q", name)
	}
	return t.store.DeleteSetting(ctx, fleet.ChannelSetting(name), func(now fleet.StoredSettings) error {
		for _, route := range fleet.TellingOf(now, time.Now()).Routes {
			if slices.Contains(route.Channels, name) {
				return &fleet.Error{Code: fleet.CodeConflict,
					Message: fmt.Sprintf("the route %q sends messages to the channel %q", route.Name, name),
					Hint:    "Change or delete the route first."}
			}
		}
		return nil
	})
}

// PutRoute makes a route or replaces it.
func (t *Telling) PutRoute(ctx context.Context, route fleet.Route) (stored fleet.Route, created bool, err error) {
	value, err := route.Stored()
	if err != nil {
		return route, false, err
	}
	setting := fleet.RouteSetting(route.Name)
	err = t.store.PutSetting(ctx, setting, value, route.Shown(), func(now fleet.StoredSettings) error {
		telling, err := believed(now)
		if err != nil {
			return err
		}
		if created = !slices.ContainsFunc(telling.Routes, func(r fleet.Route) bool { return r.Name == route.Name }); created {
			if err := telling.RoomFor(setting); err != nil {
				return err
			}
		}
		return route.Validate(func(channel string) bool { return telling.Channel(channel) != nil })
	})
	if err != nil {
		return route, false, err
	}
	for _, is := range t.Now().Routes {
		if is.Name == route.Name {
			route = is
		}
	}
	return route, created, nil
}

// DeleteRoute deletes a route.
func (t *Telling) DeleteRoute(ctx context.Context, name string) error {
	if !slices.ContainsFunc(t.Now().Routes, func(r fleet.Route) bool { return r.Name == name }) {
		return fleet.NotFoundf("there is no route %q", name)
	}
	return t.store.DeleteSetting(ctx, fleet.RouteSetting(name), nil)
}

// AddSilence makes a silence, and removes those that ended.
func (t *Telling) AddSilence(ctx context.Context, silence fleet.Silence) (fleet.Silence, error) {
	now := time.Now()
	silence.Until = silence.Until.UTC().Truncate(time.Second)
	if err := silence.Validate(now); err != nil {
		return silence, err
	}
	if err := t.removeEnded(ctx, now); err != nil {
		return silence, err
	}
	silence.ID = strings.ToLower(rand.Text()[:silenceIDLength])
	value, err := silence.Stored()
	if err != nil {
		return silence, err
	}
	setting := fleet.SilenceSetting(silence.ID)
	err = t.store.PutSetting(ctx, setting, value, silence.Shown(), func(stored fleet.StoredSettings) error {
		telling, err := believed(stored)
		if err != nil {
			return err
		}
		return telling.RoomFor(setting)
	})
	if err != nil {
		return silence, err
	}
	for _, is := range t.Now().Silences {
		if is.ID == silence.ID {
			silence = is
		}
	}
	return silence, nil
}

const silenceIDLength = 10

// removeEnded removes the silences that ended. Muster does so by itself, not the person who makes another.
func (t *Telling) removeEnded(ctx context.Context, now time.Time) error {
	ctx = fleet.WithActor(ctx, fleet.ActorMuster)
	for _, setting := range fleet.EndedSilences(t.store.StoredSettings(), now) {
		if err := t.store.DeleteSetting(ctx, setting, nil); err != nil {
			return err
		}
	}
	return nil
}

// EndSilence ends a silence now.
func (t *Telling) EndSilence(ctx context.Context, id string) error {
	if !slices.ContainsFunc(t.Now().Silences, func(s fleet.Silence) bool { return s.ID == id }) {
		return fleet.NotFoundf("there is no silence %q", id)
	}
	return t.store.DeleteSetting(ctx, fleet.SilenceSetting(id), nil)
}
