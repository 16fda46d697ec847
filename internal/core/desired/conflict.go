package desired

import (
	"fmt"
	"slices"
	"strings"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// Conflict is a key for which two templates of the device ask for different values. The template that is folded later
// wins.
type Conflict struct {
	Key       stconfig.Key
	Last      fleet.Template // The value of this template counts.
	Overruled fleet.Template
}

// String tells a person which of the two templates wins, and why.
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

// applied is a template that was folded.
type applied struct {
	template fleet.Template
	target   target
	value    stconfig.Value
	skips    []stconfig.Skip
}

// maxConflicts bounds the conflicts that are reported for one device.
const maxConflicts = 20

// conflicts finds keys that one template names and a later template changed. It applies each template's value once
// more to the final document: every change that this makes is a conflict. A key that the template does not name is
// no conflict, even where its op `set` gives that key the daemon's default.
func (f *fold) conflicts() []Conflict {
	var found []Conflict
	for i, one := range f.applied {
		later := f.applied[i+1:]
		if !slices.ContainsFunc(later, func(other applied) bool { return Meet(one.target.key, other.target.key) }) {
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
			if last := f.lastAsker(later, c.Key); last != nil && one.names(c.Key) && f.Away[deviceOf(c.Key)] == "" {
				found = append(found, Conflict{Key: c.Key, Last: *last, Overruled: one.template})
			}
		}
	}
	return found
}

// ConflictsOf returns the conflicts that one template takes part in, as texts for people.
func (r Result) ConflictsOf(template int64) (texts []string) {
	for _, c := range r.Conflicts {
		if c.Last.ID == template || c.Overruled.ID == template {
			texts = append(texts, c.String())
		}
	}
	return texts
}

// lastAsker returns the last of these templates that changed a value at, above or below a key, nil where none did.
func (f *fold) lastAsker(of []applied, key stconfig.Key) *fleet.Template {
	ids := f.requestedBy(key)
	for i := len(of) - 1; i >= 0; i-- {
		if slices.Contains(ids, of[i].template.ID) {
			return &of[i].template
		}
	}
	return nil
}

// Meet reports whether the keys of two templates can select the same place.
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

// names reports whether the template itself sets the key: its value contains the key, and nothing at, above or below
// the key was skipped.
func (l applied) names(key stconfig.Key) bool {
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

// removes reports whether the template asks for the removal of a member, whether or not the device has that member.
func (l applied) removes(member stconfig.Key) bool {
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

// holdsMember reports whether the value of a removing template lists a member by its ID: as a text, or as an object
// with that ID.
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

// member returns the field of an object with this name, or the member of a list with this ID, or Absent.
func member(v stconfig.Value, name string) stconfig.Value {
	if v.Kind() == stconfig.Object {
		return v.Get(name)
	}
	for one := range v.Values() {
		id := one.Get("deviceID").Str()
		if id == name || one.Get("id").Str() == name {
			return one
		}
		if id == "" {
			continue
		}
		if canonical, err := fleet.ParseDeviceID(id); err == nil && string(canonical) == name {
			return one
		}
	}
	return stconfig.Value{}
}

// AreIndependent reports whether two templates make the same document in either order. Folders, devices and their
// defaults count as one place, because a share may add a device and a new member starts from the defaults.
func AreIndependent(a, b fleet.Template) bool {
	here, err := stconfig.ParseKey(a.Key)
	there, otherErr := stconfig.ParseKey(b.Key)
	if err != nil || otherErr != nil || a.Reads.OrAll().Config || b.Reads.OrAll().Config {
		return false
	}
	return !Meet(here, there) && (isApart(here) || isApart(there))
}

// isApart reports whether the fold uses the section of this key for no other section: a change in it affects nothing
// outside.
func isApart(key stconfig.Key) bool {
	return !key.IsRoot() && slices.Contains([]string{"options", "gui", "ldap"}, strings.ToLower(key.At(0).Name))
}
