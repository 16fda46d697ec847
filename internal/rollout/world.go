package rollout

import (
	"maps"
	"slices"
	"time"

	"muster/internal/fleet"
)

// world is templates and tags at one generation, laid out so that what a change touches is found without looking at
// every device.
type world struct {
	templates map[int64]fleet.Template
	carrying  map[fleet.Tag]map[int64]bool          // templates by tag
	devices   map[fleet.Tag]map[fleet.DeviceID]bool // by tag
	tags      map[fleet.DeviceID]map[fleet.Tag]bool
	created   map[fleet.DeviceID]time.Time // tells a device from one that was registered again under its ID
}

func newWorld(r *fleet.Registry) *world {
	w := &world{
		templates: map[int64]fleet.Template{}, carrying: map[fleet.Tag]map[int64]bool{},
		devices: map[fleet.Tag]map[fleet.DeviceID]bool{}, tags: map[fleet.DeviceID]map[fleet.Tag]bool{}, created: map[fleet.DeviceID]time.Time{},
	}
	for _, t := range r.Templates {
		w.templates[t.ID] = t.Template
		for _, tag := range t.Tags {
			put(w.carrying, tag, t.ID, true)
		}
	}
	for id, d := range r.Devices {
		for _, tag := range d.Tags {
			w.tagDevice(id, tag, true)
		}
		w.created[id] = d.CreatedAt
	}
	return w
}

func put[A, B comparable](index map[A]map[B]bool, a A, b B, there bool) {
	if !there {
		delete(index[a], b)
		return
	}
	if index[a] == nil {
		index[a] = map[B]bool{}
	}
	index[a][b] = true
}

func (w *world) tagDevice(id fleet.DeviceID, tag fleet.Tag, carried bool) {
	put(w.devices, tag, id, carried)
	put(w.tags, id, tag, carried)
}

// registered forgets the tags of devices that were deleted, which makes no generation.
func (w *world) registered(r *fleet.Registry) {
	for id, created := range w.created {
		if d := r.Devices[id]; d != nil && d.CreatedAt.Equal(created) {
			continue
		}
		for tag := range w.tags[id] {
			put(w.devices, tag, id, false)
		}
		delete(w.tags, id)
		delete(w.created, id)
	}
	for id, d := range r.Devices {
		w.created[id] = d.CreatedAt
	}
}

// apply takes the world to the next generation and gives the devices for which other templates apply, or other texts of
// them.
func (w *world) apply(c fleet.GenerationChange) map[fleet.DeviceID]bool {
	maybe := w.near(c)
	before := make(map[fleet.DeviceID][]version, len(maybe))
	for id := range maybe {
		before[id] = w.versions(id)
	}
	w.change(c)
	touched := map[fleet.DeviceID]bool{}
	for id, was := range before {
		if !slices.Equal(was, w.versions(id)) {
			touched[id] = true
		}
	}
	return touched
}

// near are the devices that a change may touch.
func (w *world) near(c fleet.GenerationChange) map[fleet.DeviceID]bool {
	maybe := map[fleet.DeviceID]bool{}
	for _, t := range c.Templates {
		for tag, templates := range w.carrying {
			if templates[t.Template.ID] {
				maps.Copy(maybe, w.devices[tag])
			}
		}
	}
	for _, t := range c.TemplateTags {
		maps.Copy(maybe, w.devices[t.Tag])
	}
	for _, t := range c.DeviceTags {
		maybe[t.Device] = true
	}
	return maybe
}

func (w *world) change(c fleet.GenerationChange) {
	for _, t := range c.Templates {
		if t.Deleted {
			delete(w.templates, t.Template.ID)
		} else {
			w.templates[t.Template.ID] = t.Template
		}
	}
	for _, t := range c.TemplateTags {
		put(w.carrying, t.Tag, t.Template, t.Carried)
	}
	for _, t := range c.DeviceTags {
		w.tagDevice(t.Device, t.Tag, t.Carried)
	}
}

// version is what of a template decides about a device.
type version struct {
	id, priority int64
	op           fleet.Op
	key, text    string
}

func versionOf(t fleet.Template) version { return version{t.ID, t.Priority, t.Op, t.Key, t.Text} }

// of are the templates that apply to a device, in the order of the fold.
func (w *world) of(id fleet.DeviceID) []fleet.Template {
	ids := map[int64]bool{}
	for tag := range w.tags[id] {
		maps.Copy(ids, w.carrying[tag])
	}
	var apply []fleet.Template
	for t := range ids {
		if template, ok := w.templates[t]; ok {
			apply = append(apply, template)
		}
	}
	slices.SortFunc(apply, fleet.CompareTemplates)
	return apply
}

func (w *world) versions(id fleet.DeviceID) []version {
	var versions []version
	for _, t := range w.of(id) {
		versions = append(versions, versionOf(t))
	}
	return versions
}

func versionsIn(r *fleet.Registry, id fleet.DeviceID) []version {
	var versions []version
	for _, t := range r.TemplatesOf(id) {
		versions = append(versions, versionOf(t.Template))
	}
	return versions
}
