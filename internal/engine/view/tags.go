package view

import "muster/internal/fleet"

// TagOverview says what carries a tag.
type TagOverview struct {
	Tag     fleet.Tag
	Devices int
	// Templates are the IDs in the order in which templates are applied.
	Templates []int64
}

// TagOverviews returns an entry for each tag of a registry, sorted.
func TagOverviews(registry *fleet.Registry) []TagOverview {
	tags := registry.Tags()
	all := make([]TagOverview, len(tags))
	at := make(map[fleet.Tag]*TagOverview, len(tags))
	for i, tag := range tags {
		all[i].Tag = tag
		at[tag] = &all[i]
	}
	for _, device := range registry.Devices {
		for _, tag := range device.Tags {
			at[tag].Devices++
		}
	}
	for _, template := range registry.Templates {
		for _, tag := range template.Tags {
			at[tag].Templates = append(at[tag].Templates, template.ID)
		}
	}
	return all
}
