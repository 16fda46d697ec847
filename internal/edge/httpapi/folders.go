package httpapi

import (
	"context"
	"net/http"
	"reflect"
	"slices"

	"muster/api"
	"muster/internal/edge/auth"
	"muster/internal/engine/view"
	"muster/internal/fleet"
)

// Folders are those of the devices in the caller's scope; see view.View. The registry is the one of that scope.
type Folders interface {
	Folders(ctx context.Context, registry *fleet.Registry) ([]fleet.FolderLabel, view.Source, error)
	FolderOverviews(ctx context.Context, registry *fleet.Registry) ([]view.FolderOverview, error)
}

// FolderSummaries are as daemons tell them. They are sorted by device; not_found for a folder that no device has.
type FolderSummaries interface {
	FolderSummaries(ctx context.Context, folder string) ([]fleet.FolderSummary, error)
}

// FolderHandlers list folders.
type FolderHandlers struct {
	*base
	Folders   Folders
	Summaries FolderSummaries
}

func (s FolderHandlers) routes(b *base) []route {
	s.base = b
	return slices.Concat(s.folderRoutes(), s.rollupRoutes())
}

func (s FolderHandlers) folderRoutes() []route {
	return []route{
		{method: http.MethodGet, path: Prefix + "/folders", name: "listFolders", summary: "All folders, sorted",
			permission: auth.Read,
			query:      []parameter{searchParam, limitParam, afterParam}, reply: reflect.TypeFor[[]api.Folder](),
			handle: s.ofList(s.listFolders)},
		{method: http.MethodGet, path: Prefix + "/folders/{folderID}", name: "getFolder",
			summary: "One summary per device that shares the folder", permission: auth.Read,
			reply: reflect.TypeFor[[]api.FolderSummary](), handle: s.getFolder},
	}
}

func (s FolderHandlers) listFolders(r *request, q listQuery, registry *fleet.Registry) (reply, error) {
	folders, source, err := s.Folders.Folders(r.Context(), registry)
	if err != nil {
		return reply{}, err
	}
	return s.answered(r, source, "", func() (reply, error) {
		return showList(r, q, folders, listing[fleet.FolderLabel, api.Folder]{
			matches: func(f fleet.FolderLabel) bool { return q.holds(f.Folder, f.Label) },
			cursor:  func(f fleet.FolderLabel) string { return f.Folder },
			beyond:  func(cursor string, f fleet.FolderLabel) (bool, error) { return f.Folder > cursor, nil },
			wire:    func(f fleet.FolderLabel) api.Folder { return api.Folder{Folder: f.Folder, Label: f.Label} },
		})
	})
}

func (s FolderHandlers) getFolder(r *request) (reply, error) {
	folder, err := r.folderID()
	if err != nil {
		return reply{}, err
	}
	summaries, err := s.summariesFor(r, folder)
	if fleet.CodeOf(err) == fleet.CodeNotFound {
		return reply{}, noFolder(err)
	}
	if err != nil {
		return reply{}, err
	}
	return show(mapped(summaries, wireSummary))
}

// summariesFor are the summaries of the devices that the caller sees; not_found for a folder that none of them has.
func (s FolderHandlers) summariesFor(r *request, folder string) ([]fleet.FolderSummary, error) {
	summaries, err := s.Summaries.FolderSummaries(r.Context(), folder)
	if err != nil || r.who.Scope.Whole() {
		return summaries, err
	}
	registry, err := s.Registry.Registry(r.Context())
	if err != nil {
		return nil, err
	}
	has, err := hasFolder(r.Context(), s.Folders, registry, folder)
	if err != nil {
		return nil, err
	}
	if !has {
		return nil, fleet.NotFoundf("no device has the folder")
	}
	return slices.DeleteFunc(summaries, func(f fleet.FolderSummary) bool { return registry.Devices[f.Device] == nil }), nil
}

// hasFolder reports whether a device of the registry has a folder.
func hasFolder(ctx context.Context, of Folders, registry *fleet.Registry, folder string) (bool, error) {
	folders, _, err := of.Folders(ctx, registry)
	return slices.ContainsFunc(folders, func(f fleet.FolderLabel) bool { return f.Folder == folder }), err
}

func wireSummary(f fleet.FolderSummary) api.FolderSummary {
	return api.FolderSummary{
		Device: string(f.Device), Folder: f.Folder,
		CreatedAt: api.Time{Time: f.CreatedAt}, UpdatedAt: api.Time{Time: f.UpdatedAt},
		GlobalBytes: f.GlobalBytes, GlobalDeleted: f.GlobalDeleted, GlobalDirectories: f.GlobalDirectories,
		GlobalFiles: f.GlobalFiles, GlobalSymlinks: f.GlobalSymlinks,
		LocalBytes: f.LocalBytes, LocalDeleted: f.LocalDeleted, LocalDirectories: f.LocalDirectories,
		LocalFiles: f.LocalFiles, LocalSymlinks: f.LocalSymlinks,
		InSyncBytes: f.InSyncBytes, InSyncFiles: f.InSyncFiles,
		NeedBytes: f.NeedBytes, NeedDeletes: f.NeedDeletes, NeedDirectories: f.NeedDirectories,
		NeedFiles: f.NeedFiles, NeedSymlinks: f.NeedSymlinks,
		IgnorePatterns: f.IgnorePatterns, Sequence: f.Sequence, Version: f.Version,
	}
}
