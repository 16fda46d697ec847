package plan

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// Write is one request that carries changes to a daemon.
type Write struct {
	Method string
	Path   string         // escaped, below the daemon's root
	Body   stconfig.Value // Absent: no body, or not made yet; secrets are in clear
	Keys   []stconfig.Key // keys of the changes that it carries
	// Folder is "" unless the request sets this folder's ignore patterns. Body is then the list of lines.
	Folder string
	Whole  bool // replaces the whole document; the body comes from Again
	// Wide says that the body also holds values that are not to change: call Again for the body right before the request.
	Wide bool

	changes []stconfig.Change
	body    func(after stconfig.Value) stconfig.Value
}

// ErrMoved is the conflict for a change whose place in the document is no longer as it was when the plan was made.
var ErrMoved = &fleet.Error{Code: fleet.CodeConflict,
	Message: "the configuration changed while it was being written: it is planned again"}

// Again returns the body of a Wide write. It makes the body from read, the document as it was read right before the
// request, so that values that a person changed meanwhile stay. It returns ErrMoved if a place that the write changes
// is not as planned.
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

// Save returns a request that makes the daemon save its configuration and changes nothing. The request is for the
// section that is edited least: a daemon merges a PATCH into the section as it was a moment ago, and would lose
// another client's simultaneous write to that section.
func Save() Write {
	return Write{Method: http.MethodPatch, Path: "/rest/config/ldap", Body: stconfig.Obj()}
}

// Writes returns requests for a plan's sendable changes, in a safe order. They are as few and as narrow as the
// daemon's API allows. fresh is the document that was just read and that the plan was made from. A request that
// replaces a whole object sends that object as it is in fresh, with the plan's changes made in it.
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

// rank returns the group of requests that a change is written in. A change without a narrow request is written with the
// whole document.
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

// reachable reports whether a folder's own endpoint can name it. Syncthing's router splits even an escaped slash, and
// removes dots from paths.
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

// members writes new and changed members of a list. One request carries all members that are sent whole; it removes
// no others. A member of which only fields change gets a narrow request of its own.
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

// object writes the changed fields of one object, or the whole object when a merge cannot express the change.
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
		if strings.EqualFold(name, "ignores") { // The daemon has no PATCH for it.
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

// sparse returns the body of a PATCH: only the changed fields of the object at key. whole is that object after the
// changes. A PATCH replaces lists as a whole, so wide reports whether the body has a list of which only some members
// change. ok is false for a new object and for a removed entry, which a PATCH cannot express.
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

// put adds the field that change c changes to body, a body of sparse. whole is the object after the changes, and depth
// the number of names in its key. wide and ok are as for sparse.
func put(body, whole stconfig.Value, c Change, depth int) (_ stconfig.Value, wide, ok bool) {
	name := c.Key.At(depth).Name
	value := whole.Get(name)
	if !value.Exists() {
		return body, false, false
	}
	if value.Kind() != stconfig.Object {
		return body.With(name, value), depth+1 < c.Key.Len(), true
	}
	// Daemons reset fields of versioning that are left out (cleanupIntervalS on 1.19.2), so it is sent whole.
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

// byMember groups changes by member, the second name of their keys. The changes keep their order.
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

// wholeShares returns the document after with complete shares: each share gets all text fields that shares have in the
// document fresh, with "" for those that it lacks. A PATCH with a list decodes each member over the old member at the
// same position. So a bare {deviceID} would inherit the encryption password of the device that was at this position
// before (seen on 1.19.2).
func wholeShares(after, fresh stconfig.Value) stconfig.Value {
	names := shareFields(fresh)
	list := after.Get("folders")
	if list.Kind() != stconfig.Array || len(names) == 0 {
		return after
	}
	whole := make([]stconfig.Value, 0, list.Len())
	for folder := range list.Values() {
		whole = append(whole, wholeShare(folder, names))
	}
	return after.With("folders", stconfig.List(whole...))
}

func wholeShare(folder stconfig.Value, names []string) stconfig.Value {
	shares := folder.Get("devices")
	if shares.Kind() != stconfig.Array {
		return folder
	}
	entries := make([]stconfig.Value, 0, shares.Len())
	for entry := range shares.Values() {
		for _, name := range names {
			if entry.Kind() == stconfig.Object && !entry.Get(name).Exists() {
				entry = entry.With(name, stconfig.Text(""))
			}
		}
		entries = append(entries, entry)
	}
	return folder.With("devices", stconfig.List(entries...))
}

// shareFields returns the text fields of shares in a document. They depend on the daemon's version.
func shareFields(doc stconfig.Value) []string {
	var names []string
	for folder := range doc.Get("folders").Values() {
		for entry := range folder.Get("devices").Values() {
			for name, value := range entry.Members() {
				if value.Kind() == stconfig.String && !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
		}
	}
	return names
}
