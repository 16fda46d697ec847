package httpapi

import (
	"fmt"
	"net/http"
	"reflect"
	"slices"

	"muster/api"
	"muster/internal/edge/auth"
	"muster/internal/engine/view"
	"muster/internal/fleet"
)

// TagHandlers show tags and what carries them.
type TagHandlers struct {
	*base
}

func (s TagHandlers) routes(b *base) []route {
	s.base = b
	const all, one = Prefix + "/tags", Prefix + "/tags/{tag}"
	names := reflect.TypeFor[[]string]()
	params := []parameter{searchParam, tagParam, limitParam, afterParam}
	return []route{
		{method: http.MethodGet, path: all, name: "listTags", summary: "All tags, sorted", permission: auth.Read,
			query: []parameter{searchParam, limitParam, afterParam}, reply: names, handle: s.ofList(s.listTags)},
		{method: http.MethodDelete, path: one, name: "deleteTag",
			summary: "Take a tag off everything; gives the remaining tags", permission: auth.WriteTags,
			reply: names, conditional: true, conflicts: true, handle: s.deleteTag},
		{method: http.MethodGet, path: one + "/devices", name: "listTagDevices", summary: "Devices that carry a tag",
			permission: auth.Read,
			query:      append(slices.Clone(params), maskParam), reply: reflect.TypeFor[[]api.Device](),
			handle: s.listTagDevices},
		{method: http.MethodGet, path: one + "/templates", name: "listTagTemplates", summary: "Templates that carry a tag",
			permission: auth.Read,
			query:      params, reply: reflect.TypeFor[[]api.Template](), handle: s.listTagTemplates},
	}
}

func (s TagHandlers) listTags(r *request, q listQuery, registry *fleet.Registry) (reply, error) {
	return s.answered(r, view.OfRegistry(registry), "", func() (reply, error) {
		return showList(r, q, registry.Tags(), listing[fleet.Tag, string]{
			matches: func(tag fleet.Tag) bool { return q.holds(string(tag)) },
			cursor:  func(tag fleet.Tag) string { return string(tag) },
			beyond:  func(cursor string, tag fleet.Tag) (bool, error) { return string(tag) > cursor, nil },
			wire:    func(tag fleet.Tag) string { return string(tag) },
		})
	})
}

func (s TagHandlers) deleteTag(r *request) (reply, error) {
	tag, err := r.tag()
	if err != nil {
		return reply{}, err
	}
	check, err := s.conditionOnTags(r)
	if err != nil {
		return reply{}, err
	}
	done, err := s.change(r, fleet.Edit{Drop: []fleet.Tag{tag}}, check)
	if err != nil {
		return reply{}, orNotFound(err, &fleet.Error{
			Code: fleet.CodeNotFound, Message: fmt.Sprintf("nothing carries the tag %q", tag),
			Hint: "GET " + Prefix + "/tags lists all. Tags are case-sensitive.", See: fleet.Reference{Subject: fleet.SeeTags},
		})
	}
	return s.showTagsFor(r, done.Tags)
}

func (s *base) showTagsFor(r *request, tags []fleet.Tag) (reply, error) {
	seen, err := s.tagsFor(r.Context(), tags)
	if err != nil {
		return reply{}, err
	}
	return show(wireTags(seen))
}

func (s TagHandlers) listTagDevices(r *request) (reply, error) {
	tag, q, err := r.tagAndQuery()
	if err != nil {
		return reply{}, err
	}
	return s.devicesWith(r, q, func(d *fleet.Registered) bool { return slices.Contains(d.Tags, tag) })
}

func (s TagHandlers) listTagTemplates(r *request) (reply, error) {
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

func shownTags(is fleet.Found) any { return wireTags(is.Tags) }

// wireTags is never nil.
func wireTags(tags []fleet.Tag) []string {
	return textsOf(tags)
}
