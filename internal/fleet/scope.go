package fleet

import (
	"context"
	"slices"
	"strings"
	"sync"
)

// Scope is the part of the fleet that a caller may see and change: the devices that have one of its tags. The zero
// Scope is the whole fleet. Scopes can be compared with ==.
type Scope struct{ tags string }

const betweenTags = "\x00" // Tags contain no control characters.

// NoDevices is the scope without any device.
var NoDevices = Scope{betweenTags}

// ScopeOf returns the scope of these tags. Without tags it is the whole fleet.
func ScopeOf(tags []Tag) Scope {
	if slices.Contains(tags, "") { // "" is not a valid tag; a faulty list must not give the whole fleet.
		return NoDevices
	}
	sorted := slices.Compact(slices.Sorted(slices.Values(tags)))
	names := make([]string, len(sorted))
	for i, tag := range sorted {
		names[i] = string(tag)
	}
	return Scope{strings.Join(names, betweenTags)}
}

// Whole reports whether the scope is the whole fleet.
func (s Scope) Whole() bool { return s.tags == "" }

// Tags returns the tags of the scope, sorted; nil for the whole fleet.
func (s Scope) Tags() []Tag {
	if s.Whole() {
		return nil
	}
	if s == NoDevices {
		return []Tag{}
	}
	var tags []Tag
	for name := range strings.SplitSeq(s.tags, betweenTags) {
		tags = append(tags, Tag(name))
	}
	return tags
}

// Covers reports whether a device with these tags is in the scope.
func (s Scope) Covers(tags []Tag) bool {
	if s.Whole() {
		return true
	}
	return slices.ContainsFunc(s.Tags(), func(tag Tag) bool { return slices.Contains(tags, tag) })
}

// Among returns the given tags that are in the scope.
func (s Scope) Among(tags []Tag) []Tag {
	return slices.DeleteFunc(s.Tags(), func(tag Tag) bool { return !slices.Contains(tags, tag) })
}

// String returns the scope for texts.
func (s Scope) String() string {
	switch s {
	case Scope{}:
		return "the whole fleet"
	case NoDevices:
		return "no device"
	}
	return strings.ReplaceAll(s.tags, betweenTags, ", ")
}

// Devices returns a phrase for the devices of the scope.
func (s Scope) Devices() string { return "devices tagged " + s.String() }

// OutOfScope returns the error for a request that a caller with a part of the fleet may not make.
func OutOfScope(message string) error {
	return &Error{Code: CodeForbidden, Message: message,
		Hint: "Use a token without a tag scope, or ask somebody who has one."}
}

// Within returns the part of the registry that a caller with the scope may see: the devices inside, the templates that
// apply to one of these devices, and the tags of these devices with their settings. A template loses the tags that
// only devices outside carry.
func (r *Registry) Within(scope Scope) *Registry {
	if scope.Whole() {
		return r
	}
	part := *r
	part.Devices = map[DeviceID]*Registered{}
	seen := map[Tag]bool{"": true} // "" is for the folder roots of the fleet.
	for id, device := range r.Devices {
		if scope.Covers(device.Tags) {
			part.Devices[id] = device
			addTags(seen, device.Tags)
		}
	}
	outside := r.tagsOutside(scope)
	part.Templates, part.Origins, part.Sources = nil, map[int64]Origin{}, map[string]Source{}
	for _, template := range r.Templates {
		if !slices.ContainsFunc(template.Tags, func(tag Tag) bool { return seen[tag] }) {
			continue
		}
		template.Tags = without(template.Tags, outside)
		part.Templates = append(part.Templates, template)
		if origin, fromFiles := r.Origins[template.ID]; fromFiles {
			part.Origins[template.ID] = origin
			part.Sources[origin.Source] = Source{ReadOnly: r.Sources[origin.Source].ReadOnly} // assertions name devices
		}
	}
	part.TagModes, part.Roots, part.Protected = only(r.TagModes, seen), only(r.Roots, seen), only(r.Protected, seen)
	part.AuthorKeys = only(r.AuthorKeys, seen)
	part.TagQuiet = only(r.TagQuiet, seen)
	part.TagVars = only(r.TagVars, seen)
	return &part
}

// TagsWithin returns those of the given tags that a caller with the scope may see. Tags that only devices outside the
// scope carry are left out.
func (r *Registry) TagsWithin(scope Scope, tags []Tag) []Tag {
	if scope.Whole() {
		return tags
	}
	return without(tags, r.tagsOutside(scope))
}

// tagsOutside returns the tags that only devices outside the scope carry.
func (r *Registry) tagsOutside(scope Scope) map[Tag]bool {
	outside := map[Tag]bool{}
	for _, device := range r.Devices {
		if !scope.Covers(device.Tags) {
			addTags(outside, device.Tags)
		}
	}
	for _, device := range r.Devices {
		if scope.Covers(device.Tags) {
			for _, tag := range device.Tags {
				delete(outside, tag)
			}
		}
	}
	return outside
}

func without(tags []Tag, hidden map[Tag]bool) []Tag {
	return slices.DeleteFunc(slices.Clone(tags), func(tag Tag) bool { return hidden[tag] })
}

func addTags(seen map[Tag]bool, tags []Tag) {
	for _, tag := range tags {
		seen[tag] = true
	}
}

func only[V any](all map[Tag]V, seen map[Tag]bool) map[Tag]V {
	kept := map[Tag]V{}
	for tag, value := range all {
		if seen[tag] {
			kept[tag] = value
		}
	}
	return kept
}

// Views caches the parts of the current registry by scope.
type Views struct {
	mu    sync.Mutex
	whole *Registry           // guarded by mu
	parts map[Scope]*Registry // guarded by mu
}

// Of returns registry.Within for the scope in the context. For the same registry and scope it returns the same
// pointer.
func (v *Views) Of(ctx context.Context, registry *Registry) *Registry {
	scope := ScopeIn(ctx)
	if scope.Whole() || registry == nil {
		return registry
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.whole != registry {
		v.whole, v.parts = registry, map[Scope]*Registry{}
	}
	if v.parts[scope] == nil {
		v.parts[scope] = registry.Within(scope)
	}
	return v.parts[scope]
}

// ScopedRegistry gives every caller the part of the registry that is in their scope.
type ScopedRegistry struct {
	Whole interface {
		Registry(ctx context.Context) (*Registry, error)
	}
	Parts *Views
}

// Registry returns the part of the registry that is in the scope of the context.
func (s ScopedRegistry) Registry(ctx context.Context) (*Registry, error) {
	registry, err := s.Whole.Registry(ctx)
	if err != nil {
		return nil, err
	}
	return s.Parts.Of(ctx, registry), nil
}

type scopeKey struct{}

// WithScope records in the context for which part of the fleet work is requested.
func WithScope(ctx context.Context, scope Scope) context.Context {
	return context.WithValue(ctx, scopeKey{}, scope)
}

// ScopeIn returns the scope of the caller, or the whole fleet when Muster works by itself.
func ScopeIn(ctx context.Context) Scope {
	scope, _ := ctx.Value(scopeKey{}).(Scope)
	return scope
}
