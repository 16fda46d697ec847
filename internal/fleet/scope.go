package fleet

import (
	"context"
	"slices"
	"strings"
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
