package httpapi

import (
	"net/http"
	"reflect"
	"strconv"

	"muster/api"
	"muster/internal/edge/auth"
	"muster/internal/engine/view"
	"muster/internal/fleet"
)

// RevocationHandlers revoke devices, and end revocations.
type RevocationHandlers struct {
	*base
	Mirror       Configurations // nil: no configuration is known
	Certificates Certificates   // nil: nothing is proven
}

// Configurations tell which daemons have a device.
type Configurations interface {
	// Configuring tells for each daemon of which it is known whether its configuration has the device.
	Configuring(peer fleet.DeviceID) map[fleet.DeviceID]bool
}

func (s RevocationHandlers) routes(b *base) []route {
	s.base = b
	const all, one = Prefix + "/revocations", Prefix + "/revocations/{deviceID}"
	return append(s.certificateRoutes(), []route{
		{method: http.MethodPost, path: Prefix + "/devices/{deviceID}/revoke", name: "revokeDevice",
			summary: "Take a device off every managed daemon, for good; it need not be registered. POST plan, with " +
				"revocations, shows what that changes",
			permission: auth.WriteDevices, body: reflect.TypeFor[api.RevokeDevice](), reply: reflect.TypeFor[api.Revocation](),
			based: true, conflicts: true, handle: s.revokeDevice},
		{method: http.MethodGet, path: all, name: "listRevocations",
			summary: "Revoked devices, the newest revocation first", permission: auth.Read,
			reply: reflect.TypeFor[[]api.Revocation](), handle: s.ofRegistry(s.listRevocations)},
		{method: http.MethodDelete, path: one, name: "deleteRevocation",
			summary:    "End a revocation: daemons may let the device in again; nothing comes back by itself but by templates",
			permission: auth.WriteDevices, handle: s.deleteRevocation},
	}...)
}

func (s RevocationHandlers) revokeDevice(r *request) (reply, error) {
	id, err := r.deviceID()
	if err != nil {
		return reply{}, err
	}
	body, err := decode[api.RevokeDevice](r)
	if err != nil {
		return reply{}, err
	}
	registry, err := s.Registry.Registry(r.Context())
	if err != nil {
		return reply{}, err
	}
	one, err := revocationOf(registry, id, body.Reason)
	if err != nil {
		return reply{}, err
	}
	edit := fleet.Edit{Revoke: []fleet.Revocation{one}}
	if _, err := s.Changes.Apply(r.Context(), edit, fleet.Basis{Generation: body.Generation}); err != nil {
		return reply{}, err
	}
	if registry, err = s.Registry.Registry(r.Context()); err != nil {
		return reply{}, err
	}
	seen, err := s.insideOf(r.Context())
	if err != nil {
		return reply{}, err
	}
	return show(s.wireRevocation(registry, registry.Revocations[id], seen))
}

// revocationOf is a revocation as a person asks for it.
func revocationOf(registry *fleet.Registry, id fleet.DeviceID, reason *string) (fleet.Revocation, error) {
	one := fleet.Revocation{Device: id, Label: registry.Label(id), Reason: or(reason, "")}
	return one, one.Validate()
}

func (s RevocationHandlers) listRevocations(r *request, registry *fleet.Registry) (reply, error) {
	inside, err := s.insideOf(r.Context())
	if err != nil {
		return reply{}, err
	}
	return show(mapped(view.Revocations(registry, inside), func(one fleet.Revocation) api.Revocation {
		return s.wireRevocation(registry, one, inside)
	}))
}

// wireRevocation shows a revocation, and which of the devices that the caller may see still have the device.
func (s RevocationHandlers) wireRevocation(registry *fleet.Registry, one fleet.Revocation,
	inside func(fleet.DeviceID) bool) api.Revocation {
	var known map[fleet.DeviceID]bool
	if s.Mirror != nil {
		known = s.Mirror.Configuring(one.Device)
	}
	on, unknown := view.StillOn(registry, one.Device, known, inside)
	return api.Revocation{DeviceID: string(one.Device), Label: one.Label, Reason: one.Reason, RevokedBy: one.By,
		RevokedAt: api.Time{Time: one.At}, Registered: registry.Devices[one.Device] != nil,
		StillOn: namedDevices(on, registry), Unknown: unknown}
}

func (s RevocationHandlers) deleteRevocation(r *request) (reply, error) {
	id, err := r.deviceID()
	if err != nil {
		return reply{}, err
	}
	_, err = s.change(r, fleet.Edit{Readmit: []fleet.DeviceID{id}}, nil)
	return nothing(err)
}

// revocationEdits adds what a body says of revocations to an edit.
func revocationEdits(edit *fleet.Edit, now *fleet.Registry, body api.WhatIfRevocations) error {
	for i, one := range body.Added {
		place := "revocations.added." + strconv.Itoa(i)
		if err := missing(map[string]bool{"device": one.Device == nil}); err != nil {
			return inside(place, err)
		}
		id, err := fleet.ParseDeviceID(*one.Device)
		if err != nil {
			return at(place+".device", err)
		}
		revocation, err := revocationOf(now, id, one.Reason)
		if err != nil {
			return inside(place, err)
		}
		edit.Revoke = append(edit.Revoke, revocation)
	}
	for i, name := range body.Removed {
		id, err := fleet.ParseDeviceID(name)
		if err != nil {
			return at("revocations.removed."+strconv.Itoa(i), err)
		}
		edit.Readmit = append(edit.Readmit, id)
	}
	return nil
}
