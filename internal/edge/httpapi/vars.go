package httpapi

import (
	"encoding/json"
	"maps"
	"net/http"
	"reflect"
	"slices"

	"muster/api"
	"muster/internal/edge/auth"
	"muster/internal/fleet"
)

// VarsHandlers keep the vars of devices and tags.
type VarsHandlers struct {
	*base
}

func (s VarsHandlers) routes(b *base) []route {
	s.base = b
	const device, tag = Prefix + "/devices/{deviceID}/vars", Prefix + "/tags/{tag}/vars"
	vars, put := reflect.TypeFor[api.Vars](), reflect.TypeFor[api.PutVars]()
	return []route{
		{method: http.MethodGet, path: device, name: "getDeviceVars", summary: "Vars of a device itself",
			permission: auth.Read, reply: vars, handle: s.ofDevice(s.getDeviceVars)},
		{method: http.MethodPut, path: device, name: "putDeviceVars",
			summary:    "Replace the vars of a device; goes out like a change of a template",
			permission: auth.WriteTemplates, body: put, reply: vars, conditional: true, handle: s.ofDevice(s.putDeviceVars)},
		{method: http.MethodGet, path: device + "/effective", name: "getEffectiveVars",
			summary:    "All vars that templates read of a device: those of its tags, and its own",
			permission: auth.Read, reply: reflect.TypeFor[api.EffectiveVars](), handle: s.ofDevice(s.getEffectiveVars)},
		{method: http.MethodGet, path: tag, name: "getTagVars", summary: "Vars of the devices with a tag",
			permission: auth.Read, reply: vars, handle: s.ofTag(s.getTagVars)},
		{method: http.MethodPut, path: tag, name: "putTagVars",
			summary:    "Replace the vars of the devices with a tag; goes out like a change of a template",
			permission: auth.WriteTemplates, body: put, reply: vars, conditional: true, handle: s.putTagVars},
	}
}

func wireVars(vars fleet.Vars) api.Vars { return api.Vars{Vars: vars.Values()} }

func shownVars(is fleet.Found) any { return wireVars(is.Vars) }

func (s VarsHandlers) getDeviceVars(r *request, device *fleet.Registered) (reply, error) {
	return show(wireVars(device.Vars.Vars))
}

func (s VarsHandlers) putDeviceVars(r *request, device *fleet.Registered) (reply, error) {
	return s.putVars(r, fleet.VarsOwner{Device: device.ID})
}

func (s VarsHandlers) getEffectiveVars(r *request, device *fleet.Registered) (reply, error) {
	registry, err := s.Registry.Registry(r.Context())
	if err != nil {
		return reply{}, err
	}
	out := api.EffectiveVars{Vars: map[string]api.EffectiveVar{}}
	for name, is := range registry.EffectiveVars(device.ID) {
		out.Vars[name] = api.EffectiveVar{Value: is.Value, Tag: string(is.From.Tag)}
	}
	return show(out)
}

func (s VarsHandlers) getTagVars(r *request, tag fleet.Tag, registry *fleet.Registry) (reply, error) {
	return show(wireVars(registry.TagVars[tag].Vars))
}

func (s VarsHandlers) putTagVars(r *request) (reply, error) {
	tag, err := r.tag()
	if err != nil {
		return reply{}, err
	}
	return s.putVars(r, fleet.VarsOwner{Tag: tag})
}

func (s VarsHandlers) putVars(r *request, of fleet.VarsOwner) (reply, error) {
	body, err := decode[api.PutVars](r, "vars")
	if err != nil {
		return reply{}, err
	}
	vars, err := fleet.ParseVars(body.Vars)
	if err != nil {
		return reply{}, err
	}
	change := fleet.VarsChange{VarsOwner: of, SavedVars: fleet.SavedVars{Vars: vars}}
	if _, err := s.change(r, fleet.Edit{Vars: []fleet.VarsChange{change}}, condition(r, shownVars)); err != nil {
		return reply{}, err
	}
	return show(wireVars(vars))
}

// varsEdits are the changes of vars that a body asks for, in the order of their owners.
func varsEdits(body api.WhatIfVars) (changes []fleet.VarsChange, err error) {
	add := func(place string, of fleet.VarsOwner, values map[string]json.RawMessage) error {
		vars, err := fleet.ParseVars(values)
		if err != nil {
			return inside(place, err)
		}
		changes = append(changes, fleet.VarsChange{VarsOwner: of, SavedVars: fleet.SavedVars{Vars: vars}})
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(body.Devices)) {
		id, err := fleet.ParseDeviceID(name)
		if err != nil {
			return nil, at("vars.devices."+name, err)
		}
		if err := add("vars.devices."+name, fleet.VarsOwner{Device: id}, body.Devices[name]); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(body.Tags)) {
		tag, err := fleet.ParseTag(name)
		if err != nil {
			return nil, at("vars.tags."+name, err)
		}
		if err := add("vars.tags."+name, fleet.VarsOwner{Tag: tag}, body.Tags[name]); err != nil {
			return nil, err
		}
	}
	return changes, nil
}
