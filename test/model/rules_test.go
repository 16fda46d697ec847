package model_test

import (
	"maps"
	"slices"
	"strings"
)

// The reference model: the five rules of ownership over places, without any record of what Muster does inside.
//
//  1. Per leaf and per membership. Each field of interest and the existence of each folder, device and share is a
//     place of its own. base holds the places as people, introducers and the daemon made them. A member that Muster
//     made is not in base, whatever happens inside, until a person says keep, or makes it anew after it was gone.
//  2. An edit is a difference that Muster did not cause. A value that Muster wrote at the place is never an edit.
//  3. What Muster's writes cause is Muster's: they never change base.
//  4. A migration is no edit: an upgrade changes nothing here.
//  5. What a device is to have is a function of base and templates: see fold.
type rules struct {
	base    flat
	wrote   map[string]map[string]bool // what Muster wrote at a place that was not the base
	last    map[string]string          // what Muster wrote there last
	mine    map[string]bool            // members that Muster made, and that no person made anew since
	took    map[string]bool            // members of base that Muster took away
	revoked map[string]bool            // members that Muster took away, and that none but introducers made anew since
	removed map[string]bool            // devices that Muster took away because a template removes them, as it still does
	along   map[string]bool            // devices that no template named when one last wanted them
	gone    map[string]bool            // members of Muster that others took away while a template asked for them
}

// flat is a document as places and their values, in JSON; of a member there or introduced.
type flat map[string]string

const (
	there      = "there"
	introduced = "introduced"
)

func newRules(doc flat) *rules {
	return &rules{base: maps.Clone(doc), wrote: map[string]map[string]bool{}, last: map[string]string{},
		mine: map[string]bool{}, took: map[string]bool{}, along: map[string]bool{},
		revoked: map[string]bool{}, removed: map[string]bool{}, gone: map[string]bool{}}
}

// isMember tells a membership from a leaf: folders.ID, devices.ID, folders.ID.devices.ID, remoteIgnoredDevices.ID.
func isMember(place string) bool {
	inList := strings.HasPrefix(place, "folders.") || strings.HasPrefix(place, "devices.") ||
		strings.HasPrefix(place, ignoredDevices)
	return inList && strings.Count(place, ".")%2 == 1
}

// parent is the member that a place lies in, "" when it lies in none.
func parent(place string) string {
	parts := strings.Split(place, ".")
	if len(parts) < 3 {
		return ""
	}
	return strings.Join(parts[:2], ".")
}

func within(place, member string) bool { return member != "" && strings.HasPrefix(place, member+".") }

// sameAt tells whether two documents have the same at a place. Who introduced a member is the daemon's note.
func sameAt(place string, a, b flat) bool {
	v, hasA := a[place]
	w, hasB := b[place]
	return hasA == hasB && (v == w || isMember(place))
}

// differences are the places at which two documents differ, members before what lies in them.
func differences(a, b flat) []string {
	var places []string
	for place := range a {
		if !sameAt(place, a, b) {
			places = append(places, place)
		}
	}
	for place := range b {
		if _, has := a[place]; !has {
			places = append(places, place)
		}
	}
	slices.Sort(places)
	return places
}

// edited is what anybody but Muster did: rules 1 and 2. asked tells what templates ask for.
func (r *rules) edited(before, after flat, asked func(place string) bool) {
	whole := "" // the member that came or went with all that is in it
	for _, place := range differences(before, after) {
		_, was := before[place]
		_, is := after[place]
		switch {
		case within(place, whole):
		case isMember(place) && was && !is:
			whole = place
			r.taken(place, asked(place))
		case isMember(place):
			whole = place
			r.added(place, after)
		default:
			r.set(place, after[place])
		}
	}
	r.overruled(after)
}

// overruled forgets that a device is ignored that is there without Muster: the daemon has forgotten it.
func (r *rules) overruled(doc flat) {
	for place := range r.base {
		if id, ok := ignoredDevice(place); ok && r.base["devices."+id] != "" && doc["devices."+id] != "" {
			r.drop(place)
		}
	}
}

// set is an edit of a leaf.
func (r *rules) set(place, value string) {
	base, has := r.base[place]
	if has && base == value {
		return
	}
	if !r.wrote[place][value] {
		r.base[place] = value
		return
	}
	if _, theirs := r.base[parent(place)]; !theirs && parent(place) != "" && r.last[place] == value {
		delete(r.base, place) // in a member that Muster made, the edit is undone
	}
}

// taken is a member that a person takes away.
func (r *rules) taken(member string, asked bool) {
	_, theirs := r.base[member]
	r.drop(member)
	if id, ok := strings.CutPrefix(member, "devices."); ok { // the daemon takes it out of all folders
		for place := range r.base {
			if strings.HasPrefix(place, "folders.") && strings.HasSuffix(place, ".devices."+id) {
				delete(r.base, place)
			}
		}
	}
	if theirs || !asked {
		r.forget(member)
	} else {
		r.gone[member] = true
	}
}

