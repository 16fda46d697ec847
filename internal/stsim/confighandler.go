package stsim

import (
	"errors"
	"net/http"
	"slices"

	"muster/internal/core/stconfig"
)

func (e *endpoint) getConfig(w http.ResponseWriter, r *http.Request, _ string) {
	doc := e.daemon.Config()
	e.daemon.readings.answered(r, doc)
	e.sendJSON(w, r, doc)
}

func (e *endpoint) putConfig(w http.ResponseWriter, r *http.Request, _ string) {
	body, err := readJSON(r)
	if err == nil {
		err = e.daemon.putConfig(e.process, body)
	}
	e.finish(w, err)
}

// finish answers a write: an empty 200, or the error as text.
func (e *endpoint) finish(w http.ResponseWriter, err error) {
	if err != nil {
		sendError(w, err)
	}
}

// putConfig replaces the whole configuration.
func (d *Daemon) putConfig(p *process, body stconfig.Value) error {
	to, err := d.schema().read(body, d.owner())
	if err != nil {
		return answer(http.StatusBadRequest, err)
	}
	return d.modify(p, func(from stconfig.Value) (stconfig.Value, error) {
		gui, err := d.adjustGUI(from.Get("gui"), to.Get("gui"))
		return to.With("gui", gui), err
	})
}

// adjustGUI hashes a password that is not the one that stands there. Only v2 tells a hash from a password.
func (d *Daemon) adjustGUI(from, to stconfig.Value) (stconfig.Value, error) {
	password := to.Get("password").Str()
	switch {
	case password == from.Get("password").Str():
		return to, nil
	case d.schema().keepsHashes && bcryptLike.MatchString(password):
		return to, nil
	case d.schema().keepsHashes && len(password) > bcryptLimit:
		return to, errors.New("bcrypt: password length exceeds 72 bytes")
	}
	hash, err := hashPassword(password)
	return to.With("password", stconfig.Text(hash)), err
}

// section is a part of the document that is one object.
func section(path ...string) route {
	get := func(doc stconfig.Value) stconfig.Value {
		for _, name := range path {
			doc = doc.Get(name)
		}
		return doc
	}
	write := func(startAt func(*schema, stconfig.Value) stconfig.Value) handler {
		return func(e *endpoint, w http.ResponseWriter, r *http.Request, _ string) {
			e.finish(w, e.daemon.writeSection(e.process, r, path, get, startAt))
		}
	}
	return route{
		"GET": func(e *endpoint, w http.ResponseWriter, r *http.Request, _ string) {
			e.sendJSON(w, r, get(e.daemon.Config()))
		},
		"PUT": write(func(s *schema, _ stconfig.Value) stconfig.Value {
			if path[len(path)-1] == "ignores" {
				return s.at(path).zero
			}
			return s.at(path).presetValue()
		}),
		"PATCH": write(func(_ *schema, doc stconfig.Value) stconfig.Value { return get(doc) }),
	}
}

// at is the shape of a section.
func (s *schema) at(path []string) *shape {
	found := s.config
	for _, name := range path {
		found = found.fields[found.index[name]].shape
	}
	return found
}

func (d *Daemon) writeSection(p *process, r *http.Request, path []string, get func(stconfig.Value) stconfig.Value,
	startAt func(*schema, stconfig.Value) stconfig.Value) error {
	body, err := readJSON(r)
	if err != nil {
		return err
	}
	return d.modify(p, func(doc stconfig.Value) (stconfig.Value, error) {
		to, err := d.schema().at(path).decode(startAt(d.schema(), doc), body, "")
		if err != nil {
			return doc, answer(http.StatusBadRequest, err)
		}
		if path[0] == "gui" {
			if to, err = d.adjustGUI(get(doc), to); err != nil {
				return doc, err
			}
		}
		if len(path) == 2 {
			to = doc.Get(path[0]).With(path[1], to)
		}
		return doc.With(path[0], to), nil
	})
}

// collection is a list of the document whose members have an ID.
type collection struct {
	list, member, id string
	missing          string
	shape            func(*schema) *shape
	canonical        func(string) (string, error)
}

var (
	folders = collection{
		list: "folders", member: "folder", id: "id", missing: "No folder with given ID",
		shape:     func(s *schema) *shape { return s.folder },
		canonical: func(id string) (string, error) { return id, nil },
	}
	devices = collection{
		list: "devices", member: "device", id: "deviceID", missing: "No device with given ID",
		shape: func(s *schema) *shape { return s.device },
		canonical: func(id string) (string, error) {
			parsed, err := parseDeviceID(id)
			return string(parsed), answer(http.StatusBadRequest, err)
		},
	}
)

