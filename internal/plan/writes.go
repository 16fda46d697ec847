package plan

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"muster/internal/fleet"
	"muster/internal/stconfig"
)

// Write is one call that brings changes to a daemon.
type Write struct {
	Method string
	Path   string            // escaped, below the daemon's root
	Body   stconfig.Value    // Absent: none; secrets in clear
	Keys   []stconfig.Key    // the changes that it carries
	Folder string            // not "": the call sets this folder's ignore patterns, Body is the list of lines
	Whole  []stconfig.Change // not nil: the whole document, as read right before the call, with these changes; see WholeBody
}

// Writes says a plan's sendable changes in the narrowest and fewest calls, in a safe order. fresh is the document as
// just read, the plan made from it: whatever is replaced as a whole is replaced by what was read, with the changes.
func Writes(p Plan, fresh stconfig.Value) []Write {
	w := writer{after: wholeShares(stconfig.Patch(fresh, p.sending()), fresh), bySection: map[int][]Change{}}
	for _, c := range p.Sendable() {
		w.bySection[w.rank(c)] = append(w.bySection[w.rank(c)], c)
	}
	w.members(rankDevices, devices)
	w.section(rankOptions, "options")
	w.section(rankLDAP, "ldap")
	w.defaults()
	w.members(rankFolders, folders)
	w.ignores()
	w.whole()
	w.removals(rankFoldersGone)
	w.removals(rankDevicesGone)
	w.section(rankGUI, "gui")
	return w.writes
}

// WholeBody is the body of a Write of the whole document: what was just read, with the write's changes and no others.
func (w Write) WholeBody(read stconfig.Value, own fleet.DeviceID) (stconfig.Value, error) {
	body := stconfig.Patch(read.Without("ignores"), w.Whole)
	if err := stconfig.Usable(read, own); err != nil {
		return stconfig.Value{}, err
	}
	if err := stconfig.Usable(body, own); err != nil {
		return stconfig.Value{}, err
	}
	return body, nil
}

type writer struct {
	after     stconfig.Value
	bySection map[int][]Change
	writes    []Write
}

// rank is the section that a change is written in. What has no narrow call goes into the whole document.
func (w *writer) rank(c Change) int {
	r := rank(c)
	switch {
	case c.Key.Len() < 2:
		return rankOther
	case r == rankFoldersGone && !reachable(c.Key.At(1).Name):
		return rankOther
	case r == rankDefaults && c.Key.Len() < 3:
		return rankOther
	case r == rankDefaults && !isDefaults(c.Key.At(1).Name):
		return rankOther
	}
	return r
}

func isDefaults(name string) bool {
	return strings.EqualFold(name, "folder") || strings.EqualFold(name, "device") || strings.EqualFold(name, "ignores")
}

// reachable tells whether a folder's own endpoint can name it: Syncthing's router splits even an escaped slash, and
// paths are cleaned of dots.
func reachable(id string) bool {
	return id != "" && id != "." && id != ".." && !strings.Contains(id, "/")
}

func (w *writer) add(write Write) { w.writes = append(w.writes, write) }

// members writes new and changed members of a list: one call for all that are sent whole, which never removes others,
// and one narrow call for each that only changes in part.
func (w *writer) members(rank int, list stconfig.Key) {
	path := "/rest/config/" + list.At(0).Name
	all := Write{Method: http.MethodPut, Path: path}
	var whole []stconfig.Value
	var narrow []Write
	for _, changes := range byMember(w.bySection[rank]) {
		key := list.Child(changes[0].Key.At(1).Name)
		body, inPart := sparse(changes, key, stconfig.Lookup(w.after, key))
		if inPart && reachable(key.At(1).Name) {
			narrow = append(narrow, Write{Method: http.MethodPatch, Path: path + "/" + url.PathEscape(key.At(1).Name),
				Body: body, Keys: keysOf(changes)})
			continue
		}
		whole = append(whole, stconfig.Lookup(w.after, key))
		all.Keys = append(all.Keys, keysOf(changes)...)
	}
	if len(whole) > 0 {
		all.Body = stconfig.List(whole...)
		w.add(all)
	}
	w.writes = append(w.writes, narrow...)
}

