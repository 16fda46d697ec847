package desired

import (
	"slices"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// Owner says whose value a place of the observed document has.
type Owner string

const (
	ByTemplate Owner = "template" // templates ask for the value
	ByFolder   Owner = "implied"  // a device that is there because a folder is shared with it
	ByDaemon   Owner = "daemon"   // somebody at the daemon, or the daemon, set it inside a member that Muster made
)

// Managed is a key with an owner. The owner holds for everything below the key, unless another key is nearer.
type Managed struct {
	Key       stconfig.Key
	Owner     Owner
	Templates []int64 // templates that ask for the value, in the order of the fold
}

// Managed returns the keys of the observed document that Muster manages, in the order of their texts, and the places
// inside them that others set. A key that is not there, and of which none above it is, has the value that the daemon
// has without Muster.
func (r Result) Managed() []Managed {
	list := managedList{byKey: map[string]Managed{}}
	for _, a := range r.requests {
		if stconfig.Lookup(r.observed, a.key).Exists() {
			list.add(Managed{Key: a.key, Owner: ownerOf(a), Templates: a.templates})
		}
	}
	for device := range r.Implied {
		if key := devices.Child(string(device)); stconfig.Lookup(r.observed, key).Exists() {
			list.add(Managed{Key: key, Owner: ByFolder})
		}
	}
	for _, rec := range r.records {
		for _, inner := range rec.inner {
			if same(stconfig.Lookup(r.observed, inner.key), inner.base) {
				list.add(Managed{Key: inner.key, Owner: ByDaemon})
			}
		}
	}
	r.addNamed(&list)
	return list.sorted()
}

func ownerOf(a request) Owner {
	if a.implied {
		return ByFolder
	}
	return ByTemplate
}

// addNamed adds the values that templates name and that the device has without them too.
func (r Result) addNamed(list *managedList) {
	stconfig.Leaves(stconfig.Key{}, r.observed, func(key stconfig.Key, _ stconfig.Value) {
		above := list.nearest(key)
		for _, l := range r.applied {
			if !slices.Contains(above.Templates, l.template.ID) && l.target.op != fleet.OpRemove && l.names(key) {
				list.add(Managed{Key: key, Owner: ByTemplate, Templates: []int64{l.template.ID}})
			}
		}
	})
}

// managedList has one entry for each key.
type managedList struct {
	byKey map[string]Managed
}

func (l *managedList) add(m Managed) {
	text := m.Key.String()
	have, found := l.byKey[text]
	if !found {
		m.Templates = slices.Clone(m.Templates)
		l.byKey[text] = m
		return
	}
	for _, template := range m.Templates {
		if !slices.Contains(have.Templates, template) {
			have.Templates = append(have.Templates, template)
		}
	}
	if m.Owner != ByFolder { // A template that names an implied device manages it.
		have.Owner = m.Owner
	}
	l.byKey[text] = have
}

// nearest returns the entry that holds for a key.
func (l *managedList) nearest(key stconfig.Key) Managed {
	for ; !key.IsRoot(); key = key.Parent() {
		if m, found := l.byKey[key.String()]; found {
			return m
		}
	}
	return Managed{}
}

func (l *managedList) sorted() []Managed {
	all := make([]Managed, 0, len(l.byKey))
	for _, m := range l.byKey {
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b Managed) int { return a.Key.Compare(b.Key) })
	return all
}
