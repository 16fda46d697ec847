package httpapi

import (
	"context"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"unsafe"

	"github.com/danielgtaylor/huma/v2"

	"muster/api"
	"muster/internal/auth"
	"muster/internal/fleet"
)

// Folders gives what devices whose current configuration has a folder say about it.
type Folders interface {
	// Folders is one entry per folder, sorted by it. The label is the one that most devices use, ties by label. What one
	// call returned is never changed: the next one returns the same slice, or another.
	Folders(ctx context.Context) ([]fleet.FolderLabel, error)
	// FoldersOf is the same for a part of the fleet.
	FoldersOf(ctx context.Context, inside func(fleet.DeviceID) bool) ([]fleet.FolderLabel, error)
	// FolderSummaries is sorted by device; not_found for a folder that no device has.
	FolderSummaries(ctx context.Context, folder string) ([]fleet.FolderSummary, error)
}

func (s *server) folderRoutes() []route {
	return []route{
		{method: http.MethodGet, path: Prefix + "/folders", name: "listFolders", summary: "All folders, sorted",
			permission: auth.Read,
			query:      []*huma.Param{searchParam, limitParam, afterParam}, reply: reflect.TypeFor[[]api.Folder](),
			handle: s.listFolders},
		{method: http.MethodGet, path: Prefix + "/folders/{folderID}", name: "getFolder",
			summary: "One summary per device that shares the folder", permission: auth.Read,
			reply: reflect.TypeFor[[]api.FolderSummary](), handle: s.getFolder},
	}
}

func (s *server) listFolders(r *request) (reply, error) {
	q, err := r.listQuery()
	if err != nil {
		return reply{}, err
	}
	folders, err := s.foldersFor(r)
	if err != nil {
		return reply{}, err
	}
	return s.folderLists.cached(unsafe.SliceData(folders), r, strconv.Itoa(len(folders)), func() (reply, error) {
		return showList(r, q, folders, listing[fleet.FolderLabel, api.Folder]{
			matches: func(f fleet.FolderLabel) bool { return q.holds(f.Folder, f.Label) },
			cursor:  func(f fleet.FolderLabel) string { return f.Folder },
			beyond:  func(cursor string, f fleet.FolderLabel) (bool, error) { return f.Folder > cursor, nil },
			wire:    func(f fleet.FolderLabel) api.Folder { return api.Folder{Folder: f.Folder, Label: f.Label} },
		})
	})
}

// foldersFor are the folders of the devices that the caller sees.
func (s *server) foldersFor(r *request) ([]fleet.FolderLabel, error) {
	if r.who.Scope.Whole() {
		return s.Folders.Folders(r.Context())
	}
	inside, err := s.insideOf(r.Context())
	if err != nil {
		return nil, err
	}
	return s.Folders.FoldersOf(r.Context(), inside)
}

func (s *server) getFolder(r *request) (reply, error) {
	folder, err := r.folderID()
	if err != nil {
		return reply{}, err
	}
	summaries, err := s.summariesFor(r, folder)
	if fleet.CodeOf(err) == fleet.CodeNotFound {
		return reply{}, &fleet.Error{
			Code: fleet.CodeNotFound, Message: "no device has a folder with this ID",
			Hint: "GET " + Prefix + "/folders lists all. A folder's ID is not its label.", Err: err,
		}
	}
	if err != nil {
		return reply{}, err
	}
	out := make([]api.FolderSummary, len(summaries))
	for i, summary := range summaries {
		out[i] = wireSummary(summary)
	}
	return show(out)
}

// summariesFor are the summaries of the devices that the caller sees; not_found for a folder that none of them has.
func (s *server) summariesFor(r *request, folder string) ([]fleet.FolderSummary, error) {
	summaries, err := s.Folders.FolderSummaries(r.Context(), folder)
	if err != nil || r.who.Scope.Whole() {
		return summaries, err
	}
	inside, err := s.insideOf(r.Context())
	if err != nil {
		return nil, err
	}
	folders, err := s.Folders.FoldersOf(r.Context(), inside)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(folders, func(f fleet.FolderLabel) bool { return f.Folder == folder }) {
		return nil, fleet.NotFoundf("no device has the folder")
	}
	return slices.DeleteFunc(summaries, func(f fleet.FolderSummary) bool { return !inside(f.Device) }), nil
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
