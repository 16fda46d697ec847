package httpapi

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"muster/api"
	"muster/internal/auth"
	"muster/internal/fleet"
)

// Tags removes tags everywhere at once.
type Tags interface {
	// DeleteTag takes the tag from every device and template and gives the tags that remain, sorted. A tag that nobody
	// carries is not_found. The check is called with all tags, sorted, inside the transaction; nil is none.
	DeleteTag(ctx context.Context, tag fleet.Tag, check func(current *[]fleet.Tag) error) (remaining []fleet.Tag,
		err error)
}

func (s *server) tagRoutes() []route {
	const all, one = Prefix + "/tags", Prefix + "/tags/{tag}"
	names := reflect.TypeFor[[]string]()
	params := []*huma.Param{searchParam, tagParam, limitParam, afterParam}
	return []route{
		{method: http.MethodGet, path: all, name: "listTags", summary: "All tags, sorted", permission: auth.Read,
			query: []*huma.Param{searchParam, limitParam, afterParam}, reply: names, handle: s.listTags},
		{method: http.MethodDelete, path: one, name: "deleteTag",
			summary: "Take a tag off everything; gives the remaining tags", permission: auth.WriteTags,
			reply: names, conditional: true, handle: s.deleteTag},
		{method: http.MethodGet, path: one + "/devices", name: "listTagDevices", summary: "Devices that carry a tag",
			permission: auth.Read,
			query:      params, reply: reflect.TypeFor[[]api.Device](), handle: s.listTagDevices},
		{method: http.MethodGet, path: one + "/templates", name: "listTagTemplates", summary: "Templates that carry a tag",
			permission: auth.Read,
			query:      params, reply: reflect.TypeFor[[]api.Template](), handle: s.listTagTemplates},
	}
}

func (s *server) listTags(r *request) (reply, error) {
	q, err := r.listQuery()
	if err != nil {
		return reply{}, err
	}
	registry, err := s.Registry.Registry(r.Context())
	if err != nil {
		return reply{}, err
	}
	return s.lists.cached(registry, r, "", func() (reply, error) {
		return showList(r, q, tagsOf(registry), listing[fleet.Tag, string]{
			matches: func(tag fleet.Tag) bool { return q.holds(string(tag)) },
			cursor:  func(tag fleet.Tag) string { return string(tag) },
			beyond:  func(cursor string, tag fleet.Tag) (bool, error) { return string(tag) > cursor, nil },
			wire:    func(tag fleet.Tag) string { return string(tag) },
		})
	})
}

// tagsOf is every tag that something carries, sorted.
func tagsOf(registry *fleet.Registry) []fleet.Tag {
	all := map[fleet.Tag]bool{}
	for _, d := range registry.Devices {
		for _, tag := range d.Tags {
			all[tag] = true
		}
	}
	for _, t := range registry.Templates {
		for _, tag := range t.Tags {
			all[tag] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

func (s *server) deleteTag(r *request) (reply, error) {
	tag, err := r.tag()
	if err != nil {
		return reply{}, err
	}
	remaining, err := s.Tags.DeleteTag(r.Context(), tag, condition(r, shownTags))
	if err != nil {
		return reply{}, orNotFound(err, &fleet.Error{
			Code: fleet.CodeNotFound, Message: fmt.Sprintf("nothing carries the tag %q", tag),
			Hint: "GET " + Prefix + "/tags lists all. Tags are case-sensitive.",
		})
	}
	return show(wireTags(remaining))
}

func (s *server) listTagDevices(r *request) (reply, error) {
	tag, q, err := r.tagAndQuery()
	if err != nil {
		return reply{}, err
	}
	return s.devicesWith(r, q, func(d *fleet.Registered) bool { return slices.Contains(d.Tags, tag) })
}

func (s *server) listTagTemplates(r *request) (reply, error) {
	tag, q, err := r.tagAndQuery()
	if err != nil {
		return reply{}, err
	}
	return s.templatesWith(r, q, func(t *fleet.TaggedTemplate) bool { return slices.Contains(t.Tags, tag) })
}

func (r *request) tagAndQuery() (fleet.Tag, listQuery, error) {
	tag, err := r.tag()
	if err != nil {
		return "", listQuery{}, err
	}
	q, err := r.listQuery()
	return tag, q, err
}

func shownTags(tags *[]fleet.Tag) any { return wireTags(*tags) }

// wireTags is never nil.
func wireTags(tags []fleet.Tag) []string {
	out := make([]string, len(tags))
	for i, tag := range tags {
		out[i] = string(tag)
	}
	return out
}
