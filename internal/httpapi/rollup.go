package httpapi

import (
	"net/http"
	"reflect"
	"slices"
	"strings"

	"muster/api"
	"muster/internal/auth"
	"muster/internal/fleet"
)

// rollupRoutes give in one answer what a page of the console needs of all folders, of all tags, and of all folders of
// one device.
func (s *server) rollupRoutes() []route {
	return []route{
		{method: http.MethodGet, path: Prefix + "/overview/folders", name: "listFolderOverviews", permission: auth.Read,
			summary: "Every folder with the numbers of its devices, sorted", reply: reflect.TypeFor[[]api.FolderOverview](),
			off: s.Inventory == nil, handle: s.listFolderOverviews},
		{method: http.MethodGet, path: Prefix + "/overview/tags", name: "listTagOverviews", permission: auth.Read,
			summary: "Every tag with what carries it, sorted", reply: reflect.TypeFor[[]api.TagOverview](),
			handle: s.listTagOverviews},
		{method: http.MethodGet, path: Prefix + "/devices/{deviceID}/folders", name: "listDeviceFolders",
			permission: auth.Read, summary: "What the daemon last said about each of its folders, sorted",
			reply: reflect.TypeFor[[]api.FolderEvent](), off: s.Inventory == nil, handle: s.listDeviceFolders},
	}
}

func (s *server) listFolderOverviews(r *request) (reply, error) {
	registry, err := s.Registry.Registry(r.Context())
	if err != nil {
		return reply{}, err
	}
	folders, err := s.foldersFor(r)
	if err != nil {
		return reply{}, err
	}
	out := make([]api.FolderOverview, len(folders))
	at := make(map[string]*api.FolderOverview, len(folders))
	for i, f := range folders {
		out[i] = api.FolderOverview{Folder: f.Folder, Label: f.Label}
		at[f.Folder] = &out[i]
	}
	for id := range registry.Devices {
		snapshot := s.Inventory.Snapshot(id)
		if snapshot == nil {
			continue
		}
		for _, f := range snapshot.Folders {
			if o := at[f.Folder]; o != nil {
				addFolder(o, snapshot, f.Folder)
			}
		}
	}
	return show(out)
}

// addFolder counts one device of a folder.
func addFolder(o *api.FolderOverview, s *fleet.Snapshot, folder string) {
	o.Devices++
	summary := s.Summaries[folder]
	switch standingOf(s, folder) {
	case folderUnknown:
		o.Unknown++
	case folderInError:
		o.InError++
	case folderOutOfSync:
		o.OutOfSync++
	case folderInSync:
		o.InSync++
	}
	o.GlobalBytes = max(o.GlobalBytes, summary.GlobalBytes)
	o.NeedBytes += summary.NeedBytes
}

func (s *server) listTagOverviews(r *request) (reply, error) {
	registry, err := s.Registry.Registry(r.Context())
	if err != nil {
		return reply{}, err
	}
	return s.lists.cached(registry, r, "", func() (reply, error) {
		tags := tagsOf(registry)
		out := make([]api.TagOverview, len(tags))
		at := make(map[fleet.Tag]*api.TagOverview, len(tags))
		for i, tag := range tags {
			out[i] = api.TagOverview{Tag: string(tag), Templates: []int64{}}
			at[tag] = &out[i]
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
		return show(out)
	})
}

func (s *server) listDeviceFolders(r *request) (reply, error) {
	device, err := s.registered(r)
	if err != nil {
		return reply{}, err
	}
	out := []api.FolderEvent{}
	if snapshot := s.Inventory.Snapshot(device.ID); snapshot != nil {
		folders := slices.SortedFunc(slices.Values(snapshot.Folders), func(a, b fleet.FolderLabel) int {
			return strings.Compare(a.Folder, b.Folder)
		})
		for _, f := range folders {
			if summary, known := snapshot.Summaries[f.Folder]; known {
				out = append(out, folderEvent(summary))
			}
		}
	}
	return show(out)
}
