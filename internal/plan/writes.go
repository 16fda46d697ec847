package plan

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"muster/internal/fleet"
	"muster/internal/stconfig"
)

// Write is one call that brings changes to a daemon.
type Write struct {
	Method string
	Path   string         // escaped, below the daemon's root
	Body   stconfig.Value // Absent: none, or not made yet; secrets in clear
	Keys   []stconfig.Key // the changes that it carries
	Folder string         // not "": the call sets this folder's ignore patterns, Body is the list of lines
	Whole  bool           // the whole document: Body comes from Again only
	Wide   bool           // the body also says what was read and is not to change: use Again right before the call

	changes []stconfig.Change
	body    func(after stconfig.Value) stconfig.Value
}

// ErrMoved says that what a write changes is not any more as the plan was made from.
var ErrMoved = &fleet.Error{Code: fleet.CodeConflict,
	Message: "the configuration changed while it was being written: it is planned again"}

// Again is the body of a Wide write over the document as read right before the call: what a person wrote next to its
// changes since the plan was made stays.
func (w Write) Again(read stconfig.Value, own fleet.DeviceID) (stconfig.Value, error) {
	if err := stconfig.Usable(read, own); err != nil {
		return stconfig.Value{}, err
	}
	for _, c := range w.changes {
		if now := stconfig.Lookup(read, c.Key); now.Kind() != c.From.Kind() || !now.Equal(c.From) {
			return stconfig.Value{}, ErrMoved
		}
	}
	after := wholeShares(stconfig.Patch(read.Without("ignores"), w.changes), read)
	if w.Whole {
		return after, stconfig.Usable(after, own)
	}
	return w.body(after), nil
}

// Save has a daemon save the configuration that it has. It changes nothing, in the section that is edited least: a
// daemon merges a PATCH into what it had there a moment ago, and what another client writes there in between is lost.
func Save() Write {
	return Write{Method: http.MethodPatch, Path: "/rest/config/ldap", Body: stconfig.Obj()}
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
	w.members(rankResumed, folders)
	w.whole(rankOther)
	w.removals(rankFoldersGone)
	w.members(rankIgnoredFolders, devices)
	w.removals(rankDevicesGone)
	w.whole(rankIgnored)
	w.section(rankGUI, "gui")
	return w.writes
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

func (w *writer) add(write Write, changes []Change) {
	write.Keys = keysOf(changes)
	for _, c := range changes {
		write.changes = append(write.changes, stconfig.Change{Key: c.Key, From: c.From, To: c.send})
	}
	w.writes = append(w.writes, write)
}

// members writes new and changed members of a list: one call for all that are sent whole, which never removes others,
// and one narrow call for each that only changes in part.
func (w *writer) members(rank int, list stconfig.Key) {
	path := "/rest/config/" + list.At(0).Name
	var whole []stconfig.Key
	var carried []Change
	inPart := map[string][]Change{}
	var order []string
	for _, changes := range byMember(w.bySection[rank]) {
		name := changes[0].Key.At(1).Name
		key := list.Child(name)
		if _, _, ok := sparse(changes, key, stconfig.Lookup(w.after, key)); ok && reachable(name) {
			inPart[name], order = changes, append(order, name)
			continue
		}
		whole, carried = append(whole, key), append(carried, changes...)
	}
	if len(whole) > 0 {
		body := func(after stconfig.Value) stconfig.Value {
			var members []stconfig.Value
			for _, key := range whole {
				if member := stconfig.Lookup(after, key); member.Exists() {
					members = append(members, member)
				}
			}
			return stconfig.List(members...)
		}
		replaces := slices.ContainsFunc(carried, func(c Change) bool { return c.Key.Len() > 2 })
		w.add(Write{Method: http.MethodPut, Path: path, Body: body(w.after), Wide: replaces, body: body}, carried)
	}
	for _, name := range order {
		w.object(inPart[name], list.Child(name), path+"/"+url.PathEscape(name))
	}
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
	write := Write{Method: http.MethodPatch, Path: path}
	var inPart bool
	write.Body, write.Wide, inPart = sparse(changes, key, stconfig.Lookup(w.after, key))
	write.body = func(after stconfig.Value) stconfig.Value {
		whole := stconfig.Lookup(after, key)
		if body, _, ok := sparse(changes, key, whole); ok && inPart {
			return body
		}
		return whole
	}
	if !inPart {
		write.Method, write.Body, write.Wide = http.MethodPut, stconfig.Lookup(w.after, key), true
	}
	w.add(write, changes)
}

func (w *writer) defaults() {
	for _, changes := range byMember(w.bySection[rankDefaults]) {
		name := changes[0].Key.At(1).Name
		key := stconfig.Key{}.Child(changes[0].Key.At(0).Name).Child(name)
		path := "/rest/config/defaults/" + strings.ToLower(name)
		if strings.EqualFold(name, "ignores") { // it has no PATCH
			body := func(after stconfig.Value) stconfig.Value { return stconfig.Lookup(after, key) }
			w.add(Write{Method: http.MethodPut, Path: path, Body: body(w.after), Wide: true, body: body}, changes)
			continue
		}
		w.object(changes, key, path)
	}
}

func (w *writer) ignores() {
	for _, c := range w.bySection[rankIgnores] {
		folder := c.Key.At(1).Name
		w.add(Write{Method: http.MethodPost, Path: "/rest/db/ignores?folder=" + url.QueryEscape(folder),
			Body: c.send, Folder: folder}, []Change{c})
	}
}

func (w *writer) removals(rank int) {
	for _, c := range w.bySection[rank] {
		w.add(Write{Method: http.MethodDelete, Path: fmt.Sprintf("/rest/config/%s/%s", section(c.Key),
			url.PathEscape(c.Key.At(1).Name))}, []Change{c})
	}
}

func (w *writer) whole(rank int) {
	if changes := w.bySection[rank]; len(changes) > 0 {
		w.add(Write{Method: http.MethodPut, Path: "/rest/config", Whole: true, Wide: true}, changes)
	}
}

// sparse is an object with only the changed fields of the one at key, for a call that merges. Merging replaces lists,
// so they are whole: wide says that one is among them of which only a part changes. It cannot say a new object, nor
// that an entry goes away.
func sparse(changes []Change, key stconfig.Key, whole stconfig.Value) (body stconfig.Value, wide, ok bool) {
	body = stconfig.Obj()
	for _, c := range changes {
		if c.Key.Len() <= key.Len() || !whole.Exists() {
			return stconfig.Value{}, false, false
		}
		var list bool
		if body, list, ok = put(body, whole, c, key.Len()); !ok {
			return stconfig.Value{}, false, false
		}
		wide = wide || list
	}
	return body, wide, true
}

// put adds one changed field to a sparse object.
func put(body, whole stconfig.Value, c Change, depth int) (_ stconfig.Value, wide, ok bool) {
	name := c.Key.At(depth).Name
	value := whole.Get(name)
	if !value.Exists() {
		return body, false, false
	}
	if value.Kind() != stconfig.Object {
		return body.With(name, value), depth+1 < c.Key.Len(), true
	}
	// whole: daemons reset what is left out of it (cleanupIntervalS on 1.19.2)
	if strings.EqualFold(name, "versioning") && c.send.Exists() {
		return body.With(name, value), depth+1 < c.Key.Len(), true
	}
	if depth+1 == c.Key.Len() {
		return body, false, false
	}
	inner := body.Get(name)
	if inner.Kind() != stconfig.Object {
		inner = stconfig.Obj()
	}
	inner, wide, ok = put(inner, value, c, depth+1)
	return body.With(name, inner), wide, ok
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
