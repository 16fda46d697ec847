package stconfig

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"muster/internal/fleet"
)

// handleOfStore begins the name of a handle that stands for one of Muster's own secrets: "secret:NAME".
const handleOfStore = "secret:"

// PlacedHandle is a handle in a value, and the place where it is to stand.
type PlacedHandle struct {
	Key  Key    // of the place; it holds `*` where the key of the template does
	Name string // "secret:NAME" or "config:KEY"
	Fits bool   // the place is a secret field: an encryptionPassword, gui.password or gui.apiKey
}

// Secret is the name of the secret of Muster's own that the handle stands for.
func (h PlacedHandle) Secret() (name string, ok bool) {
	return strings.CutPrefix(h.Name, handleOfStore)
}

// Stays tells whether the handle stands for what the configuration has at this very place.
func (h PlacedHandle) Stays() bool {
	of, ok := strings.CutPrefix(h.Name, handleOfConfig)
	return ok && !h.Key.HasEvery() && of == h.Key.String()
}

// String is how errors name the secret.
func (h PlacedHandle) String() string {
	if name, ok := h.Secret(); ok {
		return fmt.Sprintf("secret %q", name)
	}
	return "the secret that the configuration has at " + strings.TrimPrefix(h.Name, handleOfConfig)
}

// HasHandle tells whether a value holds a handle.
func HasHandle(v Value) bool {
	return v.kind == Handle || slices.ContainsFunc(v.childValues(), HasHandle)
}

// HandlesAt are the handles of programs in a value that stands, or would stand, at a key. There may be many.
func HandlesAt(key Key, v Value) iter.Seq[PlacedHandle] {
	return func(yield func(PlacedHandle) bool) {
		if !HasHandle(v) {
			return
		}
		s := shapeAt(key)
		if s != nil && s.kind == Array && v.kind != Array { // one member for a list
			v = List(v)
		}
		w := handleWalk{path: slices.Clone(key.parts), yield: yield}
		w.walk(v, s)
	}
}

// handleWalk goes down a value.
type handleWalk struct {
	path  []Part
	yield func(PlacedHandle) bool
}

// walk tells whether to go on.
func (w *handleWalk) walk(v Value, s *shape) bool {
	s = fit(s, v)
	switch v.kind {
	case Handle:
		if _, literal := ConcealedLiteral(v); literal {
			return true
		}
		return w.yield(PlacedHandle{Key: Key{slices.Clone(w.path)}, Name: v.text, Fits: s != nil && s.secret})
	case Array, Object:
		for i := range v.kids.values {
			if !w.member(v, s, i) {
				return false
			}
		}
	}
	return true
}

func (w *handleWalk) member(v Value, s *shape, i int) bool {
	member := v.kids.values[i]
	switch {
	case member.kind == Handle, member.Len() > 0:
	default:
		return true
	}
	switch {
	case v.kind == Object:
		name := spelled(s, v.kids.names[i])
		w.path = append(w.path, Part{Name: name})
		s = s.below(name)
	case s.identified():
		w.path = append(w.path, Part{Name: s.identityOf(member)})
		s = s.entry
	default: // the members of a plain list have no names of their own
		return w.walk(member, s.member())
	}
	defer func() { w.path = w.path[:len(w.path)-1] }()
	return w.walk(member, s)
}

// CheckHandles refuses a template's value with a handle at a place that is no secret field: what stands there is read
// by everyone who may see the configuration. A secret of the configuration may stay where it is, whatever the field.
func CheckHandles(key Key, v Value) error {
	for h := range HandlesAt(key, v) {
		if h.Fits || h.Stays() && SecretKey(h.Key) {
			continue
		}
		at := h.Key.String()
		if h.Key.IsRoot() {
			at = "the root of the configuration"
		}
		message := fmt.Sprintf("%s stands at %s, which everyone may read: a secret may stand only at an "+
			"encryptionPassword, "+
			"gui.password or gui.apiKey", h, shortened(at))
		return &fleet.Error{Code: fleet.CodeInvalid, Message: message, Hint: "Take the secret out of the template there.",
			Details: []fleet.Detail{{Field: "template", Message: message}}}
	}
	return nil
}
