package httpapi

import (
	"slices"

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
	var rollouts []fleet.Rollout
	if s.Rollouts != nil {
		if rollouts, err = s.Rollouts.Rollouts(r.Context()); err != nil {
			return reply{}, err
		}
	}
	return show(mapped(changes, func(c fleet.RecentChange) api.RecentChange {
		out := wireRecentChange(c)
		out.Rollout, out.Undoable = rolloutOf(c, rollouts)
		return out
	}))
}

// rolloutOf is the number of the first rollout that brings the newest write of a change, 0 where none does. It can be
// undone for the change where it brings all writes.
func rolloutOf(c fleet.RecentChange, newestFirst []fleet.Rollout) (id int64, undoable bool) {
	if len(c.Generations) == 0 {
		return 0, false
	}
	for _, r := range slices.Backward(newestFirst) {
		if r.Brings(slices.Max(c.Generations)) {
			missing := slices.ContainsFunc(c.Generations, func(g int64) bool { return !r.Brings(g) })
			return r.ID, r.CanBeUndone() && !missing
		}
	}
	return 0, false
}

func wireRecentChange(c fleet.RecentChange) api.RecentChange {
	return api.RecentChange{At: api.Time{Time: c.At}, Since: api.Time{Time: c.Since}, Who: c.Who, Title: c.Title,
		More: c.More, Parts: mapped(c.Parts, func(p fleet.ChangePart) api.ChangePart {
			return api.ChangePart{What: p.What, Text: fleet.ActInWords(p.What, p.Count), Count: p.Count, Subject: p.Subject,
				Detail: p.Detail}
		})}
}
