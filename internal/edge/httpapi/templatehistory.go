package httpapi

import (
	"context"
	"net/http"
	"reflect"
	"strconv"

	"muster/api"
	"muster/internal/edge/auth"
	"muster/internal/fleet"
)

// TemplateHistory gives what templates said before.
type TemplateHistory interface {
	// TemplateHistory is newest first, without texts.
	TemplateHistory(ctx context.Context, id int64) ([]fleet.TemplateVersion, error)
	// TemplateVersion is not_found for a generation that did not change the template.
	TemplateVersion(ctx context.Context, id, generation int64) (fleet.TemplateVersion, error)
}

// The role is that of the template itself: a text of before may hold what a text of now may.
func (s TemplateHandlers) templateHistoryRoutes() []route {
	const all = Prefix + "/templates/{templateID}/history"
	off := s.Versions == nil
	return []route{
		{method: http.MethodGet, path: all, name: "listTemplateVersions", permission: auth.Read, off: off,
			summary: "What a template said, newest first, with who and when, without its texts",
			query:   []parameter{limitParam, afterParam}, reply: reflect.TypeFor[[]api.TemplateVersion](),
			handle: s.ofTemplate(s.listTemplateVersions)},
		{method: http.MethodGet, path: all + "/{generation}", name: "getTemplateVersion", permission: auth.Read, off: off,
			summary: "What a template said from a generation on, with its text",
			reply:   reflect.TypeFor[api.TemplateVersionText](), handle: s.ofTemplate(s.getTemplateVersion)},
	}
}

func (s TemplateHandlers) listTemplateVersions(r *request, template *fleet.TaggedTemplate) (reply, error) {
	q, err := r.listQuery()
	if err != nil {
		return reply{}, err
	}
	versions, err := s.Versions.TemplateHistory(r.Context(), template.ID)
	if err != nil {
		return reply{}, err
	}
	titled, err := s.titles(r.Context())
	if err != nil {
		return reply{}, err
	}
	return showList(r, q, versions, newestFirst(func(v fleet.TemplateVersion) int64 { return v.Generation },
		func(v fleet.TemplateVersion) api.TemplateVersion { return wireTemplateVersion(v, titled) }))
}

func (s TemplateHandlers) getTemplateVersion(r *request, template *fleet.TaggedTemplate) (reply, error) {
	generation, err := r.number("generation")
	if err != nil {
		return reply{}, err
	}
	version, err := s.Versions.TemplateVersion(r.Context(), template.ID, generation)
	if err != nil {
		return reply{}, orNotFound(err, &fleet.Error{Code: fleet.CodeNotFound,
			Message: "this generation did not change the template",
			Hint:    "GET " + templatePath(template.ID) + "/history lists those that did.",
			See:     fleet.Reference{Subject: fleet.SeeTemplateHistory, ID: strconv.FormatInt(template.ID, 10)}})
	}
	titled, err := s.titles(r.Context())
	if err != nil {
		return reply{}, err
	}
	return show(api.TemplateVersionText{TemplateVersion: wireTemplateVersion(version, titled), Template: version.Text})
}

func wireTemplateVersion(v fleet.TemplateVersion, titled func(string) string) api.TemplateVersion {
	return api.TemplateVersion{Generation: v.Generation, At: api.Time{Time: v.At}, By: v.By, Cause: titled(v.Cause),
		SavedBy: v.SavedBy, SavedRole: string(v.SavedRole), Label: v.Label, Priority: v.Priority, Op: string(v.Op),
		Key: v.Key}
}