// lapse ends Muster's claim to members that others took away while a template asked for them, once no template asks
// for them any more: the person who makes one anew owns it, also with an old document.
func (r *rules) lapse(asked map[string]bool) {
	for member := range r.gone {
		if !asked[member] {
			r.forget(member)
		}
	}
}

// added is a member that is there again, or new.
func (r *rules) added(member string, after flat) {
	delete(r.gone, member)
	if after[member] != introduced {
		delete(r.revoked, member)
	}
	if _, theirs := r.base[member]; theirs { // Muster had taken it away
		delete(r.took, member)
		for place := range r.base {
			if _, has := after[place]; within(place, member) && isMember(place) && !has && !r.took[place] {
				delete(r.base, place)
			}
		}
		for place, value := range after {
			if !within(place, member) {
				continue
			}
			delete(r.took, place)
			switch _, has := r.base[place]; {
			case !isMember(place) && after[member] == introduced: // it changes nothing in a member that a person has
			case !isMember(place):
				r.set(place, value)
			case !has:
				r.added(place, after)
			}
		}
		return
	}
	again := r.isMusters(member, after)
	if after[member] == introduced {
		again = !r.along[strings.TrimPrefix(member, "devices.")] // one that was only brought along was not revoked
	}
	if r.mine[member] && again {
		return // templates had revoked it: an introducer, or an old document, put it back
	}
	r.adopt(member, after)
}

// isMusters tells a member that holds nothing but what Muster wrote, or what it held when Muster took it away.
func (r *rules) isMusters(member string, doc flat) bool {
	for place, value := range doc {
		if isMember(place) {
			value = there
		}
		if (place == member || within(place, member)) && !r.wrote[place][value] {
			return false
		}
	}
	return true
}

// adopt makes a member a person's, with all that is in it.
func (r *rules) adopt(member string, doc flat) {
	r.drop(member)
	r.forget(member)
	for place, value := range doc {
		if place == member || within(place, member) {
			r.base[place] = value
		}
	}
}

func (r *rules) drop(member string) {
	maps.DeleteFunc(r.base, func(place, _ string) bool { return place == member || within(place, member) })
}

// forget drops what is known of Muster's writes in a member.
func (r *rules) forget(member string) {
	in := func(place string) bool { return place == member || within(place, member) }
	maps.DeleteFunc(r.wrote, func(place string, _ map[string]bool) bool { return in(place) })
	maps.DeleteFunc(r.mine, func(place string, _ bool) bool { return in(place) })
	maps.DeleteFunc(r.took, func(place string, _ bool) bool { return in(place) })
	maps.DeleteFunc(r.gone, func(place string, _ bool) bool { return in(place) })
}

// remove notes which devices are gone because a template removes them. If a person or an introducer brings one back,
// Muster takes it away again without a question, until the template is gone. removes tells the devices that templates
// remove now.
func (r *rules) remove(before, after flat, removes map[string]bool) {
	for place := range before {
		if id, ok := strings.CutPrefix(place, "devices."); ok && isMember(place) && after[place] == "" && removes[id] {
			r.removed[place] = true
		}
	}
	maps.DeleteFunc(r.removed, func(place string, _ bool) bool { return !removes[strings.TrimPrefix(place, "devices.")] })
}

// written is what Muster did: rule 3.
func (r *rules) written(before, after flat) {
	gone := "" // the member that went with all that is in it
	for _, place := range differences(before, after) {
		base, theirs := r.base[place]
		value, is := after[place]
		if isMember(place) && !is && !within(place, gone) {
			gone, r.revoked[place] = place, true
		}
		switch {
		case within(place, gone):
		case isMember(place) && is && theirs:
			delete(r.took, place)
		case isMember(place) && is:
			r.mine[place] = true
			delete(r.gone, place)
			r.note(place, there)
		case isMember(place) && theirs:
			r.took[place] = true
		case isMember(place): // revoked; what people set in it is gone, and known for what it was
			for at, held := range before {
				if isMember(at) {
					held = there
				}
				if at == place || within(at, place) {
					r.note(at, held)
				}
			}
			r.drop(place)
		case is:
			r.last[place] = value
			if !theirs || base != value {
				r.note(place, value)
			}
		}
	}
	r.overruled(after)
}

func (r *rules) note(place, value string) {
	if r.wrote[place] == nil {
		r.wrote[place] = map[string]bool{}
	}
	r.wrote[place][value] = true
}

// keep is a person's answer: what is there is the base.
func (r *rules) keep(place string, doc flat) {
	defer r.overruled(doc)
	value, is := doc[place]
	if isMember(place) {
		r.adopt(place, doc)
		if id, ok := strings.CutPrefix(place, "devices."); ok && !is { // shares that went with it stay away
			maps.DeleteFunc(r.base, func(at, _ string) bool {
				_, has := doc[at]
				return strings.HasPrefix(at, "folders.") && strings.HasSuffix(at, ".devices."+id) && !has
			})
		}
		return
	}
	r.base[place] = value
	if _, theirs := r.base[parent(place)]; theirs || parent(place) == "" {
		delete(r.wrote, place)
	} else {
		delete(r.wrote[place], value)
	}
}
