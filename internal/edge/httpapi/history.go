package httpapi

import (
	"context"
	"net/http"
	"reflect"
	"time"

	"muster/api"
	"muster/internal/edge/auth"
	"muster/internal/fleet"
)

// History keeps the fleet in numbers.
type History interface {
	// History are the points of the last day by minutes, or of the last month by hours, oldest first.
	History(ctx context.Context, step time.Duration) ([]fleet.HistoryPoint, error)
	// FolderHistory are the points of a folder in that time at which its figures changed, oldest first.
	FolderHistory(ctx context.Context, folder string, step time.Duration) ([]fleet.FolderPoint, error)
}

var spanParam = choiceParam("span", "How far back; day unless it is month", "day", "month")

// HistoryHandlers show the numbers of the past.
type HistoryHandlers struct {
	*base
	History History
	Folders Folders
}

func (s HistoryHandlers) routes(b *base) []route {
	s.base = b
	return []route{{
		method: http.MethodGet, path: Prefix + "/overview/history", name: "getHistory", permission: auth.Read,
		summary: "The fleet in numbers over the last day by minutes, or over the last month by hours",
		query:   []parameter{spanParam},
		reply:   reflect.TypeFor[api.History](), off: s.History == nil, handle: s.getHistory,
	}, {
		method: http.MethodGet, path: Prefix + "/folders/{folderID}/history", name: "getFolderHistory",
		permission: auth.Read,
		summary: "A folder in numbers over the last day by minutes, or over the last month by hours, where they changed; " +
			"of the folders that changed last, 1,000 at most",
		query: []parameter{spanParam},
		reply: reflect.TypeFor[api.FolderHistory](), off: s.History == nil || s.Folders == nil,
		handle: s.getFolderHistory,
	}}
}

// stepAsked is the time from one point to the next.
func stepAsked(r *request) (time.Duration, error) {
	span, err := spanParam.of(r)
	if span == "month" {
		return time.Hour, err
	}
	return time.Minute, err
}

func (s HistoryHandlers) getHistory(r *request) (reply, error) {
	step, err := stepAsked(r)
	if err != nil {
		return reply{}, err
	}
	points, err := s.History.History(r.Context(), step)
	if err != nil {
		return reply{}, err
	}
	return show(api.History{Step: int(step / time.Second), Points: mapped(points, wirePoint)})
}

func wirePoint(p fleet.HistoryPoint) api.HistoryPoint {
	return api.HistoryPoint{At: api.Time{Time: p.At}, Devices: int(p.Devices), Online: int(p.Online),
		InSync: int(p.InSync), Waiting: int(p.Waiting), NeedBytes: p.NeedBytes, Problems: int(p.Problems),
		Folders: int(p.Folders), UpToDate: int(p.UpToDate), Troubled: int(p.Troubled)}
}

func (s HistoryHandlers) getFolderHistory(r *request) (reply, error) {
	folder, err := r.folderID()
	if err != nil {
		return reply{}, err
	}
	step, err := stepAsked(r)
	if err != nil {
		return reply{}, err
	}
	points, err := s.History.FolderHistory(r.Context(), folder, step)
	if err != nil {
		return reply{}, err
	}
	if len(points) == 0 {
		if err := s.knows(r, folder); err != nil {
			return reply{}, err
		}
	}
	return show(api.FolderHistory{Step: int(step / time.Second), Points: mapped(points, wireFolderPoint)})
}

func wireFolderPoint(p fleet.FolderPoint) api.FolderHistoryPoint {
	return api.FolderHistoryPoint{At: api.Time{Time: p.At}, Devices: int(p.Devices),
		UpToDate: int(p.UpToDate), NeedBytes: p.NeedBytes, GlobalBytes: p.GlobalBytes}
}

// knows returns not_found for a folder that no device has.
func (s HistoryHandlers) knows(r *request, folder string) error {
	registry, err := s.Registry.Registry(r.Context())
	if err != nil {
		return err
	}
	has, err := hasFolder(r.Context(), s.Folders, registry, folder)
	if err == nil && !has {
		return noFolder(nil)
	}
	return err
}
