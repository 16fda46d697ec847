package fleet

import (
	"context"
	"slices"
	"strings"
	"sync"
)

// Scope is the part of the fleet that a caller may see and touch: the devices that carry one of its tags. The zero
// Scope is the whole fleet. Two scopes of the same tags are equal.
type Scope struct{ tags string }

const betweenTags = "\x00" // no tag holds a control character

// NoDevices is the scope of no device at all.
var NoDevices = Scope{betweenTags}

// ScopeOf is the scope of some tags, the whole fleet without any.
func ScopeOf(tags []Tag) Scope {
	if slices.Contains(tags, "") { // no tag: what is broken must not become the whole fleet
		return NoDevices
	}
	sorted := slices.Compact(slices.Sorted(slices.Values(tags)))
	names := make([]string, len(sorted))
	for i, tag := range sorted {
		names[i] = string(tag)
	}
	return Scope{strings.Join(names, betweenTags)}
}

// Whole tells whether the scope is the whole fleet.
func (s Scope) Whole() bool { return s.tags == "" }

// Tags are those of the scope, sorted; nil for the whole fleet.
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

// Covers tells whether a device with these tags is in the scope.
func (s Scope) Covers(tags []Tag) bool {
	if s.Whole() {
		return true
	}
	return slices.ContainsFunc(s.Tags(), func(tag Tag) bool { return slices.Contains(tags, tag) })
}

// Among are the tags of the scope that are among these.
func (s Scope) Among(tags []Tag) []Tag {
	return slices.DeleteFunc(s.Tags(), func(tag Tag) bool { return !slices.Contains(tags, tag) })
}

// String is for texts about the scope.
func (s Scope) String() string {
	switch s {
	case Scope{}:
		return "the whole fleet"
	case NoDevices:
		return "no device"
	}
	return strings.ReplaceAll(s.tags, betweenTags, ", ")
}

// Within is the registry as a caller with the scope sees it: what is outside is not there. Templates are everybody's;
// of tags there are those of templates and of devices inside.
func (r *Registry) Within(scope Scope) *Registry {
	if scope.Whole() {
		return r
	}
	part := *r
	part.Devices = map[DeviceID]*Registered{}
	seen := map[Tag]bool{"": true} // the folder roots of the fleet
	for id, device := range r.Devices {
		if scope.Covers(device.Tags) {
			part.Devices[id] = device
			addTags(seen, device.Tags)
		}
	}
	for _, template := range r.Templates {
		addTags(seen, template.Tags)
	}
	part.TagModes, part.Roots, part.Protected = only(r.TagModes, seen), only(r.Roots, seen), only(r.Protected, seen)
	part.TagVars = only(r.TagVars, seen)
	return &part
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

// Views remembers what callers see of the registry of now.
type Views struct {
	mu    sync.Mutex
	whole *Registry           // guarded by mu
	parts map[Scope]*Registry // guarded by mu
}

// Of is registry.Within of the scope that the context has. A registry that is read twice gives the same part twice.
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

type scopeKey struct{}

// WithScope says for which part of the fleet the work under the context is asked for.
func WithScope(ctx context.Context, scope Scope) context.Context {
	return context.WithValue(ctx, scopeKey{}, scope)
}

// ScopeIn is the scope of the caller, the whole fleet where Muster works by itself.
func ScopeIn(ctx context.Context) Scope {
	scope, _ := ctx.Value(scopeKey{}).(Scope)
	return scope
}
