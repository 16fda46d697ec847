package store

import (
	"context"
	"maps"
	"slices"

	"muster/internal/fleet"
)

// The server reads the registry as a whole. Tests ask for one thing at a time.

// Device is one registered device with its API key.
func (s *Store) Device(_ context.Context, id fleet.DeviceID) (fleet.Device, error) {
	registered, err := s.registered(id)
	if err != nil {
		return fleet.Device{}, err
	}
	return registered.Device, nil
}

// Devices are all of them by label, then ID.
func (s *Store) Devices(context.Context) ([]fleet.Device, error) {
	return sortedDevices(s.model.current().registry), nil
}

// DevicesTagged are those that carry the tag, by label, then ID.
func (s *Store) DevicesTagged(_ context.Context, tag fleet.Tag) ([]fleet.Device, error) {
	v := s.model.current()
	carrying := []fleet.Device{}
	for _, d := range sortedDevices(v.registry) {
		if slices.Contains(v.registry.Devices[d.ID].Tags, tag) {
			carrying = append(carrying, d)
		}
	}
	return carrying, nil
}

// Template is one template.
func (s *Store) Template(_ context.Context, id int64) (fleet.Template, error) {
	tagged, err := s.taggedTemplate(id)
	if err != nil {
		return fleet.Template{}, err
	}
	return tagged.Template, nil
}

// Templates are all of them by priority, then ID.
func (s *Store) Templates(context.Context) ([]fleet.Template, error) {
	return s.templatesWhere(func(fleet.TaggedTemplate) bool { return true }), nil
}

// TemplatesTagged are those that carry the tag, by priority, then ID.
func (s *Store) TemplatesTagged(_ context.Context, tag fleet.Tag) ([]fleet.Template, error) {
	return s.templatesWhere(func(t fleet.TaggedTemplate) bool { return slices.Contains(t.Tags, tag) }), nil
}

func (s *Store) templatesWhere(wanted func(fleet.TaggedTemplate) bool) []fleet.Template {
	templates := []fleet.Template{}
	for _, t := range s.model.current().registry.Templates {
		if wanted(t) {
			templates = append(templates, t.Template)
		}
	}
	return templates
}

// Tags are all that somebody carries, sorted.
func (s *Store) Tags(context.Context) ([]fleet.Tag, error) {
	return allTags(s.model.current().registry), nil
}

// DeviceTags are the tags of one device, sorted.
func (s *Store) DeviceTags(_ context.Context, id fleet.DeviceID) ([]fleet.Tag, error) {
	registered, err := s.registered(id)
	if err != nil {
		return nil, err
	}
	return registered.Tags, nil
}

// TemplateTags are the tags of one template, sorted.
func (s *Store) TemplateTags(_ context.Context, id int64) ([]fleet.Tag, error) {
	tagged, err := s.taggedTemplate(id)
	if err != nil {
		return nil, err
	}
	return tagged.Tags, nil
}

// FleetMode is the mode of the whole fleet, "on" until somebody says otherwise.
func (s *Store) FleetMode(context.Context) (fleet.Mode, error) {
	return s.model.current().registry.Mode, nil
}

func sortedDevices(r *fleet.Registry) []fleet.Device {
	devices := make([]fleet.Device, 0, len(r.Devices))
	for _, d := range r.Devices {
		devices = append(devices, d.Device)
	}
	slices.SortFunc(devices, fleet.CompareDevices)
	return devices
}

func allTags(r *fleet.Registry) []fleet.Tag {
	seen := map[fleet.Tag]bool{}
	for _, d := range r.Devices {
		for _, tag := range d.Tags {
			seen[tag] = true
		}
	}
	for _, t := range r.Templates {
		for _, tag := range t.Tags {
			seen[tag] = true
		}
	}
	tags := slices.AppendSeq(make([]fleet.Tag, 0, len(seen)), maps.Keys(seen))
	slices.Sort(tags)
	return tags
}

func (s *Store) taggedTemplate(id int64) (*fleet.TaggedTemplate, error) {
	var found *fleet.TaggedTemplate
	s.model.look(func(c *contents) { found = c.templates[id] })
	if found == nil {
		return nil, noTemplate(id)
	}
	return found, nil
}
