package stconfig

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"muster/internal/fleet"
)

// handleOfStore is the prefix of a handle that names one of Muster's own secrets: "secret:NAME".
const handleOfStore = "secret:"

// PlacedHandle is a handle in a value, with the key where the template puts it.
type PlacedHandle struct {
	Key  Key    // contains `*` where the template's key does
	Name string // "secret:NAME" or "config:KEY"
	Fits bool   // The place is a secret field: an encryptionPassword, gui.password or gui.apiKey.
}

// Secret returns the name of Muster's own secret that the handle names.
func (h PlacedHandle) Secret() (name string, ok bool) {
	return strings.CutPrefix(h.Name, handleOfStore)
}

// Stays reports whether the handle names the secret that the configuration already has at this place.
func (h PlacedHandle) Stays() bool {
	of, ok := strings.CutPrefix(h.Name, handleOfConfig)
	return ok && !h.Key.HasEvery() && of == h.Key.String()
}

// String returns the name of the secret for messages.
func (h PlacedHandle) String() string {
	if name, ok := h.Secret(); ok {
		return fmt.Sprintf("secret %q", name)
	}
	return "the secret that the configuration has at " + strings.TrimPrefix(h.Name, handleOfConfig)
}

// HasHandle reports whether a value contains a handle.
func HasHandle(v Value) bool {
	return v.kind == Handle || slices.ContainsFunc(v.childValues(), HasHandle)
}

// HandlesAt visits the handles in a value at a key, without the concealed texts of templates.
func HandlesAt(key Key, v Value) iter.Seq[PlacedHandle] {
	return func(yield func(PlacedHandle) bool) {
		if !HasHandle(v) {
			return
		}
		s := shapeAt(key)
		if s != nil && s.kind == Array && v.kind != Array { // The value is one member of the list.
			v = List(v)
		}
		w := handleWalk{path: slices.Clone(key.parts), yield: yield}
		w.walk(v, s)
	}
}

// handleWalk visits the handles in a value.
type handleWalk struct {
	path  []Part
	yield func(PlacedHandle) bool
}

// walk returns false when the visit is to end.
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
	default: // Members of a list without identity have no names.
		return w.walk(member, s.member())
	}
	defer func() { w.path = w.path[:len(w.path)-1] }()
	return w.walk(member, s)
}

// CheckHandles refuses a template's value that has a handle outside of secret fields: everybody who may see the
// configuration could read the secret there. A secret of the configuration may stay at its own place, whatever the
// field.
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