// find is the member with that ID, as it came in the path.
func (c collection) find(doc stconfig.Value, id string) (stconfig.Value, error) {
	id, err := c.canonical(id)
	if err != nil {
		return stconfig.Value{}, err
	}
	for m := range doc.Get(c.list).Values() {
		if m.Get(c.id).Str() == id {
			return m, nil
		}
	}
	return stconfig.Value{}, answer(http.StatusNotFound, errors.New(c.missing))
}

// set adds or replaces members by the ID that they carry.
func (c collection) set(doc stconfig.Value, members []stconfig.Value) stconfig.Value {
	all := slices.Collect(doc.Get(c.list).Values())
	for _, m := range members {
		i := slices.IndexFunc(all, func(other stconfig.Value) bool { return other.Get(c.id).Str() == m.Get(c.id).Str() })
		if i < 0 {
			all = append(all, m)
		} else {
			all[i] = m
		}
	}
	return doc.With(c.list, stconfig.List(all...))
}

func (c collection) preset(doc stconfig.Value) stconfig.Value {
	return doc.Get("defaults").Get(c.member)
}

func getMembers(c collection) handler {
	return func(e *endpoint, w http.ResponseWriter, r *http.Request, _ string) {
		e.sendJSON(w, r, e.daemon.Config().Get(c.list))
	}
}

// putMembers adds or replaces, and removes nothing.
func putMembers(c collection) handler {
	return func(e *endpoint, w http.ResponseWriter, r *http.Request, _ string) {
		body, err := readJSON(r)
		if err == nil && body.Kind() != stconfig.Array && body.Kind() != stconfig.Null {
			err = answer(http.StatusBadRequest, mismatch(body, "", "[]json.RawMessage"))
		}
		if err != nil && e.daemon.Version() == V1 {
			body, err = stconfig.List(), nil // 1.19.2 does not look at the error
		}
		if err == nil {
			err = e.daemon.modify(e.process, func(doc stconfig.Value) (stconfig.Value, error) {
				members, err := decodeMembers(c.shape(e.daemon.schema()), c.preset(doc), body)
				return c.set(doc, members), answer(http.StatusBadRequest, err)
			})
		}
		e.finish(w, err)
	}
}

func getMember(c collection) handler {
	return func(e *endpoint, w http.ResponseWriter, r *http.Request, id string) {
		member, err := c.find(e.daemon.Config(), id)
		if err != nil {
			sendError(w, err)
			return
		}
		e.sendJSON(w, r, member)
	}
}

// putMember starts from the defaults; the ID is the body's, whatever the path says.
func putMember(c collection) handler {
	return writeMember(c, func(doc stconfig.Value, _ string) (stconfig.Value, error) { return c.preset(doc), nil })
}

// patchMember starts from the member that the path names.
func patchMember(c collection) handler { return writeMember(c, c.find) }

func writeMember(c collection, startAt func(doc stconfig.Value, id string) (stconfig.Value, error)) handler {
	return func(e *endpoint, w http.ResponseWriter, r *http.Request, id string) {
		if _, err := startAt(e.daemon.Config(), id); err != nil {
			sendError(w, err)
			return
		}
		body, err := readJSON(r)
		if err == nil {
			err = e.daemon.modify(e.process, func(doc stconfig.Value) (stconfig.Value, error) {
				start, err := startAt(doc, id)
				if err != nil {
					return doc, err
				}
				member, err := c.shape(e.daemon.schema()).decode(start, body, "")
				return c.set(doc, []stconfig.Value{member}), answer(http.StatusBadRequest, err)
			})
		}
		e.finish(w, err)
	}
}

// deleteMember is content when there is nothing to delete.
func deleteMember(c collection) handler {
	return func(e *endpoint, w http.ResponseWriter, _ *http.Request, id string) {
		id, err := c.canonical(id)
		if err == nil {
			err = e.daemon.modify(e.process, func(doc stconfig.Value) (stconfig.Value, error) {
				return doc.With(c.list, without(doc.Get(c.list), func(m stconfig.Value) bool { return m.Get(c.id).Str() == id })),
					nil
			})
		}
		e.finish(w, err)
	}
}

func (e *endpoint) restartRequired(w http.ResponseWriter, r *http.Request, _ string) {
	e.sendJSON(w, r, map[string]bool{"requiresRestart": e.daemon.needsRestart()})
}

func (e *endpoint) inSync(w http.ResponseWriter, r *http.Request, _ string) {
	e.sendJSON(w, r, map[string]bool{"configInSync": !e.daemon.needsRestart()})
}

func (d *Daemon) needsRestart() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.requiresRestart
}
