package rollout

import (
	"maps"
	"slices"
	"time"

	"muster/internal/core/desired"
	"muster/internal/fleet"
)

// catalog has the templates and tags of one generation, indexed so that the devices that a change touches are found
// without a walk through all devices.
type catalog struct {
	templates map[int64]fleet.Template
	carrying  map[fleet.Tag]map[int64]bool          // templates by tag
	devices   map[fleet.Tag]map[fleet.DeviceID]bool // devices by tag
	tags      map[fleet.DeviceID]map[fleet.Tag]bool
	created   map[fleet.DeviceID]time.Time // registration times; another time means that the device was registered again
}

func newCatalog(r *fleet.Registry) *catalog {
	c := &catalog{
		templates: map[int64]fleet.Template{}, carrying: map[fleet.Tag]map[int64]bool{},
		devices: map[fleet.Tag]map[fleet.DeviceID]bool{}, tags: map[fleet.DeviceID]map[fleet.Tag]bool{},
		created: map[fleet.DeviceID]time.Time{},
	}
	for _, t := range r.Templates {
		c.templates[t.ID] = t.Template
		for _, tag := range t.Tags {
			put(c.carrying, tag, t.ID, true)
		}
	}
	for id, d := range r.Devices {
		for _, tag := range d.Tags {
			c.tagDevice(id, tag, true)
		}
		c.created[id] = d.CreatedAt
	}
	return c
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

func (c *catalog) tagDevice(id fleet.DeviceID, tag fleet.Tag, carried bool) {
	put(c.devices, tag, id, carried)
	put(c.tags, id, tag, carried)
}

// registered forgets the tags of devices that were deleted, because a deletion makes no generation.
func (c *catalog) registered(r *fleet.Registry) {
	for id, created := range c.created {
		if d := r.Devices[id]; d != nil && d.CreatedAt.Equal(created) {
			continue
		}
		for tag := range c.tags[id] {
			put(c.devices, tag, id, false)
		}
		delete(c.tags, id)
		delete(c.created, id)
	}
	for id, d := range r.Devices {
		c.created[id] = d.CreatedAt
	}
}

// apply takes the catalog to the next generation. It returns the devices to which other templates, or templates with
// other texts, apply now, each with the templates that applied before.
func (c *catalog) apply(change fleet.GenerationChange) map[fleet.DeviceID][]fleet.Template {
	before := map[fleet.DeviceID][]fleet.Template{}
	for id := range c.near(change) {
		before[id] = c.of(id)
	}
	c.change(change)
	maps.DeleteFunc(
		before,
		func(id fleet.DeviceID, was []fleet.Template) bool { return desired.SameTemplates(was, c.of(id)) },
	)
	return before
}

// near returns the devices that a change may touch.
func (c *catalog) near(change fleet.GenerationChange) map[fleet.DeviceID]bool {
	maybe := map[fleet.DeviceID]bool{}
	for _, t := range change.Templates {
		for tag, templates := range c.carrying {
			if templates[t.Template.ID] {
				maps.Copy(maybe, c.devices[tag])
			}
		}
	}
	for _, t := range change.TemplateTags {
		maps.Copy(maybe, c.devices[t.Tag])
	}
	for _, t := range change.DeviceTags {
		maybe[t.Device] = true
	}
	return maybe
}

func (c *catalog) change(change fleet.GenerationChange) {
	for _, t := range change.Templates {
		if t.Deleted {
			delete(c.templates, t.Template.ID)
		} else {
			c.templates[t.Template.ID] = t.Template
		}
	}
	for _, t := range change.TemplateTags {
		put(c.carrying, t.Tag, t.Template, t.Carried)
	}
	for _, t := range change.DeviceTags {
		c.tagDevice(t.Device, t.Tag, t.Carried)
	}
}

// of returns the templates that apply to a device, in the order of the fold.
func (c *catalog) of(id fleet.DeviceID) []fleet.Template {
	ids := map[int64]bool{}
	for tag := range c.tags[id] {
		maps.Copy(ids, c.carrying[tag])
	}
	var apply []fleet.Template
	for t := range ids {
		if template, ok := c.templates[t]; ok {
			apply = append(apply, template)
		}
	}
	slices.SortFunc(apply, fleet.CompareTemplates)
	return apply
}
