package httpapi

import (
	"net/http"
	"reflect"
	"time"

	"muster/api"
	"muster/internal/edge/auth"
	"muster/internal/fleet"
)

// EnrollKeyHandlers make and end enrol keys.
type EnrollKeyHandlers struct {
	*base
	Keys EnrollKeys
}

func (s EnrollKeyHandlers) routes(b *base) []route {
	s.base = b
	const all, one = Prefix + "/enroll-keys", Prefix + "/enroll-keys/{enrollKey}"
	routes := []route{
		{method: http.MethodGet, path: all, name: "listEnrollKeys",
			summary:    "Enrol keys by the time when they were made, without the keys themselves",
			permission: auth.ManageEnrollment, reply: reflect.TypeFor[[]api.EnrollKey](), handle: s.listEnrollKeys},
		{method: http.MethodPost, path: all, name: "createEnrollKey",
			summary:    "Make a key that registers devices and does nothing else; the only reply that shows it",
			permission: auth.ManageEnrollment, body: reflect.TypeFor[api.CreateEnrollKey](),
			reply: reflect.TypeFor[api.NewEnrollKey](), creates: true, onlyCreates: true, volatile: true, conflicts: true,
			handle: s.createEnrollKey},
		{method: http.MethodDelete, path: one, name: "deleteEnrollKey",
			summary: "Revoke an enrol key; the devices that it registered stay", permission: auth.ManageEnrollment,
			handle: s.deleteEnrollKey},
	}
	for i := range routes {
		routes[i].off = s.Keys == nil
	}
	return routes
}

func (s EnrollKeyHandlers) listEnrollKeys(r *request) (reply, error) {
	keys, err := s.Keys.Keys(r.Context())
	if err != nil {
		return reply{}, err
	}
	return show(mapped(keys, func(key fleet.EnrollKey) api.EnrollKey { return wireEnrollKey(key, time.Now()) }))
}

func (s EnrollKeyHandlers) createEnrollKey(r *request) (reply, error) {
	body, err := decode[api.CreateEnrollKey](r)
	if err != nil {
		return reply{}, err
	}
	wanted := fleet.EnrollKey{Uses: int(min(or(body.Uses, 1), fleet.MaxEnrollKeyUses+1))}
	if wanted.Tags, err = each(or(body.Tags, nil), "tags", fleet.ParseTag); err != nil {
		return reply{}, err
	}
	life := fleet.DefaultEnrollKeyLife
	if body.ExpiresInS != nil {
		if life, err = seconds("expiresInS", body.ExpiresInS); err != nil {
			return reply{}, err
		}
	}
	wanted.ExpiresAt = time.Now().Add(life)
	text, key, err := s.Keys.CreateKey(r.Context(), wanted)
	if err != nil {
		return reply{}, err
	}
	return showCreated(api.NewEnrollKey{EnrollKey: wireEnrollKey(key, time.Now()), Key: text}, true,
		Prefix+"/enroll-keys/"+key.ID)
}

func (s EnrollKeyHandlers) deleteEnrollKey(r *request) (reply, error) {
	id := r.segment("enrollKey")
	return nothing(orNotFound(s.Keys.RevokeKey(r.Context(), id),
		notThere(fleet.SeeEnrollKeys, "GET "+Prefix+"/enroll-keys lists all.", "there is no enrol key %q", id)))
}

func wireEnrollKey(key fleet.EnrollKey, now time.Time) api.EnrollKey {
	return api.EnrollKey{ID: key.ID, Tags: wireTags(key.Tags), Uses: int64(key.Uses), Used: int64(key.Used),
		State: string(key.State(now)), CreatedBy: key.CreatedBy, CreatedAt: api.Time{Time: key.CreatedAt},
		ExpiresAt: api.Time{Time: key.ExpiresAt}, LastUsedAt: moment(key.LastUsedAt)}
}
