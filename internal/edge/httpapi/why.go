package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"

	"muster/api"
	"muster/internal/core/desired"
	"muster/internal/core/stconfig"
	"muster/internal/core/template"
	"muster/internal/edge/auth"
	"muster/internal/fleet"
)

// Reasons says which templates make a device's configuration.
type Reasons interface {
	// Why says where the value of a key comes from. A device whose configuration was never read: not_found.
	Why(ctx context.Context, id fleet.DeviceID, key stconfig.Key) (desired.Explanation, error)
	// Managed are the keys of the configuration that templates manage. A device whose configuration was never read:
	// not_found.
	Managed(ctx context.Context, id fleet.DeviceID) ([]desired.Managed, error)
	// TemplatesOf are the templates that apply to a device now, in the order of the fold, and the tags that it has there.
	TemplatesOf(ctx context.Context, id fleet.DeviceID) ([]fleet.TaggedTemplate, []fleet.Tag, error)
}

var keyParam = param[stconfig.Key]{in: inQuery, name: "key", required: true, schema: textSchema(), parse: keyToExplain,
	description: "Dotted key into the configuration, as in a template, without *"}

// WhyHandlers explain where a value comes from.
type WhyHandlers struct {
	*base
	Reasons Reasons
}

func (s WhyHandlers) routes(b *base) []route {
	s.base = b
	const one = Prefix + "/devices/{deviceID}"
	return []route{
		{method: http.MethodGet, path: one + "/why", name: "getDeviceWhy", permission: auth.Read,
			summary: "Where the value of a key comes from: the templates that change it, in the order in which they apply",
			query:   []parameter{keyParam},
			reply:   reflect.TypeFor[api.Why](), off: s.Reasons == nil, handle: s.ofDevice(s.getWhy)},
		{method: http.MethodGet, path: one + "/config/managed", name: "listManagedKeys", permission: auth.Read,
			summary: "The keys of the configuration that templates manage, and the places inside them that others set",
			reply:   reflect.TypeFor[[]api.ManagedKey](), off: s.Reasons == nil, handle: s.ofDevice(s.listManagedKeys)},
		{method: http.MethodGet, path: one + "/templates", name: "listDeviceTemplates", permission: auth.Read,
			summary: "The templates that apply to the device now, in the order in which they apply",
			reply:   reflect.TypeFor[[]api.WhyTemplate](), off: s.Reasons == nil, handle: s.ofDevice(s.listDeviceTemplates)},
	}
}

func (s WhyHandlers) listDeviceTemplates(r *request, device *fleet.Registered) (reply, error) {
	templates, tags, err := s.Reasons.TemplatesOf(r.Context(), device.ID)
	if err != nil {
		return reply{}, err
	}
	return show(mapped(templates, func(t fleet.TaggedTemplate) api.WhyTemplate { return wireApplied(t, tags) }))
}

func (s WhyHandlers) listManagedKeys(r *request, device *fleet.Registered) (reply, error) {
	end, err := s.planInTurn(r.Context())
	if err != nil {
		return reply{}, err
	}
	defer end()
	return s.held(r.Context(), func(ctx context.Context) (reply, error) {
		keys, err := s.Reasons.Managed(ctx, device.ID)
		if err != nil {
			return reply{}, notSeen(err)
		}
		const bytesOfKey = 400 // including the copies on the way to the wire
		if err := s.take(ctx, bytesOfKey*int64(len(keys))); err != nil {
			return reply{}, err
		}
		return show(mapped(keys, func(k desired.Managed) api.ManagedKey {
			return api.ManagedKey{Key: k.Key.String(), Owner: string(k.Owner), Templates: slices.Concat([]int64{}, k.Templates)}
		}))
	})
}

func wireApplied(t fleet.TaggedTemplate, tags []fleet.Tag) api.WhyTemplate {
	shared := slices.DeleteFunc(slices.Clone(t.Tags), func(tag fleet.Tag) bool { return !slices.Contains(tags, tag) })
	return api.WhyTemplate{Template: t.ID, Label: t.Label, Priority: t.Priority, Op: string(t.Op), At: t.Key,
		Tags: wireTags(shared), Vars: []api.WhyVar{}, SavedBy: t.SavedBy, SavedAt: moment(t.UpdatedAt)}
}

