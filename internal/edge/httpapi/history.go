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
}

var spanParam = choiceParam("span", "How far back; day unless it is month", "day", "month")

type historyHandlers struct {
	*base
	History History
}

func (s historyHandlers) historyRoutes() []route {
	return []route{{
		method: http.MethodGet, path: Prefix + "/overview/history", name: "getHistory", permission: auth.Read,
		summary: "The fleet in numbers over the last day by minutes, or over the last month by hours",
		query:   []parameter{spanParam},
		reply:   reflect.TypeFor[api.History](), off: s.History == nil, handle: s.getHistory,
	}}
}

func (s historyHandlers) getHistory(r *request) (reply, error) {
	span, err := spanParam.of(r)
	if err != nil {
		return reply{}, err
	}
	step := time.Minute
	if span == "month" {
		step = time.Hour
	}
	points, err := s.History.History(r.Context(), step)
	if err != nil {
		return reply{}, err
	}
	out := api.History{Step: int(step / time.Second), Points: make([]api.HistoryPoint, len(points))}
	for i, p := range points {
		out.Points[i] = api.HistoryPoint{At: api.Time{Time: p.At}, Devices: int(p.Devices), Online: int(p.Online),
			InSync: int(p.InSync), Waiting: int(p.Waiting), NeedBytes: p.NeedBytes, Problems: int(p.Problems),
			Folders: int(p.Folders), UpToDate: int(p.UpToDate), Troubled: int(p.Troubled)}
	}
	return show(out)
}
