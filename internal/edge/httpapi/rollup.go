package httpapi

import (
	"net/http"
	"reflect"
	"slices"

	"muster/api"
	"muster/internal/edge/auth"
	"muster/internal/engine/view"
	"muster/internal/fleet"
)

// rollupRoutes give in one answer what a page of the console needs of all folders and of all tags.
func (s FolderHandlers) rollupRoutes() []route {
	return []route{
		{
			method:     http.MethodGet,
			path:       Prefix + "/overview/folders",
			name:       "listFolderOverviews",
			permission: auth.Read,
			summary:    "Every folder with the numbers of its devices, sorted",
			query: []parameter{
				searchParam,
				folderStates,
				limitParam,
				afterParam,
			},
			reply:  reflect.TypeFor[[]api.FolderOverview](),
			off:    s.Folders == nil,
			handle: s.ofList(s.listFolderOverviews),
		},
		{method: http.MethodGet, path: Prefix + "/overview/tags", name: "listTagOverviews", permission: auth.Read,
			summary: "Every tag with what carries it, sorted", reply: reflect.TypeFor[[]api.TagOverview](),
			handle: s.ofRegistry(s.listTagOverviews)},
	}
}

func (s FolderHandlers) listFolderOverviews(r *request, q listQuery, registry *fleet.Registry) (reply, error) {
	states, err := folderStates.of(r)
	if err != nil {
		return reply{}, err
	}
	folders, err := s.Folders.FolderOverviews(r.Context(), registry)
	if err != nil {
		return reply{}, err
	}
	return showList(r, q, folders, listing[view.FolderOverview, api.FolderOverview]{
		matches: func(f view.FolderOverview) bool {
			return q.holds(f.Folder, f.Label) && (len(states) == 0 || slices.ContainsFunc(states,
				func(state fleet.FolderState) bool { return f.State == state || f.Devices.Of(state) > 0 }))
		},
		cursor: func(f view.FolderOverview) string { return f.Folder },
		beyond: func(cursor string, f view.FolderOverview) (bool, error) { return f.Folder > cursor, nil },
		wire: func(f view.FolderOverview) api.FolderOverview {
			return api.FolderOverview{Folder: f.Folder, Label: f.Label, State: f.State.String(),
				Devices: wireFolderCounts(f.Devices), GlobalBytes: f.GlobalBytes, NeedBytes: f.NeedBytes,
				NeedUnknown: f.Unknown}
		},
	})
}

func (s FolderHandlers) listTagOverviews(r *request, registry *fleet.Registry) (reply, error) {
	return s.answered(r, view.OfRegistry(registry), "", func() (reply, error) {
		return show(mapped(view.TagOverviews(registry), func(t view.TagOverview) api.TagOverview {
			return api.TagOverview{Tag: string(t.Tag), Devices: t.Devices, Templates: append([]int64{}, t.Templates...)}
		}))
	})
}
