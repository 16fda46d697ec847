package desired

import (
	"fmt"
	"slices"
	"strings"

	"muster/internal/fleet"
	"muster/internal/stconfig"
)

// Conflict is a key for which two templates of the device ask different values. The one that is folded later has the
// last word.
type Conflict struct {
	Key       stconfig.Key
	Last      fleet.Template // whose value counts
	Overruled fleet.Template
}

// String says who wins, and why.
func (c Conflict) String() string {
	return fmt.Sprintf("%s: %s has the last word over %s", c.Key, ranked(c.Last), ranked(c.Overruled))
}

func ranked(t fleet.Template) string {
	name := "this template"
	if t.ID != 0 {
		name = named(t)
	}
	return fmt.Sprintf("%s (priority %d)", name, t.Priority)
}

// laid is a template that was folded.
type laid struct {
	template fleet.Template
	target   target
	value    stconfig.Value
	skips    []stconfig.Skip
}

// maxConflicts bounds what is said about one device.
const maxConflicts = 20

// conflicts finds what templates name and a later one made otherwise: where a template's value, laid over the result
// once more, would change it. What a template does not name is no conflict, also where `set` gives it the daemon's
// default.
func (f *fold) conflicts() []Conflict {
	var found []Conflict
	for i, one := range f.laid {
		later := f.laid[i+1:]
		if !slices.ContainsFunc(later, func(other laid) bool { return Meet(one.target.key, other.target.key) }) {
			continue
		}
		again, _, err := f.apply(f.doc, one.target, one.value)
		if err != nil {
			continue
		}
		for _, c := range stconfig.Diff(f.doc, again) {
			if len(found) == maxConflicts {
				return found
			}
			if last := f.lastAsker(later, c.Key); last != nil && one.names(c.Key) {
				found = append(found, Conflict{Key: c.Key, Last: *last, Overruled: one.template})
			}
		}
	}
	return found
}

// ConflictsOf are the contradictions between a template and others, for people.
func (r Result) ConflictsOf(template int64) (texts []string) {
	for _, c := range r.Conflicts {
		if c.Last.ID == template || c.Overruled.ID == template {
			texts = append(texts, c.String())
		}
	}
	return texts
}

// lastAsker is the last of some templates that changed something at, above or below a key; nil where none did.
func (f *fold) lastAsker(of []laid, key stconfig.Key) *fleet.Template {
	ids := f.askers(key)
	for i := len(of) - 1; i >= 0; i-- {
		if slices.Contains(ids, of[i].template.ID) {
			return &of[i].template
		}
	}
	return nil
}

// Meet tells whether two keys of templates may be about the same place.
func Meet(a, b stconfig.Key) bool {
	for i := range min(a.Len(), b.Len()) {
		if !sameName(a.At(i), b.At(i)) {
			return false
		}
	}
	return true
}

func sameName(a, b stconfig.Part) bool {
	return a.Every || b.Every || strings.EqualFold(a.Name, b.Name)
}

// names tells whether a template itself says something about a key that it could reach.
func (l laid) names(key stconfig.Key) bool {
	skipped := func(s stconfig.Skip) bool { return related(s.Key, key) }
	if !Meet(l.target.key, key) || slices.ContainsFunc(l.skips, skipped) {
		return false
	}
	value := l.value
	for i := l.target.key.Len(); i < key.Len(); i++ {
		if value = member(value, key.At(i).Name); !value.Exists() {
			return false
		}
	}
	return true
}

// removes tells whether a template removes a member, be it there or not.
func (l laid) removes(member stconfig.Key) bool {
	if l.target.op != fleet.OpRemove || !member.NamesMember() || !Meet(l.target.key, member) {
		return false
	}
	switch l.target.key.Len() {
	case member.Len():
		return true
	case member.Len() - 1:
		return holdsMember(l.value, member.At(member.Len()-1).Name)
	}
	return false
}

// holdsMember tells whether a value, or a list of such, names a member by its identity.
func holdsMember(v stconfig.Value, id string) bool {
	if v.Kind() != stconfig.Array {
		v = stconfig.List(v)
	}
	if member(v, id).Exists() {
		return true
	}
	for one := range v.Values() {
		if canonical, err := fleet.ParseDeviceID(one.Str()); one.Str() == id || err == nil && string(canonical) == id {
			return true
		}
	}
	return false
}

// member is what an object or an identified list has under a name; Absent where it has nothing.
func member(v stconfig.Value, name string) stconfig.Value {
	if v.Kind() == stconfig.Object {
		return v.Get(name)
	}
	for one := range v.Values() {
		id := one.Get("deviceID").Str()
		if canonical, err := fleet.ParseDeviceID(id); err == nil {
			id = string(canonical)
		}
		if id == name || one.Get("id").Str() == name {
			return one
		}
	}
	return stconfig.Value{}
}