// section writes the changed fields of a section that is one object.
func (w *writer) section(rank int, name string) {
	changes := w.bySection[rank]
	if len(changes) == 0 {
		return
	}
	key := stconfig.Key{}.Child(changes[0].Key.At(0).Name)
	w.object(changes, key, "/rest/config/"+name)
}

// object writes the changed fields of one object, or all of it where merging cannot say the change.
func (w *writer) object(changes []Change, key stconfig.Key, path string) {
	whole := stconfig.Lookup(w.after, key)
	body, inPart := sparse(changes, key, whole)
	if inPart {
		w.add(Write{Method: http.MethodPatch, Path: path, Body: body, Keys: keysOf(changes)})
		return
	}
	w.add(Write{Method: http.MethodPut, Path: path, Body: whole, Keys: keysOf(changes)})
}

func (w *writer) defaults() {
	for _, changes := range byMember(w.bySection[rankDefaults]) {
		name := changes[0].Key.At(1).Name
		key := stconfig.Key{}.Child(changes[0].Key.At(0).Name).Child(name)
		path := "/rest/config/defaults/" + strings.ToLower(name)
		if strings.EqualFold(name, "ignores") { // it has no PATCH
			w.add(Write{Method: http.MethodPut, Path: path, Body: stconfig.Lookup(w.after, key), Keys: keysOf(changes)})
			continue
		}
		w.object(changes, key, path)
	}
}

func (w *writer) ignores() {
	for _, c := range w.bySection[rankIgnores] {
		folder := c.Key.At(1).Name
		w.add(Write{Method: http.MethodPost, Path: "/rest/db/ignores?folder=" + url.QueryEscape(folder),
			Body: c.send, Keys: []stconfig.Key{c.Key}, Folder: folder})
	}
}

func (w *writer) removals(rank int) {
	for _, c := range w.bySection[rank] {
		w.add(Write{Method: http.MethodDelete, Keys: []stconfig.Key{c.Key},
			Path: fmt.Sprintf("/rest/config/%s/%s", section(c.Key), url.PathEscape(c.Key.At(1).Name))})
	}
}

func (w *writer) whole() {
	changes := w.bySection[rankOther]
	if len(changes) == 0 {
		return
	}
	write := Write{Method: http.MethodPut, Path: "/rest/config", Keys: keysOf(changes)}
	for _, c := range changes {
		write.Whole = append(write.Whole, stconfig.Change{Key: c.Key, From: c.From, To: c.send})
	}
	w.add(write)
}

// sparse is an object with only the changed fields of the one at key, for a call that merges: lists in it are whole,
// because merging replaces them. It cannot say a new object, nor that an entry goes away.
func sparse(changes []Change, key stconfig.Key, whole stconfig.Value) (body stconfig.Value, ok bool) {
	body = stconfig.Obj()
	for _, c := range changes {
		if c.Key.Len() <= key.Len() || !whole.Exists() {
			return stconfig.Value{}, false
		}
		if body, ok = put(body, whole, c, key.Len()); !ok {
			return stconfig.Value{}, false
		}
	}
	return body, true
}

// put adds one changed field to a sparse object.
func put(body, whole stconfig.Value, c Change, depth int) (stconfig.Value, bool) {
	name := c.Key.At(depth).Name
	value := whole.Get(name)
	if !value.Exists() {
		return body, false
	}
	if value.Kind() != stconfig.Object {
		return body.With(name, value), true
	}
	if strings.EqualFold(name, "versioning") && c.send.Exists() {
		return body.With(name, value), true // whole: daemons reset what is left out of it (cleanupIntervalS on 1.19.2)
	}
	if depth+1 == c.Key.Len() {
		return body, false
	}
	inner := body.Get(name)
	if inner.Kind() != stconfig.Object {
		inner = stconfig.Obj()
	}
	inner, ok := put(inner, value, c, depth+1)
	return body.With(name, inner), ok
}

// byMember groups changes by the second name of their keys, in their order.
func byMember(changes []Change) [][]Change {
	var groups [][]Change
	at := map[string]int{}
	for _, c := range changes {
		name := c.Key.At(1).Name
		i, ok := at[name]
		if !ok {
			i = len(groups)
			at[name] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], c)
	}
	return groups
}

func keysOf(changes []Change) []stconfig.Key {
	keys := make([]stconfig.Key, len(changes))
	for i, c := range changes {
		keys[i] = c.Key
	}
	return keys
}