func (s WhyHandlers) getWhy(r *request, device *fleet.Registered) (reply, error) {
	key, err := keyParam.of(r)
	if err != nil {
		return reply{}, err
	}
	end, err := s.planInTurn(r.Context())
	if err != nil {
		return reply{}, err
	}
	defer end()
	return s.held(r.Context(), func(ctx context.Context) (reply, error) {
		explained, err := s.Reasons.Why(ctx, device.ID, key)
		if err != nil {
			return reply{}, notSeen(err)
		}
		templates, tags, err := s.Reasons.TemplatesOf(ctx, device.ID)
		if err != nil {
			return reply{}, err
		}
		if err := nothingThere(explained); err != nil {
			return reply{}, err
		}
		if err := s.takeForWhy(ctx, explained); err != nil {
			return reply{}, err
		}
		registry, err := s.Registry.Registry(ctx)
		if err != nil {
			return reply{}, err
		}
		return show(wireWhy(explained, appliedTo(templates, tags, registry.EffectiveVars(device.ID)), registry))
	})
}

// nothingThere returns the error about a key at which there is nothing to explain.
func nothingThere(e desired.Explanation) error {
	if !e.IsEmpty() {
		return nil
	}
	message := fmt.Sprintf("the device has nothing at %s, and none of its templates names it", e.Key)
	if mistakes := stconfig.Mistakes(fleet.OpRemove, e.Key, stconfig.Value{}); len(mistakes) > 0 {
		message = mistakes[0].Text
	}
	return &fleet.Error{Code: fleet.CodeNotFound, Message: message,
		Hint: "`muster device config DEVICE` shows the names that the device has."}
}

// keyToExplain is a key that names one place.
func keyToExplain(text string) (stconfig.Key, error) {
	key, err := stconfig.ParseKey(text)
	switch {
	case err != nil:
		return key, err
	case key.IsRoot():
		return key, fleet.Invalidf("key", "key is needed: name a place of the configuration, as options.natEnabled")
	case key.HasEvery():
		return key, fleet.Invalidf("key", "key names one place: write the ID of a folder or device instead of *")
	}
	return key, nil
}

// takeForWhy asks for the memory that an explanation needs on its way to the wire.
func (s WhyHandlers) takeForWhy(ctx context.Context, e desired.Explanation) error {
	const copies, all = 3, 64 << 20
	size := e.Desired.JSONSize(all) + e.Observed.JSONSize(all) + e.Base.JSONSize(all)
	for _, step := range e.Steps {
		size += step.From.JSONSize(all) + step.To.JSONSize(all)
	}
	return s.take(ctx, int64(copies*size))
}

// appliedTo gives a template as it applies to a device.
func appliedTo(templates []fleet.TaggedTemplate, tags []fleet.Tag,
	vars map[string]fleet.EffectiveVar) func(fleet.Template) api.WhyTemplate {
	names := slices.Sorted(maps.Keys(vars))
	return func(t fleet.Template) api.WhyTemplate {
		applied := fleet.TaggedTemplate{Template: t}
		at := slices.IndexFunc(templates, func(one fleet.TaggedTemplate) bool { return one.ID == t.ID })
		if at >= 0 { // Otherwise the device was admitted to another generation a moment ago.
			applied = templates[at]
		}
		wire := wireApplied(applied, tags)
		for _, name := range template.VarsNamed(t.Text, names) {
			wire.Vars = append(wire.Vars, api.WhyVar{Name: name, Value: vars[name].Value, Tag: string(vars[name].From.Tag)})
		}
		return wire
	}
}

func wireWhy(e desired.Explanation, applied func(fleet.Template) api.WhyTemplate, registry *fleet.Registry) api.Why {
	shown := func(v stconfig.Value) json.RawMessage { return stconfig.MaskAt(e.Key, v).JSON() }
	out := api.Why{Key: e.Key.String(), Value: shown(e.Desired), Observed: shown(e.Observed), Base: shown(e.Base),
		Origin: "base", Reason: named(registry, e.Reason()), Help: stconfig.HelpOf(e.Key),
		Agreed: mapped(e.Agreed, applied), Steps: []api.WhyStep{}, Skipped: []api.WhySkipped{}, Conflicts: []string{}}
	switch {
	case len(e.Steps) > 0:
		out.Origin = "template"
	case e.Implied:
		out.Origin = "implied"
	}
	for _, step := range e.Steps {
		wire := api.WhyStep{WhyTemplate: applied(step.Template), From: shown(step.From), To: shown(step.To)}
		wire.Line = step.Line(e.Key)
		out.Steps = append(out.Steps, wire)
	}
	for _, s := range e.Skipped {
		out.Skipped = append(out.Skipped, api.WhySkipped{Template: s.Template, Key: s.Key.String(),
			Reason: named(registry, s.Reason)})
	}
	for _, c := range e.Conflicts {
		out.Conflicts = append(out.Conflicts, named(registry, c.String()))
	}
	return out
}
