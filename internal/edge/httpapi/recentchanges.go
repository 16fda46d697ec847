package httpapi

import (
	"muster/api"
	"muster/internal/fleet"
)

const (
	recentChanges     = 20 // default length of an answer
	mostRecentChanges = 100
)

func (s AuditHandlers) listRecentChanges(r *request) (reply, error) {
	list, err := r.listQuery()
	if err != nil {
		return reply{}, err
	}
	most := recentChanges
	if list.limit > 0 {
		most = min(list.limit, mostRecentChanges)
	}
	changes, err := s.Audit.RecentChanges(r.Context(), fleet.ScopeIn(r.Context()), most)
	if err != nil {
		return reply{}, err
	}
	return show(mapped(changes, wireRecentChange))
}

func wireRecentChange(c fleet.RecentChange) api.RecentChange {
	return api.RecentChange{At: api.Time{Time: c.At}, Since: api.Time{Time: c.Since}, Who: c.Who, Title: c.Title,
		More: c.More, Parts: mapped(c.Parts, func(p fleet.ChangePart) api.ChangePart {
			return api.ChangePart{What: p.What, Text: fleet.ActInWords(p.What, p.Count), Count: p.Count, Subject: p.Subject,
				Detail: p.Detail}
		})}
}
